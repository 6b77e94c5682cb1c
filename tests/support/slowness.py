"""Offers `Slowness`: measures the delay that a busy machine adds to everything timed on it."""

import threading
import time
from types import TracebackType
from typing import Self

LOOK_S = 0.01

STALL_S = 0.005
"""Seconds of delay below which a machine counts as idle."""

EARLY_S = 0.005
"""A timer of uvloop counts whole milliseconds and goes off up to two of them early: a lower limit leaves it this."""

STEPS = 10
"""Times in a row, at most, that a measured action waits to be scheduled: several processes, each several times."""


class Slowness:
    """Measures, in a thread, how late the machine wakes a sleeping thread. So limits of time can be strict on an idle
    machine and fair on a busy machine."""

    def __init__(self) -> None:
        self.worst = 0.0
        """The longest that a sleeper overslept so far, in seconds."""
        self._lost = 0.0
        self._looked = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def within(self, seconds: float) -> float:
        """The limit for work that must take less than this many seconds."""
        return seconds + STEPS * self.worst

    def share(self) -> float:
        """The share of the time in which the machine ran a ready thread: 1 on an idle machine."""
        return 1.0 - self._lost / self._looked if self._looked else 1.0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        begun = time.monotonic()
        while not self._over.wait(LOOK_S):
            now = time.monotonic()
            overslept = now - begun - LOOK_S
            self.worst = max(self.worst, overslept)
            self._looked += now - begun
            if overslept > STALL_S:
                self._lost += overslept
            begun = now
