"""A database that takes the rows of an embedded store.

The rows go to a schema of their own, `heliograph_moving`. At the end it becomes the schema `heliograph` in a single
transaction, so a gateway never finds half a store. `move_progress` counts the rows of each table that are on disk: a
move that was broken off goes on behind them.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from heliograph.adapters.store.postgres.db import DatabaseLimits
from heliograph.adapters.store.postgres.faults import FAULTS, translated
from heliograph.adapters.store.postgres.schema import migrate, shipped
from heliograph.adapters.store.postgres.servers import Servers
from heliograph.adapters.store.postgres.session import SCHEMA
from heliograph.app.ports import Unavailable

MOVING_SCHEMA: Final = "heliograph_moving"

_OWN: Final = ("migration", "node", "worker", "bind_slot", "writer", "move_progress")
"""Tables that an embedded store does not have, or that describe the database itself."""

_SEEDED: Final = ("revision", "deed_head", "list_import")
"""Tables with rows from the beginning."""

_COLUMNS: Final = """
SELECT table_name, column_name, data_type, is_identity = 'YES' FROM information_schema.columns AS c
JOIN information_schema.tables AS t USING (table_schema, table_name)
WHERE table_schema = $1 AND t.table_type = 'BASE TABLE' AND NOT table_name = ANY ($2::text[])
ORDER BY table_name, c.ordinal_position
"""

_PROGRESS: Final = """
CREATE TABLE IF NOT EXISTS move_progress (
    name text PRIMARY KEY,  -- of the table
    rows bigint NOT NULL
);
"""

# The names in braces are those of the schema.
_EMPTY: Final = "DELETE FROM {table}"
_COUNT: Final = "SELECT count(*) FROM {table}"
_IDENTITY: Final = "SELECT inner_pad, outer_pad FROM {schema}.suppression_key"

_WORKER: Final = 0
"""The worker number of an embedded store."""


class ArrivingStore:
    """The rows that came so far."""

    def __init__(self, db: Any, columns: dict[str, dict[str, str]], numbered: Sequence[str]) -> None:
        self._db = db
        self.columns = columns
        """Tables, with the types of their columns, such as `{"final": {"key": "bigint"}}`."""
        self.numbered = numbered
        """Tables that number their rows."""

    async def begin(self, table: str) -> int:
        """Returns the number of the table's rows that came already."""
        async with self._db.transaction():
            done = await self._db.fetchval("SELECT rows FROM move_progress WHERE name = $1", table)
            if done is None:
                if table in _SEEDED:
                    await self._db.execute(_EMPTY.format(table=table))
                await self._db.execute("INSERT INTO move_progress (name, rows) VALUES ($1, 0)", table)
        return int(done or 0)

    async def take(self, table: str, rows: list[tuple[object, ...]]) -> None:
        """Stores a batch, and counts it."""
        async with self._db.transaction():
            await self._db.copy_records_to_table(
                table, schema_name=MOVING_SCHEMA, columns=list(self.columns[table]), records=rows
            )
            await self._db.execute("UPDATE move_progress SET rows = rows + $2 WHERE name = $1", table, len(rows))

    async def counts(self) -> dict[str, int]:
        """Counts the rows of each table."""
        return {table: await self._db.fetchval(_COUNT.format(table=table)) for table in self.columns}

    async def finish(self, highest_ids: dict[str, int]) -> None:
        """Puts the fast lane's work into the slow tables, where any node finds it, and makes the schema the store's.

        `highest_ids`: the ids at which each table goes on.
        """
        await self._db.execute("ANALYZE")
        async with self._db.transaction():
            for table, highest in highest_ids.items():
                if highest:
                    await self._db.execute(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), {highest})")
            await self._db.execute("SELECT spill_worker($1)", _WORKER)
            await self._db.execute("DROP TABLE move_progress")
            await self._db.execute(f"ALTER SCHEMA {MOVING_SCHEMA} RENAME TO {SCHEMA}")


@asynccontextmanager
async def arriving(url: str, identity: bytes) -> AsyncIterator[ArrivingStore | None]:
    """Opens the database for the store with this identity; None if that store has arrived already.

    Raises Unavailable, also if the database has another store.
    """
    servers = Servers(url, DatabaseLimits())
    db: Any = await servers.connect(patient=True, search_path=MOVING_SCHEMA)
    try:
        try:
            if await _holds(db, SCHEMA, identity):
                yield None
                return
            await _holds(db, MOVING_SCHEMA, identity)
        except FAULTS as fault:
            raise translated(fault) from fault
        await migrate(servers, shipped(), MOVING_SCHEMA)
        try:
            await db.execute(_PROGRESS)
            await _claim(db, identity)
            columns: dict[str, dict[str, str]] = {}
            numbered = []
            for table, column, kind, is_identity in await db.fetch(_COLUMNS, MOVING_SCHEMA, list(_OWN)):
                columns.setdefault(table, {})[column] = kind
                if is_identity:
                    numbered.append(table)
            yield ArrivingStore(db, columns, numbered)
        except FAULTS as fault:
            raise translated(fault) from fault
    finally:
        db.terminate()


async def _holds(db: Any, schema: str, identity: bytes) -> bool:
    """Returns whether the schema has this store. Raises Unavailable if it has another."""
    if await db.fetchval("SELECT to_regclass($1)", f"{schema}.suppression_key") is None:
        return False
    if schema == MOVING_SCHEMA and await db.fetchval("SELECT to_regclass($1)", f"{schema}.move_progress") is None:
        return False
    if tuple(await db.fetchrow(_IDENTITY.format(schema=schema))) == _pads(identity):
        return True
    raise Unavailable(
        f"the database has another store in its schema {schema}; name another database, or drop that schema with "
        f"all of its rows: DROP SCHEMA {schema} CASCADE"
    )


async def _claim(db: Any, identity: bytes) -> None:
    """Enters the identity, so that the rows of two stores never mix."""
    async with db.transaction():
        if await db.fetchval("SELECT count(*) FROM move_progress WHERE name = 'suppression_key'"):
            return
        await db.execute("UPDATE suppression_key SET inner_pad = $1, outer_pad = $2", *_pads(identity))
        await db.execute("INSERT INTO move_progress (name, rows) VALUES ('suppression_key', 1)")


def _pads(key: bytes) -> tuple[bytes, bytes]:
    """Returns the key as the database has it: mixed with the two pads of HMAC (RFC 2104, 2)."""
    block = key.ljust(64, b"\0")
    return bytes(octet ^ 0x36 for octet in block), bytes(octet ^ 0x5C for octet in block)
