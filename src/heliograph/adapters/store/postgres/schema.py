"""Brings the database to the newest version of the schema, while nodes of the version before are at work."""

import asyncio
from functools import cache
from pathlib import Path

import asyncpg

from heliograph.adapters.store.postgres.db import Db
from heliograph.adapters.store.postgres.faults import FAULTS, translated
from heliograph.adapters.store.postgres.servers import Servers
from heliograph.adapters.store.postgres.session import SCHEMA
from heliograph.adapters.store.shared.schema import Schema, Step, read
from heliograph.app.ports import Unavailable

OLDEST_SERVER = 150_000
"""PostgreSQL's server_version_num from which on this works."""

_LOCK = 0x48_65_6C_69_6F
"""Number of the advisory lock that a process holds while it migrates."""

PATIENCE_MS = 1_000
"""Milliseconds that a migration waits for the lock on a table. A long reader, such as a dump, delays the migration, and
all later statements queue behind it. Working nodes must go on, or they lose their leases."""

TRIES = 60
PAUSE_S = 0.5
"""Seconds between two tries, in which other transactions proceed."""

# to_regclass would ask the session's cache of names, which after a wait for the advisory lock may not know the table of
# the lock's last holder yet.
_HAS_STEPS = "SELECT EXISTS (SELECT FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'migration')"

_STEPS_TAKEN = """
CREATE SCHEMA IF NOT EXISTS {name};
CREATE TABLE IF NOT EXISTS {name}.migration (
    number   integer PRIMARY KEY,
    name     text NOT NULL,
    checksum text NOT NULL
)
"""


@cache
def shipped() -> Schema:
    """Returns the schema in this package."""
    return read(Path(__file__).parent)


async def migrate(servers: Servers, schema: Schema, name: str = SCHEMA) -> None:
    """Makes the tables in PostgreSQL's schema `name`, or brings them to the newest version, each step in one
    transaction.

    Several processes may do this at once: the first does it, the others wait. Raises Unavailable, SchemaTooNew and
    SchemaChanged.
    """
    db = await servers.connect(patient=True, search_path=name)
    try:
        await _check_server(db)
        while await _next_step(db, schema, name) is not None:
            await _advance(db, schema, name)
    except FAULTS as fault:
        raise translated(fault) from fault
    finally:
        db.terminate()


async def _check_server(db: Db) -> None:
    version = db.get_server_version()
    if version.major * 10_000 < OLDEST_SERVER:
        raise Unavailable(f"the database is PostgreSQL {version.major}; 15 or newer is needed")
    encoding = await db.fetchval("SHOW server_encoding")
    if encoding != "UTF8":
        # an encoding without a letter refuses messages with it, and SQL_ASCII takes octets for letters
        raise Unavailable(f"the database cannot hold every letter: its encoding is {encoding}; UTF8 is needed")


async def _advance(db: Db, schema: Schema, name: str) -> None:
    """Takes the next step; tries again while another transaction holds a table that it needs."""
    for last in [False] * (TRIES - 1) + [True]:
        try:
            await _take_next(db, schema, name)
        except asyncpg.LockNotAvailableError:
            if last:
                raise
            await asyncio.sleep(PAUSE_S)
        else:
            return


async def _take_next(db: Db, schema: Schema, name: str) -> None:
    async with db.transaction():
        await db.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        step = await _next_step(db, schema, name)  # another process may have taken it
        if step is None:
            return
        await db.execute(_STEPS_TAKEN.format(name=name))
        await db.execute(f"SET LOCAL lock_timeout = {PATIENCE_MS}")
        await db.execute(step.script)
        await db.execute(
            "INSERT INTO migration (number, name, checksum) VALUES ($1, $2, $3)", step.number, step.name, step.checksum
        )


async def _next_step(db: Db, schema: Schema, name: str) -> Step | None:
    applied: list[tuple[int, str, str]] = []
    if await db.fetchval(_HAS_STEPS, name):
        rows = await db.fetch("SELECT number, name, checksum FROM migration ORDER BY number")
        applied = [(row[0], row[1], row[2]) for row in rows]
    return schema.next_step(applied)
