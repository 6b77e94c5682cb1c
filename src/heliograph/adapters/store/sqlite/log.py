"""Allocates the file of the write-ahead log before it is written.

A commit that lengthens a file also syncs the metadata of the file system, which takes 2 to 50 times as long as the
octets alone. A log is written from its beginning again after each checkpoint. So without allocation, the hundreds of
commits between a start and the first checkpoint are slow.
"""

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

LOG_OCTETS = 8 * 1024 * 1024
"""Octets. A checkpoint begins at 1,000 pages (4 MiB), and the commit that reaches them may be large."""

PAGE = 4_096

LEAST_FREE = 16 * LOG_OCTETS
"""Octets. The log is lengthened only if this much of the disk is free."""


def lengthen(db: sqlite3.Connection, path: Path) -> None:
    """Writes zeros at the end of the log of `path`, synced; a smaller log is as good, if slower.

    Must be called within a transaction that writes, so that no other connection appends to the log. A reader after a
    crash stops at the first octets that are no frame of the present round: zeros, as well as frames of earlier rounds.
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
    """Appends zeros page by page. After a single large write, Linux would count a change of a page as a change of
    all."""
    try:
        for start in range(size, LOG_OCTETS, PAGE):
            os.pwrite(log, bytes(min(LOG_OCTETS - start, PAGE)), start)
        os.fsync(log)  # also writes the new length, and exists on every system
    except OSError:
        os.ftruncate(log, size)
        raise
