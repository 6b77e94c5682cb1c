"""The pace at which one operator is sent to: never above the configured rate, and below it as fast as it takes parts.

An operator that is sent too much answers ESME_RTHROTTLED. Then the pace is cut to what it took just before, and raised
again while it is silent: slowly first, since the limit is near, faster the longer it stays silent, since the limit must
have moved. Times are seconds of a clock that does not go back.
"""

from math import inf

from heliograph.domain.throttle import TokenBucket

SPAN_S = 1.0
"""The span before a throttle answer, in seconds, whose parts count as what the operator takes."""

BURST_S = 0.2
"""Operators let through about so many seconds' worth at once: what they took before the first throttle answer, where
nothing is known of the time before, was taken in so many seconds at least."""

CUT = 0.97
"""Factor that a cut applies to the pace, or to the rate that the operator took."""

DEEP_CUT = 0.93
"""Factor of a cut that follows one which did not help."""

EPISODE_S = 0.5
"""Throttle answers within so many seconds of a cut belong to what was sent before it."""

AGAIN_S = 2.0
"""A throttle answer within so many seconds of a cut says that it was not deep enough."""

QUIET_S = 2.0
"""Seconds of silence before the pace is raised, and between two raises."""

FIRST_RAISE = 0.005
"""Share of the pace by which the first raise adds to it. Each next one in the same silence adds twice as much, up to a
doubling of the pace."""

FREE_FACTOR = 20.0
"""A pace without a configured limit that has grown so many times since its last cut is no limit any more."""

VAIN_CUTS = 5
"""Cuts in a row that did not help, after which throttle answers are not about the pace."""

DEAF_S = 30.0
"""Seconds for which throttle answers are then ignored, as long as they stay few."""

FEW = 0.2
"""The share of throttle answers up to which they may be about something else than the pace."""

NEARING = 80
"""congestion_state from which on the pace is not raised: the operator nears congestion (SMPP v5.0, 4.8.4.18)."""

CONGESTED = 90
"""congestion_state from which on the pace is cut."""

EASE = 0.98
"""Factor that a cut for congestion applies to the pace, or to the rate that the operator took."""

EASE_S = 1.0
"""Seconds between two such cuts, and before the first."""

EASE_TO = 0.5
"""Share of the pace at which congestion began that such cuts leave, since others may be its cause."""

EASE_LEAST = 10.0
"""Parts a second down to which congestion cuts the pace: fewer do not congest an operator."""

GUESS = 10.0
"""Parts a second that an operator is believed to take where less was asked of it before its first throttle answer."""

LEAST = 0.5
"""Parts a second: the pace is never cut below that."""


