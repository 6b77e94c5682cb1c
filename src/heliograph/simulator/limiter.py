"""Rate limits of the simulated operator on submits: every kind that real operators are known to use.

Each limiter accepts or throttles submits in turn. Times are seconds of a monotonic clock.
"""

from abc import ABC, abstractmethod
from collections import deque
from enum import StrEnum
from typing import Final

COUNTED_REFUSALS: Final = 4
"""Refused submits that count, at most, in multiples of the limit: it opens again at some time."""


class LimiterKind(StrEnum):
    """Kinds of limits, such as a token bucket or a calendar second."""

    BUCKET = "bucket"
    """Tokens that come at the rate, up to a burst. A queue that drains at the rate is the same."""
    SLIDING = "sliding"
    """Submits in the last span of time."""
    CALENDAR = "calendar"
    """Submits in the present span of the clock."""


class Limiter(ABC):
    """Accepts or throttles submits. `counts_refused`: throttled submits count towards the limit like accepted
    submits.
    """

    __slots__ = ("counts_refused",)

    def __init__(self, *, counts_refused: bool = False) -> None:
        self.counts_refused = counts_refused

    @abstractmethod
    def take(self, now: float) -> bool: ...

    @property
    @abstractmethod
    def load(self) -> int:
        """Use of the limit at the last submit, 0 to 99 percent."""


def _percent(share: float) -> int:
    return max(0, min(99, round(100 * share)))


class BucketLimiter(Limiter):
    """`rate` a second on average, at most `burst` at once."""

    __slots__ = ("_at", "_burst", "_rate", "_tokens")

    def __init__(self, rate: float, burst: float, now: float = 0.0, *, counts_refused: bool = False) -> None:
        super().__init__(counts_refused=counts_refused)
        self._rate = rate
        self._burst = burst
        self._tokens = burst
        self._at = now

    def take(self, now: float) -> bool:
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
        self._at = now
        taken = self._tokens >= 1.0
        if taken or self.counts_refused:
            self._tokens = max(-COUNTED_REFUSALS * self._burst, self._tokens - 1.0)
        return taken

    @property
    def load(self) -> int:
        return _percent(1 - self._tokens / self._burst)


class SlidingLimiter(Limiter):
    """At most `count` in any `span_s`."""

    __slots__ = ("_count", "_span_s", "_times")

    def __init__(self, count: int, span_s: float, *, counts_refused: bool = False) -> None:
        super().__init__(counts_refused=counts_refused)
        self._count = count
        self._span_s = span_s
        self._times: deque[float] = deque()

    def take(self, now: float) -> bool:
        times = self._times
        while times and times[0] <= now - self._span_s:
            times.popleft()
        taken = len(times) < self._count
        if taken or (self.counts_refused and len(times) < (1 + COUNTED_REFUSALS) * self._count):
            times.append(now)
        return taken

    @property
    def load(self) -> int:
        return _percent(len(self._times) / self._count)


class CalendarLimiter(Limiter):
    """At most `count` submits in each `span_s` of the clock, for example in each full second. Throttled submits do not
    count.
    """

    __slots__ = ("_count", "_span", "_span_s", "_used")

    def __init__(self, count: int, span_s: float) -> None:
        super().__init__()
        self._count = count
        self._span_s = span_s
        self._span = -1
        self._used = 0

    def take(self, now: float) -> bool:
        span = int(now / self._span_s)
        if span != self._span:
            self._span, self._used = span, 0
        if self._used >= self._count:
            return False
        self._used += 1
        return True

    @property
    def load(self) -> int:
        return _percent(self._used / self._count)
