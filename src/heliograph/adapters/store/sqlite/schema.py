"""The schema's versions, each applied once, in order, in a transaction of its own."""

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from heliograph.adapters.store.shared import schema
from heliograph.adapters.store.shared.schema import Migration, SchemaChanged, SchemaTooNew
from heliograph.adapters.store.sqlite.connection import primary_code

__all__ = ["Migration", "SchemaChanged", "SchemaTooNew", "migrate", "shipped"]

_LEDGER = """
CREATE TABLE IF NOT EXISTS migration (
    number   INTEGER PRIMARY KEY,
    name     TEXT NOT NULL,
    checksum TEXT NOT NULL
) STRICT
"""


def shipped() -> list[Migration]:
    """The migrations in this package, in order."""
    return schema.shipped(Path(__file__).with_name("migrations"))


def migrate(db: sqlite3.Connection, migrations: list[Migration], busy_ms: int) -> None:
    """Brings the file to the newest version. Several processes may do this at once: one does it, the others wait."""
    _use_wal(db, busy_ms)
    if _missing(db, migrations) == []:
        return
    for migration in migrations:
        db.execute("BEGIN IMMEDIATE")
        try:
            db.execute(_LEDGER)
            if migration in _missing(db, migrations):
                for statement in _statements(migration.text):
                    db.execute(statement)
                db.execute(
                    "INSERT INTO migration (number, name, checksum) VALUES (?, ?, ?)",
                    (migration.number, migration.name, migration.checksum),
                )
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise


def _missing(db: sqlite3.Connection, migrations: list[Migration]) -> list[Migration]:
    """The migrations still to be applied; raises if this file is not one of ours to use."""
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'migration'").fetchone():
        return migrations
    return schema.missing(db.execute("SELECT number, name, checksum FROM migration ORDER BY number"), migrations)


def _statements(text: str) -> Iterator[str]:
    """The single statements of a file."""
    statement = ""
    for line in text.splitlines(keepends=True):
        statement += line
        if ";" in line and sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _use_wal(db: sqlite3.Connection, busy_ms: int) -> None:
    """Changing the mode needs the file for itself, and does not always wait for it by itself."""
    deadline = time.monotonic() + busy_ms / 1000
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as fault:
            if primary_code(fault) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return
