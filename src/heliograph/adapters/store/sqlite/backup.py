"""A copy of the store while it is in use, and a new file without its free pages."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from heliograph.adapters.store.sqlite.connection import connect, create_file, is_outage
from heliograph.app.ports import Unavailable
from heliograph.runtime.disk import sync


def back_up(path: Path, target: Path) -> None:
    """Writes a snapshot of the store to the file `target`, which must not exist. Writers do not wait. The copy is a
    single file that only its owner may read, and is on disk when this returns.

    Raises Unavailable, and FileExistsError.
    """
    if target.exists():
        raise FileExistsError(f"{target} is there already")
    if not path.is_file():
        raise Unavailable(f"there is no store at {path}")
    half = target.with_name(f"{target.name}.part")
    half.unlink(missing_ok=True)
    create_file(half, new=True)
    try:
        _copy(path, half)
        half.rename(target)
        sync(target.parent)
    except sqlite3.Error as fault:
        if is_outage(fault):
            raise Unavailable(f"{path} cannot be copied to {target}: {fault}") from fault
        raise
    finally:
        half.unlink(missing_ok=True)


def _copy(path: Path, target: Path) -> None:
    with (
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as source,
        closing(sqlite3.connect(target)) as copy,
    ):
        # all pages in one step: a single snapshot, which neither delays writers nor is disturbed by them
        source.backup(copy)
        # a single file, without a log beside it
        copy.execute("PRAGMA journal_mode = DELETE")
        (verdict,) = copy.execute("PRAGMA quick_check").fetchone()
        if verdict != "ok":
            raise Unavailable(f"the copy of {path} is damaged: {verdict}")
    sync(target)


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
                raise Unavailable(f"{path} is in use by a reader, so that its log could not be emptied")
    except sqlite3.Error as fault:
        if is_outage(fault):
            raise Unavailable(f"{path} cannot be rewritten: {fault}") from fault
        raise