class Pace:
    """A token bucket whose rate follows the operator. `limit` is what is configured, in parts a second, 0 for none."""

    __slots__ = (
        "_bucket",
        "_congested_at",
        "_cut_at",
        "_cut_to",
        "_deaf_until",
        "_eased_at",
        "_eased_from",
        "_limit",
        "_raise",
        "_raised_at",
        "_refused",
        "_slots",
        "_span_start",
        "_vain",
        "_worth",
        "throttles",
    )

    def __init__(self, limit: float = 0.0) -> None:
        self._limit = limit if limit > 0 else inf
        self._bucket: TokenBucket | None = TokenBucket(limit) if limit > 0 else None
        self._cut_at = -inf
        self._cut_to = inf
        self._raise = FIRST_RAISE
        self._raised_at = 0.0
        self._span_start = -inf
        self._slots = [0, 0]
        self._refused = [0, 0]
        self._deaf_until = -inf
        self._vain = 0
        self._worth = inf
        self._congested_at = -inf
        self._eased_at = -inf
        self._eased_from = inf
        self.throttles = 0
        """Throttle answers so far."""

    @property
    def rate(self) -> float:
        """Parts a second now; infinity where nothing holds them back."""
        return inf if self._bucket is None else self._bucket.rate

    def limit(self, now: float, limit: float) -> None:
        """Changes the configured limit; 0 is none."""
        wanted = limit if limit > 0 else inf
        if wanted == self._limit:
            return
        self._limit = wanted
        self._cut_to = inf
        self._set(now, wanted)

    def take(self, now: float, n: int) -> int:
        """Uses up and returns as many of `n` parts as may be written now."""
        bucket = self._recovered(now)
        return n if bucket is None else bucket.take(now, n)

    def ready_at(self, now: float) -> float:
        """The earliest time at which `take` grants one."""
        return now if self._bucket is None else self._bucket.ready_at(now)

    def taken(self, now: float, n: int = 1) -> None:
        """Notes that the operator took `n` parts."""
        self._turn(now)
        self._slots[1] += n

    def throttled(self, now: float) -> bool:
        """Notes a throttle answer and cuts the pace; returns whether to pause sending for a moment."""
        self.throttles += 1
        self._turn(now)
        self._refused[1] += 1
        few = sum(self._refused) <= FEW * (sum(self._refused) + sum(self._slots))
        if now < self._deaf_until:
            if few:
                return False
            self._deaf_until = -inf
        if now - self._cut_at < EPISODE_S:
            return True
        took = self._recent(now)
        if now - self._cut_at < AGAIN_S:
            self._vain += 1
            if few and self._vain >= VAIN_CUTS:
                self._stop_minding(now)
                return False
            rate = self.rate * DEEP_CUT if few else min(self.rate * DEEP_CUT, max(took, self.rate / 2))
        else:
            self._vain, self._worth = 0, self.rate
            known = max(took, GUESS) if self._cut_to == inf else max(took, self._cut_to)
            rate = min(self.rate, known) * CUT
        self._cut_at = self._raised_at = now
        self._raise = FIRST_RAISE
        self._cut_to = max(LEAST, rate)
        self._set(now, self._cut_to)
        return True

    def congested(self, now: float, percent: int) -> None:
        """Notes the operator's load, 0 to 99: from CONGESTED on the pace is cut gently, from NEARING on it is not
        raised."""
        if percent < NEARING:
            return
        self._raised_at = now
        self._raise = FIRST_RAISE
        if percent < CONGESTED:
            return
        self._turn(now)
        since, self._congested_at = now - self._congested_at, now
        took = self._recent(now)
        if since >= QUIET_S:
            self._eased_at = now
            self._eased_from = inf
        if now - self._eased_at < EASE_S:
            return
        self._eased_at = now
        if self._eased_from == inf:
            self._eased_from = min(self.rate, took)
        rate = min(self.rate, took if self._cut_to == inf else max(took, self._cut_to)) * EASE
        rate = max(rate, self._eased_from * EASE_TO, EASE_LEAST)
        if rate < self.rate:
            self._cut_to = rate
            self._set(now, rate)

    def _stop_minding(self, now: float) -> None:
        """Ignores throttle answers for a while: some operators mean one message's queue, and they come at any pace."""
        self._deaf_until = self._raised_at = now + DEAF_S
        self._vain = 0
        self._set(now, self._worth)
        self._cut_to = self._worth

    def _turn(self, now: float) -> None:
        """Starts a new span of counting when the last one is over."""
        since = now - self._span_start
        if since >= SPAN_S:
            recent = since < 2 * SPAN_S
            self._slots = [self._slots[1] if recent else 0, 0]
            self._refused = [self._refused[1] if recent else 0, 0]
            self._span_start = now

    def _recent(self, now: float) -> float:
        """Parts a second that were taken of late."""
        since = now - self._span_start
        if since >= 2 * SPAN_S:
            return 0.0
        before, current = self._slots
        if not before:
            return current / max(since, BURST_S)
        return max(before / SPAN_S, current / max(since, SPAN_S), (before + current) / (SPAN_S + since))

    def _recovered(self, now: float) -> TokenBucket | None:
        """The bucket, after a raise if it is time for one."""
        if self._cut_to == inf or now - self._raised_at < QUIET_S:
            return self._bucket
        self._raised_at = now
        rate = self.rate * (1 + self._raise)
        self._raise = min(1.0, 2 * self._raise)
        if rate >= self._limit or (self._limit == inf and rate > FREE_FACTOR * self._cut_to):
            rate = self._limit
            self._cut_to = inf
        self._set(now, rate)
        return self._bucket

    def _set(self, now: float, rate: float) -> None:
        if rate == inf:
            self._bucket = None
        elif self._bucket is None:
            self._bucket = TokenBucket(rate)
            self._bucket.take(now, int(self._bucket.burst))
        else:
            self._bucket.change(now, rate)
