"""Brings the embedded store's file to the newest version of the schema."""

import sqlite3
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from heliograph.adapters.store.shared.schema import Schema, Step, read
from heliograph.adapters.store.sqlite.connection import primary_code

_STEPS_TAKEN = """
CREATE TABLE IF NOT EXISTS migration (
    number   INTEGER PRIMARY KEY,
    name     TEXT NOT NULL,
    checksum TEXT NOT NULL
) STRICT
"""


@cache
def shipped() -> Schema:
    """Returns the schema in this package."""
    return read(Path(__file__).parent)


def migrate(db: sqlite3.Connection, schema: Schema, busy_ms: int) -> None:
    """Makes the tables, or brings them to the newest version, each step in one transaction.

    Several processes may do this at once: the first does it, the others wait. Raises SchemaTooNew and SchemaChanged.
    """
    _use_wal(db, busy_ms)
    while _next_step(db, schema) is not None:
        db.execute("BEGIN IMMEDIATE")
        try:
            step = _next_step(db, schema)  # another process may have taken it
            if step is not None:
                _take(db, step)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise


def has_table(db: sqlite3.Connection, name: str) -> bool:
    return db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone() is not None


def _next_step(db: sqlite3.Connection, schema: Schema) -> Step | None:
    applied: list[tuple[int, str, str]] = []
    if has_table(db, "migration"):
        applied = db.execute("SELECT number, name, checksum FROM migration ORDER BY number").fetchall()
    return schema.next_step(applied)


def _take(db: sqlite3.Connection, step: Step) -> None:
    db.execute(_STEPS_TAKEN)
    for statement in _statements(step.script):
        db.execute(statement)
    db.execute(
        "INSERT INTO migration (number, name, checksum) VALUES (?, ?, ?)", (step.number, step.name, step.checksum)
    )


def _statements(script: str) -> Iterator[str]:
    """Splits a script; `executescript` would commit the transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if ";" in line and sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _use_wal(db: sqlite3.Connection, busy_ms: int) -> None:
    """Turns the write-ahead log on. This needs exclusive access to the file, for which SQLite does not always wait."""
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
