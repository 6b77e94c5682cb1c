"""A link to an operator with a limit, in virtual time: the parts that its pace sends, and their outcomes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf
from random import Random
from typing import Protocol

from heliograph.domain.pace.pace import Pace
from heliograph.simulator.limiter import BucketLimiter, CalendarLimiter, SlidingLimiter

JITTER_S = 0.001
"""An event loop is late by up to so much."""


class Limit(Protocol):
    def take(self, now: float) -> bool: ...


class Free:
    """No limit."""

    def take(self, _now: float) -> bool:
        return True


class Moving:
    """Another limit from each of these times on."""

    def __init__(self, *limits: tuple[float, Limit]) -> None:
        self._limits = list(limits)

    def take(self, now: float) -> bool:
        while len(self._limits) > 1 and self._limits[1][0] <= now:
            self._limits.pop(0)
        return self._limits[0][1].take(now)


class Shared:
    """A limit of which others use so much a second, evenly."""

    def __init__(self, limit: Limit, others: float) -> None:
        self._limit = limit
        self._interval = 1 / others
        self._next = 0.0

    def take(self, now: float) -> bool:
        while self._next <= now:
            self._limit.take(self._next)
            self._next += self._interval
        return self._limit.take(now)


@dataclass
class PacedLink:
    """`at_random`: the share of the parts that is throttled whatever the pace. `offered`: parts a second, all without a
    number."""

    limit: Limit
    latency_s: float = 0.05
    window: int = 0
    """0: the window that latency and 400 parts a second need."""
    jitter_s: float = JITTER_S
    offered: float = inf
    at_random: float = 0.0
    seed: int = 0
    configured: float = 0.0
    sent: list[tuple[float, bool]] = field(default_factory=list)
    """When each part was written, and whether the operator took it."""
    now: float = 0.0

    def __post_init__(self) -> None:
        self.pace = Pace(self.configured)
        self.window = self.window or 20 + int(400 * self.latency_s)
        self._random = Random(self.seed)
        self._answers: list[tuple[float, int, float, bool]] = []
        self._waiting = 0.0

    def run(self, seconds: float, each: Callable[[], object] = lambda: None) -> None:
        """`each` is called whenever something happened."""
        end = self.now + seconds
        while self.now < end:
            self._hear()
            self._send()
            each()
            self._sleep()

    def run_until_free(self, seconds: float) -> None:
        """Runs until nothing holds the pace back, or until the time is over. A free pace sends a hundred thousand parts
        a second."""
        end = self.now + seconds
        while self.now < end and not self.pace.is_free:
            self.run(min(0.1, end - self.now))

    def batch(self, parts: int) -> float:
        """Sends so many parts and no others. Returns the seconds until the last of them is taken."""
        began, before = self.now, sum(taken for _, taken in self.sent)
        self.offered, self._waiting = 1e-9, parts
        while sum(taken for _, taken in self.sent) < before + parts:
            self.run(0.01)
        return self.sent[-1][0] + self.latency_s - began

    def goodput(self, since: float, until: float) -> float:
        """Parts taken a second."""
        return sum(taken for at, taken in self.sent if since <= at < until) / (until - since)

    def throttled(self, since: float, until: float) -> int:
        return sum(not taken for at, taken in self.sent if since <= at < until)

    def share_throttled(self, since: float, until: float) -> float:
        return self.throttled(since, until) / max(1, sum(since <= at < until for at, _ in self.sent))

    def _hear(self) -> None:
        while self._answers and self._answers[0][0] <= self.now:
            _, _, written, taken = heappop(self._answers)
            if taken and self.pace.is_free:
                self.pace.took_freely(self.now, 1)
            elif taken:
                self.pace.taken(written, self.now)
            else:
                self._waiting += 1
                self.pace.throttled(written, self.now)

    def _send(self) -> None:
        room = self.window - len(self._answers)
        if self.offered < inf:
            room = min(room, int(self._waiting))
        granted = self.pace.take(self.now, room) if room > 0 else 0
        self._waiting -= granted
        for _ in range(granted):
            taken = self._random.random() >= self.at_random and self.limit.take(self.now + self.latency_s / 2)
            self.sent.append((self.now, taken))
            late = self._random.random() * self.jitter_s / 2
            heappush(self._answers, (self.now + self.latency_s + late + 1e-4, len(self.sent), self.now, taken))

    def _sleep(self) -> None:
        wake = [self._answers[0][0]] if self._answers else []
        if len(self._answers) < self.window:
            if self.offered == inf or self._waiting >= 1:
                wake.append(max(self.pace.ready_at(self.now), self.now + 1e-5))
            else:
                wake.append(self.now + (1 - self._waiting) / self.offered + 1e-6)
        before, self.now = self.now, max(self.now + 1e-6, min(wake) + self._random.random() * self.jitter_s)
        if self.offered < inf:
            self._waiting += (self.now - before) * self.offered


LIMITS: dict[str, tuple[Callable[[], Limit], float]] = {
    "any second, 5": (lambda: SlidingLimiter(5, 1), 5),
    "any second, 50": (lambda: SlidingLimiter(50, 1), 50),
    "any second, 200": (lambda: SlidingLimiter(200, 1), 200),
    "each second, 5": (lambda: CalendarLimiter(5, 1), 5),
    "each second, 50": (lambda: CalendarLimiter(50, 1), 50),
    "each second, 200": (lambda: CalendarLimiter(200, 1), 200),
    "bucket, 50, burst 10": (lambda: BucketLimiter(50, 10), 50),
    "bucket, 50, burst 50": (lambda: BucketLimiter(50, 50), 50),
}
"""Limits by their kind, each with the parts that it lets through a second. A queue of ten that drains at 50 a second is
a bucket with a burst of ten."""

HARDER_LIMITS: dict[str, tuple[Callable[[], Limit], float]] = {
    "bucket, 50, burst 1": (lambda: BucketLimiter(50, 1), 50),
    "each 100 ms, 10": (lambda: CalendarLimiter(10, 0.1), 100),
    "any 100 ms, 10": (lambda: SlidingLimiter(10, 0.1), 100),
    "each minute, 600": (lambda: CalendarLimiter(600, 60), 10),
    "any minute, 600": (lambda: SlidingLimiter(600, 60), 10),
    "any second, 50, others use 20": (lambda: Shared(SlidingLimiter(50, 1), 20), 30),
    "bucket, 50, others use 20": (lambda: Shared(BucketLimiter(50, 10), 20), 30),
    "any second, 50, counts what it refuses": (lambda: SlidingLimiter(50, 1, counts_refused=True), 50),
    "bucket, 50, counts what it refuses": (lambda: BucketLimiter(50, 10, counts_refused=True), 50),
}
