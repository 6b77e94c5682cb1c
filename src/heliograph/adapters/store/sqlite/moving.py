"""The embedded store while its rows move to a database: a mark in its file keeps gateways and commands away.

    0 in use  --begin-->  1 moving  --end-->  2 moved
        ^-----abandon--------'

The mark is SQLite's `user_version`. It is in the file, so that a copy of a moved file is refused too.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Final

from heliograph.adapters.store.shared.upkeep import audit_findings
from heliograph.adapters.store.sqlite.connection import opened
from heliograph.adapters.store.sqlite.driver import drive
from heliograph.app.ports import Unavailable

BATCH_ROWS: Final = 10_000

PATIENCE_MS: Final = 2_000
"""Milliseconds to wait for commands that use the store."""


# The names in braces are those of the schema.
_COUNT: Final = "SELECT count(*) FROM {rows}"
_HIGHEST_ID: Final = """
SELECT max(
    (SELECT coalesce(max(id), 0) FROM {table}), (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?)
)
"""
_REST: Final = "SELECT {columns} FROM {rows} LIMIT -1 OFFSET ?"


class Mark(IntEnum):
    IN_USE = 0
    MOVING = 1
    MOVED = 2


_REFUSALS: Final = {
    Mark.MOVING: "its move to PostgreSQL is not finished; finish it with `heliograph move`, or give it up with "
    "`heliograph move --abandon`",
    Mark.MOVED: "its rows were moved to PostgreSQL, with the waiting messages; set store.url (HELIOGRAPH_DATABASE_URL) "
    "to the URL of that database",
}


def mark_of(db: sqlite3.Connection) -> Mark:
    return Mark(db.execute("PRAGMA user_version").fetchone()[0])


def refuse_moved(db: sqlite3.Connection, path: Path) -> None:
    """Raises Unavailable if the rows of the file moved to a database, or are about to."""
    if (mark := mark_of(db)) is not Mark.IN_USE:
        raise Unavailable(f"{path} cannot be used: {_REFUSALS[mark]}")


def abandon(path: Path) -> None:
    """Gives up an unfinished move. Raises Unavailable if there is none."""
    with _opened(path) as db:
        if (mark := mark_of(db)) is not Mark.MOVING:
            reason = "no move of it was begun" if mark is Mark.IN_USE else _REFUSALS[mark]
            raise Unavailable(f"{path} stays as it is: {reason}")
        _set(db, Mark.IN_USE)


class MovingFile:
    """The rows of a file that moves. No other connection writes to it."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.identity: bytes = db.execute("SELECT key FROM suppression_key").fetchone()[0]
        """32 octets that no other store has."""

    def audit(self) -> list[str]:
        """Returns a sentence for each wrong balance, charge or refund."""
        return drive(self._db, audit_findings)

    def begin(self) -> None:
        """Marks the file as moving, so that nothing opens it until the move has ended."""
        _set(self._db, Mark.MOVING)
        self._db.execute("COMMIT")
        self._db.execute("BEGIN IMMEDIATE")

    def count(self, rows: str) -> int:
        """Counts the rows after FROM, such as `account WHERE last_list IS NOT NULL`."""
        found: int = self._db.execute(_COUNT.format(rows=rows)).fetchone()[0]
        return found

    def highest_id(self, table: str) -> int:
        """Returns the highest id that a row of the table ever had, 0 if it had none."""
        found = self._db.execute(_HIGHEST_ID.format(table=table), (table,)).fetchone()
        return int(found[0])

    def read(self, columns: str, rows: str, after: int) -> Iterator[list[tuple[object, ...]]]:
        """Yields batches of rows in a fixed order, without the first `after` rows."""
        found = self._db.execute(_REST.format(columns=columns, rows=rows), (after,))
        while batch := found.fetchmany(BATCH_ROWS):
            yield batch

    def end(self) -> None:
        """Marks the file as moved: from now on its rows are history."""
        _set(self._db, Mark.MOVED)
        self._db.execute("COMMIT")


@contextmanager
def moving(path: Path) -> Iterator[MovingFile]:
    """Keeps writers away from the file. Its gateway must be stopped. Raises Unavailable."""
    with _opened(path) as db:
        if mark_of(db) is Mark.MOVED:
            raise Unavailable(f"{path} cannot be moved: {_REFUSALS[Mark.MOVED]}")
        db.execute("BEGIN IMMEDIATE")
        try:
            yield MovingFile(db)
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    if not path.is_file():
        raise Unavailable(f"there is no store at {path}")
    with opened(path, PATIENCE_MS) as db:
        yield db


def _set(db: sqlite3.Connection, mark: Mark) -> None:
    db.execute(f"PRAGMA user_version = {int(mark)}")
