"""The store for many nodes: a PostgreSQL database (15 or newer), over asyncpg."""

from heliograph.adapters.store.postgres.db import DatabaseLimits
from heliograph.adapters.store.postgres.store import PostgresStore
from heliograph.adapters.store.shared.schema import SchemaChanged, SchemaTooNew

__all__ = ["DatabaseLimits", "PostgresStore", "SchemaChanged", "SchemaTooNew"]
