"""The embedded store: a SQLite file in WAL mode, synced at every commit."""

from heliograph.adapters.store.shared.schema import SchemaChanged, SchemaTooNew
from heliograph.adapters.store.sqlite.store import SqliteStore

__all__ = ["SchemaChanged", "SchemaTooNew", "SqliteStore"]
