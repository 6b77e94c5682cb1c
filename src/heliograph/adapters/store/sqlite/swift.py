"""Commits on the event loop itself, where the disk syncs so quickly that handing over to a thread costs more.

A commit in the writer's thread takes the interpreter's lock away from the loop and waits to get it back, several times.
On a disk that syncs in a tenth of a millisecond that is dearer than the sync, so there the loop commits by itself. On
any other it must not: a sync of ten milliseconds would stop requests and SMPP timers for as long.
"""

import os
import sqlite3
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from heliograph.adapters.store.sqlite.connection import primary_code
from heliograph.adapters.store.sqlite.worker import Session
from heliograph.app.ports import Unavailable

R = TypeVar("R")

QUICK_S = 0.0004
"""Seconds that a sync may take, in the middle of `PROBES`, for the loop to commit."""

PROBES = 15
PROBE_OCTETS = 8_192

SLOW_S = 0.02
"""Seconds; a commit that takes the disk longer is one that the loop should not have waited for."""

SLOW_SHARE = 0.02
"""Of the last `WATCHED` commits: if so many were slow, the loop commits no more."""

WATCHED = 500


def syncs_quickly(folder: Path) -> bool:
    """Whether the disk below `folder` syncs within `QUICK_S`. Writes a small file there and removes it."""
    path = folder / f".sync-probe-{os.getpid()}"
    times = []
    try:
        file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
        try:
            for _ in range(PROBES):
                started = time.perf_counter()
                os.pwrite(file, bytes(PROBE_OCTETS), 0)
                os.fdatasync(file)
                times.append(time.perf_counter() - started)
        finally:
            os.close(file)
            path.unlink()
    except OSError:
        return False
    return statistics.median(times) <= QUICK_S


class Swift:
    """A session of the loop's own. It waits for no other writer: then the thread has to."""

    def __init__(self, path: Path) -> None:
        self._session = Session(path, 0, read_only=False)
        self._slow = 0
        self._commits = 0
        self.tired = False
        """The disk has become slow: the loop should commit no more."""

    def try_call(self, work: Callable[[Session], R]) -> tuple[bool, R | None]:
        """Runs `work` now; (False, None) if somebody else is writing, and nothing was done.

        Raises what `work` does, Unavailable for all other troubles of the file.
        """
        self._session.committing_s = 0.0
        try:
            result = work(self._session)
        except Unavailable as outage:
            cause = outage.__cause__
            if isinstance(cause, sqlite3.Error) and primary_code(cause) == sqlite3.SQLITE_BUSY:
                return False, None
            raise
        self._watch(self._session.committing_s)
        return True, result

    def close(self) -> None:
        self._session.close()

    def _watch(self, seconds: float) -> None:
        self._commits += 1
        if seconds > SLOW_S:
            self._slow += 1
            self.tired = self._slow > SLOW_SHARE * WATCHED
        if self._commits >= WATCHED:
            self._commits = self._slow = 0
