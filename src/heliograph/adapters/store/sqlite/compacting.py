"""Writes the file anew, without its free pages."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from heliograph.adapters.store.sqlite.connection import connect, is_outage
from heliograph.app.ports import Unavailable

PATIENCE_MS = 2_000
"""Milliseconds to wait for commands that use the store."""


def compact(path: Path) -> None:
    """Writes the store anew in its file, and empties its log, so that no deleted octet is left in them. Needs twice the
    size of the file beside it. Other writers wait.

    It is a single transaction: after a crash the store is as before. Raises Unavailable.
    """
    if not path.is_file():
        raise Unavailable(f"there is no store at {path}")
    # SQLite's copy on the way is as large as the store, and as private
    os.environ["SQLITE_TMPDIR"] = str(path.absolute().parent)
    try:
        with closing(connect(path, PATIENCE_MS, read_only=False)) as db:
            db.execute("PRAGMA temp_store = FILE")
            db.execute("VACUUM")
            ((busy, _, _),) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            if busy:
                raise Unavailable(f"{path} is read by somebody, so that its log could not be emptied")
    except sqlite3.Error as fault:
        if is_outage(fault):
            raise Unavailable(f"{path} cannot be written anew: {fault}") from fault
        raise
