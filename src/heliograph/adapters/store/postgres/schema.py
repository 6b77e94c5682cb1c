"""The schema's versions: each applied once, in order, in a transaction of its own, by one process at a time."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import asyncpg

from heliograph.adapters.store.postgres.db import Db
from heliograph.adapters.store.postgres.faults import translated
from heliograph.adapters.store.postgres.servers import Servers
from heliograph.adapters.store.postgres.session import SCHEMA
from heliograph.adapters.store.shared import schema
from heliograph.adapters.store.shared.schema import Migration
from heliograph.app.ports import Unavailable

OLDEST_SERVER = 150_000
"""PostgreSQL's server_version_num from which on this works."""

_LOCK = 0x48_65_6C_69_6F
"""The advisory lock that one who migrates holds."""

PATIENCE_MS = 1_000
"""How long a migration waits for a table. Whoever reads it for long, as a dump does, is waited for, and everybody who
comes after waits behind: nodes that are at work must get on meanwhile, and their leases with them."""

TRIES = 60
PAUSE_S = 0.5
"""Between two tries, in which the others get on."""

_LEDGER = f"""
CREATE SCHEMA IF NOT EXISTS {SCHEMA};
CREATE TABLE IF NOT EXISTS {SCHEMA}.migration (
    number   integer PRIMARY KEY,
    name     text NOT NULL,
    checksum text NOT NULL
)
"""


def shipped() -> list[Migration]:
    """The migrations in this package, in order."""
    return schema.shipped(Path(__file__).with_name("migrations"))


async def migrate(servers: Servers, migrations: Sequence[Migration]) -> None:
    """Brings the database to the newest version. Several processes may do this at once: one does it, the others wait.

    Raises Unavailable, SchemaTooNew and SchemaChanged.
    """
    db = await servers.connect(patient=True)
    try:
        version = db.get_server_version()
        if version.major * 10_000 < OLDEST_SERVER:
            raise Unavailable(f"the database is PostgreSQL {version.major}; 15 or newer is needed")
        encoding = await db.fetchval("SHOW server_encoding")
        if encoding != "UTF8":
            # one that lacks a letter refuses messages with it, and SQL_ASCII takes octets for letters
            raise Unavailable(f"the database cannot hold every letter: its encoding is {encoding}; UTF8 is needed")
        if await _missing(db, migrations):
            await _apply(db, migrations)
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as fault:
        raise translated(fault) from fault
    finally:
        db.terminate()


async def _apply(db: Db, migrations: Sequence[Migration]) -> None:
    for migration in migrations:
        for last in [False] * (TRIES - 1) + [True]:
            try:
                await _apply_one(db, migration, migrations)
                break
            except asyncpg.LockNotAvailableError:
                if last:
                    raise
                await asyncio.sleep(PAUSE_S)


async def _apply_one(db: Db, migration: Migration, migrations: Sequence[Migration]) -> None:
    async with db.transaction():
        await db.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        await db.execute(_LEDGER)
        if migration not in await _missing(db, migrations):
            return
        await db.execute(f"SET LOCAL lock_timeout = {PATIENCE_MS}")
        await db.execute(migration.text)
        await db.execute(
            "INSERT INTO migration (number, name, checksum) VALUES ($1, $2, $3)",
            migration.number,
            migration.name,
            migration.checksum,
        )


async def _missing(db: Db, migrations: Sequence[Migration]) -> list[Migration]:
    """The migrations still to be applied; raises if this database is not one of ours to use."""
    if await db.fetchval("SELECT to_regclass($1)::text", f"{SCHEMA}.migration") is None:
        return list(migrations)
    rows = await db.fetch("SELECT number, name, checksum FROM migration ORDER BY number")
    return schema.missing(((row[0], row[1], row[2]) for row in rows), list(migrations))
