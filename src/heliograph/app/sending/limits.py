"""Rates of accounts: the counters that the gate judges by, of one process each."""

from heliograph.domain.throttle import TokenBucket


class RateLimits:
    """Counts messages, or requests, against the rates of accounts. Times are seconds of a monotonic clock.

    A second's worth may go at once, or as many as `burst` says. A request for more than that goes too, and holds up
    what follows until its messages would have gone one by one.
    """

    def __init__(self) -> None:
        self._used: dict[int, _Used] = {}

    def wait(self, account: int, rate: float, messages: int, now: float, burst: int = 0) -> float:
        """Returns the seconds until so many messages may go, 0 where they may now. Counts nothing."""
        used = self._used.get(account)
        if used is None:
            used = self._used[account] = _Used(rate, burst, now)
        return used.wait(rate, burst, messages, now)

    def count(self, account: int, rate: float, messages: int, now: float) -> None:
        """Counts messages that may go, right after `wait` said so."""
        self._used[account].count(rate, messages, now)


class _Used:
    """The use of one account. Earlier requests have used up what may go until `_held`."""

    __slots__ = ("_bucket", "_held")

    def __init__(self, rate: float, burst: int, now: float) -> None:
        self._bucket = TokenBucket(rate, max(1.0, burst or rate))
        self._held = now

    def wait(self, rate: float, burst: int, messages: int, now: float) -> float:
        bucket = self._bucket
        most = max(1.0, burst or rate)
        if rate != bucket.rate or most != bucket.burst:
            bucket.change(now, rate, most)
        if now < self._held:
            return self._held - now
        return max(0.0, bucket.ready_at(now, messages) - now)

    def count(self, rate: float, messages: int, now: float) -> None:
        beyond = messages - self._bucket.take(now, messages)
        if beyond:
            self._held = now + beyond / rate
