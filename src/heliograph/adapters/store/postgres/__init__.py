"""The store for many nodes: one PostgreSQL (15 or newer), spoken to by asyncpg."""

from heliograph.adapters.store.postgres.limits import DatabaseLimits
from heliograph.adapters.store.postgres.store import PostgresStore
from heliograph.adapters.store.shared.schema import SchemaChanged, SchemaTooNew

__all__ = ["DatabaseLimits", "PostgresStore", "SchemaChanged", "SchemaTooNew"]
