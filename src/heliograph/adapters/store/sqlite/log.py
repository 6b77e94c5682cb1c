"""The write-ahead log's file, made as long beforehand as it is going to be.

A commit that lengthens a file must have the file system's own records synced too, which takes twice to fifty times as
long as the octets alone, the more the busier the disk is with others' files. A log is written from its beginning again
after each checkpoint: without this, the commits between a start and the first one, hundreds of them, are the slow ones.
"""

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

LOG_OCTETS = 8 * 1024 * 1024
"""A checkpoint begins at a thousand pages (four mebioctets); the commit that reaches them may be a large one."""

PAGE = 4_096

LEAST_FREE = 16 * LOG_OCTETS
"""Octets that must be free on the disk; with fewer the log is not lengthened."""


def lengthen(db: sqlite3.Connection, path: Path) -> None:
    """Writes zeros at the end of the log of `path`, synced; a smaller log is as good, if slower.

    To be called within a transaction that writes, so that nobody appends to the log meanwhile. What is not a frame of
    the log's present round ends it for whoever reads it after a crash: zeros as well as the frames of earlier rounds.
    """
    if not db.in_transaction:
        raise RuntimeError("the log is lengthened within a transaction alone")
    with suppress(OSError):
        log = os.open(f"{path}-wal", os.O_WRONLY)
        try:
            size, disk = os.fstat(log).st_size, os.fstatvfs(log)
            if size < LOG_OCTETS and disk.f_bavail * disk.f_frsize > LEAST_FREE:
                _append_zeros(log, size)
        finally:
            os.close(log)


def _append_zeros(log: int, size: int) -> None:
    """Appends zeros page by page: after one large write the system would count a change to a page of it as one to
    all."""
    try:
        for start in range(size, LOG_OCTETS, PAGE):
            os.pwrite(log, bytes(min(LOG_OCTETS - start, PAGE)), start)
        os.fsync(log)  # its length is new, so the data alone would not do; and every system has it
    except OSError:
        os.ftruncate(log, size)
        raise
