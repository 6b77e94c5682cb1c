"""How long the next commit waits for more: the gap between the starts of two commits, and when to end it early."""

from math import exp

GAP_S = 0.002
"""Seconds between the starts of two commits under load. It gathers more facts a commit, hence fewer of them."""

REST_S = 0.0005
"""Seconds under load that a commit waits at least for more, once there is something. Who had an answer from the last
one sends the next request in time for this one: where commits take longer than the gap, as on PostgreSQL, half of them
came too late and waited for two. In a closed loop that was an eighth more messages, for 15 us less of CPU each."""

BUSY_FACTS_PER_S = 4_000.0
"""From so many facts a second on gap and rest are whole; below they shrink in proportion, for the sake of latency."""

AVERAGE_S = 0.02
"""Seconds over which the rate of facts is averaged."""

SHORTEST_GAP_S = 0.0005
"""Seconds; a gap shorter than this is not worth a timer."""

PROBE_GAPS = 16
"""So often a gap is not ended early. What gathers then is what there is to wait for: were it judged by gaps that ended
early, small commits would keep themselves small."""

CALM_S = 0.0004
"""Seconds before the end of such a gap in which no request comes if those that wait are all there are."""

_UNKNOWN = 1 << 30
"""More requests than ever wait."""


class Gap:
    """Customers who wait for their answers send nothing more. As soon as as many requests wait as ever do, a longer gap
    gathers none: it holds up all of them, and few connections would get no further than one request a gap each.

    Times are seconds of one monotonic clock.
    """

    def __init__(self) -> None:
        self._rate = 0.0
        self._left = 0.0
        self._started = 0.0
        self._tallied = 0.0
        self._latest = 0.0
        self._crowd = _UNKNOWN
        self._gaps = 0
        self.probing = True
        """Whether the gap is left whole: then `came` is to be told of each request."""

    def left(self, now: float) -> float:
        """Seconds that the next commit is to wait; 0.0 if it is to begin at once."""
        share = min(1.0, self._rate / BUSY_FACTS_PER_S)
        left = max(GAP_S * share - (now - self._started), REST_S * share)
        self._left = left if left >= SHORTEST_GAP_S else 0.0
        return self._left

    def crowded(self, requests: int) -> bool:
        """Whether nobody is left who could send a request, now that so many wait."""
        return 0 < requests >= self._crowd and not self.probing

    def came(self, now: float) -> None:
        """A request has come, while it is `probing`."""
        self._latest = now

    def begin(self, now: float, requests: int) -> None:
        """A commit begins, with so many requests."""
        self._started = now
        if not self._left:
            return  # nobody has waited to see who comes
        if self.probing:
            self._crowd = requests if now - self._latest >= CALM_S else _UNKNOWN
        self._gaps += 1
        self.probing = self._gaps % PROBE_GAPS == 0

    def tally(self, now: float, facts: int) -> None:
        """A commit is over, with so many facts."""
        span = max(now - self._tallied, 1e-6)
        self._tallied = now
        weight = 1.0 - exp(-span / AVERAGE_S)
        self._rate += weight * (facts / span - self._rate)
