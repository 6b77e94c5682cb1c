"""The schema's versions: numbered SQL files, each applied once, in order, in a transaction of its own."""

import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files

from heliograph.adapters.store.sqlite.connection import primary_code

_LEDGER = """
CREATE TABLE IF NOT EXISTS migration (
    number   INTEGER PRIMARY KEY,
    name     TEXT NOT NULL,
    checksum TEXT NOT NULL
) STRICT
"""


class SchemaTooNew(Exception):
    """A newer version of the program has used this file; this one would not understand it."""


class SchemaChanged(Exception):
    """A migration that this file has been through was different from the one of the same number here."""


@dataclass(frozen=True)
class Migration:
    number: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        return sha256(self.text.encode()).hexdigest()

    def statements(self) -> Iterator[str]:
        """The single statements of the file."""
        statement = ""
        for line in self.text.splitlines(keepends=True):
            statement += line
            if ";" in line and sqlite3.complete_statement(statement):
                yield statement
                statement = ""


def shipped() -> list[Migration]:
    """The migrations in this package, `NNNN_name.sql`, in order."""
    folder = files("heliograph.adapters.store.sqlite") / "migrations"
    return sorted(
        (
            Migration(int(file.name[:4]), file.name[5:-4], file.read_text("utf-8"))
            for file in folder.iterdir()
            if file.name.endswith(".sql")
        ),
        key=lambda migration: migration.number,
    )


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
                for statement in migration.statements():
                    db.execute(statement)
                db.execute(
                    "INSERT INTO migration VALUES (?, ?, ?)",
                    (migration.number, migration.name, migration.checksum),
                )
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise


def _missing(db: sqlite3.Connection, migrations: list[Migration]) -> list[Migration]:
    """The migrations still to be applied; raises if this file is not one of ours to use."""
    known = {migration.number: migration for migration in migrations}
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'migration'").fetchone():
        return migrations
    applied = set()
    for number, name, checksum in db.execute("SELECT number, name, checksum FROM migration ORDER BY number"):
        if number not in known:
            raise SchemaTooNew(
                f"the store's schema has version {number} ({name}) and this program knows only up to "
                f"{max(known)}: a newer version of it has been used here; run that one, or restore a backup"
            )
        if checksum != known[number].checksum:
            raise SchemaChanged(f"the store's schema was made by another version {number} ({name}) than this one")
        applied.add(number)
    return [migration for migration in migrations if migration.number not in applied]


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
