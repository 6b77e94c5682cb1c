"""The machine's clock and its random bits."""

import os
import time
from collections.abc import Callable
from functools import partial
from struct import Struct
from typing import Final

from heliograph.domain.message.ids import TAIL_BITS


def _steady_clock() -> Callable[[], float]:
    """Returns Linux's clock that goes on while the machine sleeps, so that a lease has ended when it wakes. Elsewhere
    it is `time.monotonic`, which stands still meanwhile."""
    number = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic if number is None else partial(time.clock_gettime, number)


_monotonic: Final = _steady_clock()
_time_ns: Final = time.time_ns

_DRAWN = 512
"""Tails drawn at a time. A system call costs more than the randomness itself."""

_UNPACK = Struct(f"<{_DRAWN}Q").unpack
_EXCESS_BITS = 64 - TAIL_BITS


class SystemClock:
    """The wall clock, and a monotonic clock that goes on while the machine sleeps, where the system has one."""

    __slots__ = ()

    def now(self) -> int:
        """Milliseconds since the Unix epoch, UTC. May jump."""
        return _time_ns() // 1_000_000

    def monotonic(self) -> float:
        return _monotonic()


class RandomIds:
    """Draws tails from the system's secure randomness, so that known tails do not help to guess others."""

    __slots__ = ("_tails",)

    def __init__(self) -> None:
        self._tails: list[int] = []

    def tail(self) -> int:
        """Returns 62 random bits."""
        if not self._tails:
            self._tails = [bits >> _EXCESS_BITS for bits in _UNPACK(os.urandom(8 * _DRAWN))]
        return self._tails.pop()
