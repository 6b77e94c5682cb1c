"""The interval between the starts of two commits, in which requests gather, and when to end it early."""

from math import exp

INTERVAL_S = 0.002
"""Seconds between the starts of two commits under load. It gathers more facts a commit, hence fewer of them."""

REST_S = 0.0005
"""Seconds. Shortest wait of a commit for more facts under load. A customer that just got an answer sends its next
request in time for this commit. On PostgreSQL, where commits take longer than the interval, half of such requests came
too late and waited for two commits. In a closed loop the wait gave an eighth more messages, with 15 us less CPU each.
"""

BUSY_FACTS_PER_S = 4_000.0
"""Facts a second from which on interval and rest are whole; below they shrink in proportion, for latency's sake."""

AVERAGE_S = 0.02
"""Seconds over which the rate of facts is averaged."""

SHORTEST_INTERVAL_S = 0.0005
"""Seconds; an interval shorter than this is not worth a timer."""

PROBE_INTERVALS = 16
"""Every 16th interval is a probe: it runs to its end, so that all requests that may come are counted. If only short
intervals were counted, small commits would stay small."""

CALM_S = 0.0004
"""Seconds. A probe that ends without a request for this long is assumed to have counted all requests."""

_UNKNOWN = 1 << 30
"""A number of requests that is never reached."""


class CommitInterval:
    """Decides when the next commit begins.

    Customers that wait for answers send nothing more. So once as many requests wait as ever before, a longer wait
    collects none and delays all. Otherwise a few connections would get only a request per interval each.

    Times are seconds of a monotonic clock.
    """

    def __init__(self) -> None:
        self._rate = 0.0
        self._left = 0.0
        self._started = 0.0
        self._tallied = 0.0
        self._latest = 0.0
        self._crowd = _UNKNOWN
        self._intervals = 0
        self.probing = True
        """Whether this interval is not ended early; while it is, the caller reports each request by `came`."""

    def left(self, now: float) -> float:
        """Returns the seconds until the next commit, for example 0.002; 0.0 begins it at once."""
        share = min(1.0, self._rate / BUSY_FACTS_PER_S)
        left = max(INTERVAL_S * share - (now - self._started), REST_S * share)
        self._left = left if left >= SHORTEST_INTERVAL_S else 0.0
        return self._left

    def at_capacity(self, requests: int) -> bool:
        """True if as many requests wait as ever before, so that a longer wait would collect none."""
        return 0 < requests >= self._crowd and not self.probing

    def came(self, now: float) -> None:
        """Notes the time of a request that comes while `probing`."""
        self._latest = now

    def begin(self, now: float, requests: int) -> None:
        """Notes that a commit of `requests` requests begins."""
        self._started = now
        if not self._left:
            return  # no full interval has been counted yet
        if self.probing:
            self._crowd = requests if now - self._latest >= CALM_S else _UNKNOWN
        self._intervals += 1
        self.probing = self._intervals % PROBE_INTERVALS == 0

    def tally(self, now: float, facts: int) -> None:
        """Notes that a commit of `facts` facts has ended."""
        span = max(now - self._tallied, 1e-6)
        self._tallied = now
        weight = 1.0 - exp(-span / AVERAGE_S)
        self._rate += weight * (facts / span - self._rate)
