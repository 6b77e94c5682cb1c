"""A token bucket: a rate that holds in every second, not just on average."""

from math import inf, nextafter

SHARE_OF_BURST = 0.1
"""Default burst: share of a second's units that may go at once after a pause."""


class TokenBucket:
    """Grants at most `rate` units of work per unit of `now`, and up to `burst` more after a pause.

    The caller chooses the unit of time; `rate` and `now` must agree on it. In any span of one unit of time at most
    `rate + burst` units are granted: with the burst by default (a tenth of the rate, at least 1) never more than 1.2
    times the rate, or than the rate rounded up where it is under 5.
    """

    __slots__ = ("_at", "_tokens", "burst", "rate")

    def __init__(self, rate: float, burst: float | None = None) -> None:
        """Starts full. Raises ValueError unless the rate is above 0 and the burst at least 1."""
        self.rate, self.burst = _checked(rate, burst)
        self._tokens = self.burst
        self._at = -inf

    def take(self, now: float, n: int = 1) -> int:
        """Uses up and returns as many of `n` units as may go now. A clock that went back grants nothing new."""
        tokens = self._level(now)
        granted = min(n, int(tokens))
        self._tokens = tokens - granted
        self._at = max(now, self._at)
        return granted

    def ready_at(self, now: float, n: int = 1) -> float:
        """The earliest time from `now` on at which `take` grants `n`, or the burst where that is less."""
        wanted = min(n, int(self.burst))
        if self._level(now) >= wanted:
            return now
        ready = max(now, self._at + (wanted - self._tokens) / self.rate)
        while self._level(ready) < wanted:  # rounding can make it slightly too early
            ready = nextafter(ready, inf)
        return ready

    def change(self, now: float, rate: float, burst: float | None = None) -> None:
        """Changes the rate from now on. Work granted before still counts, where a new bucket would start full."""
        rate, burst = _checked(rate, burst)
        self._tokens = min(burst, self._level(now))
        self._at = max(now, self._at)
        self.rate, self.burst = rate, burst

    def _level(self, now: float) -> float:
        if now <= self._at:
            return self._tokens
        return min(self.burst, self._tokens + (now - self._at) * self.rate)


def _checked(rate: float, burst: float | None) -> tuple[float, float]:
    if burst is None:
        burst = max(1.0, SHARE_OF_BURST * rate)
    if not 0 < rate < inf or not 1 <= burst < inf:
        raise ValueError(f"a rate is above 0 and a burst at least 1, not {rate} and {burst}")
    return rate, burst
