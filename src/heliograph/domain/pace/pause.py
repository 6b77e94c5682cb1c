"""Pauses after throttle answers: exponential backoff while the operator takes nothing, ended by a single part as a
probe."""

from math import inf
from typing import Final

LONGEST_S: Final = 2.0
"""Seconds of the longest pause. An operator that counts by the minute may take nothing for most of a minute."""

LONGEST_FIRST_S: Final = 0.5
"""Seconds of the first pause, at most, however slow the pace is."""

PROBE_LOST_S: Final = 10.0
"""Seconds after which a probe without an answer counts as lost with its link."""


class Pauses:
    """Pauses a connector after its operator throttled parts. Times are monotonic seconds."""

    __slots__ = ("_began", "_length", "_probe", "_probing", "_refused", "closed_at", "run", "until")

    def __init__(self) -> None:
        self._began = -inf
        self.until = -inf
        """Time before which nothing is written."""
        self._length = 0.0
        self._refused = -inf
        self._probing = False
        self._probe = -inf
        """Time at which the unanswered probe was written."""
        self.run = 0
        """Pauses in a row without a part taken in between."""
        self.closed_at = 0.0
        """Time at which the part was written that caused the first of these pauses."""

    def is_paused(self, now: float) -> bool:
        """Whether nothing may be written now."""
        return now < self.until or (self._probing and now < self._probe + PROBE_LOST_S)

    def probe(self, now: float) -> None:
        """Notes that the probe is written."""
        self._probe = now

    @property
    def probing(self) -> bool:
        """Whether a single part ends the pause."""
        return self._probing

    def ready_at(self) -> float:
        """Returns the time up to which `is_paused` is true."""
        return max(self.until, self._probe + PROBE_LOST_S) if self._probing else self.until

    def is_news(self, written: float) -> bool:
        """Returns whether a throttled part was written after the last pause began, so that it is not due to the same
        burst."""
        return written >= self._began

    def begin(self, now: float, written: float, least_s: float, interval_s: float, *, probe: bool) -> None:
        """Begins a pause of at least `least_s` for a part written at `written`.

        `interval_s` is the time between two parts at the pace. `probe` ends the pause with a single part, as happens
        anyway if nothing was taken since the pause before.
        """
        if not self.run:
            self.closed_at = written
            self._length = max(least_s, min(LONGEST_FIRST_S, interval_s))
        else:
            self._length = min(LONGEST_S, max(least_s, 2 * self._length))
        self._probing = probe or self.run > 0
        self._probe = -inf
        self.run += 1
        self._began, self._refused = now, written
        self.until = now + self._length

    def is_over(self, written: float, since: float) -> bool:
        """Returns whether a taken part ends the pauses: the operator took something after all.

        The part must have been written after the last pause began. A part written from `since` on must only have been
        written after the part that caused the pause.
        """
        return self.run > 0 and (written >= self._began or (written >= since and written > self._refused))

    def end(self, now: float, interval_s: float) -> bool:
        """Ends the pauses, at the earliest `interval_s` after the last pause began. Returns whether a probe was due."""
        probed, self._probing = self._probing, False
        self.run = 0
        self.until = min(self.until, max(now, self._began + interval_s))
        return probed
