"""Rates of accounts: the counters that the gate judges by."""

from heliograph.domain.throttle import TokenBucket


class RateLimits:
    """Counts messages against the rates of accounts. Times are seconds of a monotonic clock.

    A second's worth may go at once. A request for more than that goes too, and holds up what follows until its
    messages would have gone one by one.
    """

    def __init__(self) -> None:
        self._used: dict[int, _Used] = {}

    def wait(self, account: int, rate: float, messages: int, now: float) -> float:
        """Returns the seconds until so many messages may go, 0 where they may now. Counts nothing."""
        used = self._used.get(account)
        if used is None:
            used = self._used[account] = _Used(rate, now)
        return used.wait(rate, messages, now)

    def count(self, account: int, rate: float, messages: int, now: float) -> None:
        """Counts messages that may go, right after `wait` said so."""
        self._used[account].count(rate, messages, now)


class _Used:
    """The use of one account. Earlier requests have used up what may go until `_held`."""

    __slots__ = ("_bucket", "_held")

    def __init__(self, rate: float, now: float) -> None:
        self._bucket = TokenBucket(rate, max(1.0, rate))
        self._held = now

    def wait(self, rate: float, messages: int, now: float) -> float:
        bucket = self._bucket
        if rate != bucket.rate:
            bucket.change(now, rate, max(1.0, rate))
        if now < self._held:
            return self._held - now
        return max(0.0, bucket.ready_at(now, messages) - now)

    def count(self, rate: float, messages: int, now: float) -> None:
        beyond = messages - self._bucket.take(now, messages)
        if beyond:
            self._held = now + beyond / rate
