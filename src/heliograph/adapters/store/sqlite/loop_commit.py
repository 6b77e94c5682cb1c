"""Commits and lookups on the event loop, if the disk is so fast that a handover to a thread costs more.

A commit in the writer's thread takes the interpreter's lock away from the loop and waits to get it back, several times.
On a disk that syncs in 0.1 ms this costs more than the sync, so the loop commits by itself. On a slower disk it must
not: a sync of 10 ms would stop requests and SMPP timers for as long.
"""

import os
import sqlite3
import time
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from heliograph.adapters.store.sqlite.connection import primary_code
from heliograph.adapters.store.sqlite.worker import FileConnection
from heliograph.app.ports import Unavailable

P = ParamSpec("P")
R = TypeVar("R")

QUICK_S = 0.0004
"""Seconds. The loop commits if the median of PROBES syncs takes at most this long."""

PROBES = 15
PROBE_OCTETS = 8_192

SLOW_S = 0.02
"""Seconds. A commit slower than this counts as slow: the loop should not have waited for it."""

SLOW_LOOK_S = 0.002
"""Seconds. A lookup slower than this counts as slow. A disk with its own write cache may still be slow to read."""

SLOW_SHARE = 0.02
"""Share of WATCHED commits, or lookups, that may be slow. Beyond it, the loop leaves them to a thread for a while."""

WATCHED = 500

REST_S = 60.0
"""Seconds that commits stay in the writer thread after the disk was slow. Doubles if the disk is slow again before the
loop has worked for as long as it rested (exponential backoff): a backup slows a disk once, a worn disk always."""

MOST_REST_S = 3_600.0


def syncs_quickly(folder: Path) -> bool:
    """Returns whether the disk below `folder` syncs within QUICK_S. Writes a small file there and removes it."""
    if not hasattr(os, "fdatasync"):
        return False  # macOS, where a sync that reaches the disk is slow
    path = folder / ".sync-probe"
    times = []
    try:
        # a power cut may have left a file
        file = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
        try:
            for _ in range(PROBES):
                started = time.perf_counter()
                os.pwrite(file, bytes(PROBE_OCTETS), 0)
                os.fdatasync(file)
                times.append(time.perf_counter() - started)
        finally:
            os.close(file)
            path.unlink(missing_ok=True)
    except OSError:
        return False
    return sorted(times)[PROBES // 2] <= QUICK_S


class DiskWatch:
    """Notices that the disk has become slow, and decides how long the loop then leaves it alone. Times are seconds of a
    monotonic clock."""

    def __init__(self) -> None:
        self._slow = 0
        self._seen = 0
        self._rest_s = 0.0
        self._rests_until = -inf

    def rests(self, now: float) -> bool:
        """Whether the loop should leave the disk to the threads."""
        return now < self._rests_until

    def note(self, now: float, *, slow: bool) -> None:
        """Notes a commit of the loop, and whether it was slow."""
        self._seen += 1
        if slow:
            self._slow += 1
            if self._slow > SLOW_SHARE * WATCHED:
                self._rest(now)
        if self._seen >= WATCHED:
            self._seen = self._slow = 0

    def _rest(self, now: float) -> None:
        lasted = now - self._rests_until >= self._rest_s
        self._rest_s = REST_S if lasted else min(2 * self._rest_s, MOST_REST_S)
        self._rests_until = now + self._rest_s
        self._seen = self._slow = 0


class LoopConnection:
    """Commits on the event loop, on a connection of its own. If another writer is busy, the thread has to commit."""

    def __init__(self, path: Path) -> None:
        self._connection = FileConnection(path, 0, read_only=False)
        self._commits = DiskWatch()
        self._looks = DiskWatch()

    def try_call(self, work: Callable[[FileConnection], R]) -> tuple[bool, R | None]:
        """Runs `work` now. Does nothing and returns (False, None) if another thread writes or commits are slow.

        Raises the exceptions of `work`, and Unavailable for any other fault of the file.
        """
        now = time.perf_counter()
        if self._commits.rests(now):
            return False, None
        self._connection.committing_s = 0.0
        done, result = self._try(work)
        if done:
            self._commits.note(now, slow=self._connection.committing_s > SLOW_S)
        return done, result

    def try_look(
        self, work: Callable[Concatenate[sqlite3.Connection, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> tuple[bool, R | None]:
        """Runs `FileConnection.look` now, at a row or two; returns (False, None) if it has to wait or lookups are
        slow."""
        started = time.perf_counter()
        if self._looks.rests(started):
            return False, None
        done, result = self._try(lambda connection: connection.look(work, *args, **kwargs))
        self._looks.note(started, slow=time.perf_counter() - started > SLOW_LOOK_S)
        return done, result

    def close(self) -> None:
        self._connection.close()

    def _try(self, work: Callable[[FileConnection], R]) -> tuple[bool, R | None]:
        try:
            return True, work(self._connection)
        except Unavailable as outage:
            cause = outage.__cause__
            if isinstance(cause, sqlite3.Error) and primary_code(cause) == sqlite3.SQLITE_BUSY:
                return False, None
            raise
