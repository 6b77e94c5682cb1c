"""Connections to the file, and the meaning of their faults."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from heliograph.app.ports import Unavailable
from heliograph.domain.message.suppression import suppression_digest

WRITER_CACHE_KIB = 2 * 1024
READER_CACHE_KIB = 4 * 1024
"""KiB. Page caches of a writing and a reading connection. They are small: a commit invalidates the other connections'
caches, and the system caches the whole file. A look-up in a larger cache costs more than reading a page again. If a
commit needs more pages, they go to the log early. There is no memory map, because a fault of the disk would then be a
signal, not an error."""

WAL_LIMIT = 64 * 1024 * 1024
"""Octets to which the write-ahead log is truncated after a checkpoint."""

STATEMENTS = 512
"""Prepared statements in the cache of a connection."""

_OURS = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISUSE, sqlite3.SQLITE_RANGE})
_NO_TEXT = "Could not decode to UTF-8 column "
_PASSING = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_INTERRUPT})


def create_file(path: Path, *, new: bool = False) -> None:
    """Makes the file if it is missing, readable only by its owner, because it has operators' passwords.

    `new`: raises FileExistsError if there is a file or a link.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | (os.O_EXCL if new else 0), 0o600))
    except FileExistsError:
        raise
    except OSError as fault:
        raise Unavailable(f"{path} cannot be opened for writing: {fault.strerror}") from fault


def connect(path: Path, busy_ms: int, *, read_only: bool) -> sqlite3.Connection:
    """Opens the file, which must be there. The connection may be used by the calling thread only."""
    db = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        timeout=busy_ms / 1000,
        isolation_level=None,
        cached_statements=STATEMENTS,
    )
    try:
        db.execute("PRAGMA synchronous = FULL")
        # macOS only: a sync that reaches the disk, not the drive's own memory
        db.execute("PRAGMA fullfsync = ON")
        db.execute("PRAGMA checkpoint_fullfsync = ON")
        db.execute("PRAGMA foreign_keys = OFF")
        # overwrite deleted texts and numbers, whatever the default of this build of SQLite is
        db.execute("PRAGMA secure_delete = ON")
        db.execute("PRAGMA temp_store = MEMORY")
        db.execute(f"PRAGMA cache_size = -{READER_CACHE_KIB if read_only else WRITER_CACHE_KIB}")
        db.execute(f"PRAGMA journal_size_limit = {WAL_LIMIT}")
        db.create_function("suppression_digest", 3, suppression_digest, deterministic=True)
        if read_only:
            db.execute("PRAGMA query_only = ON")
    except BaseException:
        db.close()
        raise
    return db


@contextmanager
def opened(path: Path, busy_ms: int) -> Iterator[sqlite3.Connection]:
    """Opens the file for writing, and closes it. Raises Unavailable, also for faults of the file meanwhile."""
    try:
        with closing(connect(path, busy_ms, read_only=False)) as db:
            yield db
    except Exception as fault:
        if is_outage(fault):
            raise Unavailable(f"{path} cannot be used: {reason_of(fault)}") from fault
        raise


def primary_code(fault: sqlite3.Error) -> int:
    """Returns the result code without its extension; SQLITE_ERROR if the fault has none."""
    code: int = getattr(fault, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF


def is_outage(fault: BaseException) -> bool:
    """Returns whether the file is unavailable (locked, full, read-only, damaged), as opposed to a wrong row."""
    if isinstance(fault, UnicodeDecodeError) or is_no_text(fault):
        return True  # the schema or a text in the file is no text any more
    if not isinstance(fault, sqlite3.DatabaseError):
        return False
    if isinstance(fault, sqlite3.IntegrityError | sqlite3.DataError | sqlite3.ProgrammingError):
        return False
    return primary_code(fault) not in _OURS


def is_no_text(fault: BaseException) -> bool:
    """Returns whether a text in the file is no UTF-8. Python raises this error without a result code."""
    return isinstance(fault, sqlite3.OperationalError) and str(fault).startswith(_NO_TEXT)


def is_unfit(fault: BaseException) -> bool:
    """Returns whether a value to be written is at fault, as found by SQLite, its binding or Python."""
    is_ours = isinstance(fault, sqlite3.IntegrityError | sqlite3.DataError | ValueError | OverflowError)
    return is_ours and not isinstance(fault, UnicodeDecodeError)


def is_passing(fault: sqlite3.Error) -> bool:
    """Returns whether the connection can be used again once the cause is gone."""
    return primary_code(fault) in _PASSING


def describe(fault: BaseException) -> str:
    """Describes a fault for the log, without values: by SQLite's message, which names only columns, otherwise by its
    type."""
    return f"{type(fault).__name__}: {reason_of(fault)}" if isinstance(fault, sqlite3.Error) else type(fault).__name__


def reason_of(fault: BaseException) -> str:
    """Returns the message of a fault. Python adds a text that is no UTF-8 to it, which is left out."""
    return str(fault).partition(" with text ")[0] if is_no_text(fault) else str(fault)
