"""Commits and lookups on the event loop, where the disk is so quick that handing over to a thread costs more.

A commit in the writer's thread takes the interpreter's lock away from the loop and waits to get it back, several times.
On a disk that syncs in a tenth of a millisecond that is dearer than the sync, so there the loop commits by itself. On
any other it must not: a sync of ten milliseconds would stop requests and SMPP timers for as long.
"""

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from heliograph.adapters.store.sqlite.connection import primary_code
from heliograph.adapters.store.sqlite.worker import FileConnection
from heliograph.app.ports import Unavailable

P = ParamSpec("P")
R = TypeVar("R")

QUICK_S = 0.0004
"""Seconds that the median of PROBES syncs may take for the loop to commit."""

PROBES = 15
PROBE_OCTETS = 8_192

SLOW_S = 0.02
"""Seconds from which on a commit counts as slow: the loop should not have waited for it."""

SLOW_LOOK_S = 0.002
"""Seconds from which on a lookup counts as slow. A disk that writes into a cache of its own may be slow to read."""

SLOW_SHARE = 0.02
"""Share of WATCHED commits, or lookups, that may be slow; if more are, the loop does them no more."""

WATCHED = 500


def syncs_quickly(folder: Path) -> bool:
    """Returns whether the disk below `folder` syncs within QUICK_S. Writes a small file there and removes it."""
    if not hasattr(os, "fdatasync"):
        return False  # macOS, where a sync that reaches the disk is slow
    path = folder / ".sync-probe"
    times = []
    try:
        # one may be there that was left when the power went
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
    """Notices that the disk has become slow."""

    def __init__(self) -> None:
        self._slow = 0
        self._seen = 0
        self.tired = False

    def note(self, *, slow: bool) -> None:
        self._seen += 1
        if slow:
            self._slow += 1
            self.tired = self._slow > SLOW_SHARE * WATCHED
        if self._seen >= WATCHED:
            self._seen = self._slow = 0


class LoopConnection:
    """Commits on the event loop, on a connection of its own. Where another writer is busy, the thread has to commit."""

    def __init__(self, path: Path) -> None:
        self._connection = FileConnection(path, 0, read_only=False)
        self._commits = DiskWatch()
        self._looks = DiskWatch()

    @property
    def tired(self) -> bool:
        """True once the disk has become so slow that the loop should commit no more."""
        return self._commits.tired

    def try_call(self, work: Callable[[FileConnection], R]) -> tuple[bool, R | None]:
        """Runs `work` now; returns (False, None), having done nothing, if somebody else is writing.

        Raises what `work` raises, and Unavailable for any other fault of the file.
        """
        self._connection.committing_s = 0.0
        done, result = self._try(work)
        if done:
            self._commits.note(slow=self._connection.committing_s > SLOW_S)
        return done, result

    def try_look(
        self, work: Callable[Concatenate[sqlite3.Connection, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> tuple[bool, R | None]:
        """Runs `FileConnection.look` now, at a row or two; returns (False, None) if it has to wait or lookups are
        slow."""
        if self._looks.tired:
            return False, None
        started = time.perf_counter()
        done, result = self._try(lambda connection: connection.look(work, *args, **kwargs))
        self._looks.note(slow=time.perf_counter() - started > SLOW_LOOK_S)
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
