"""Pauses after throttle answers: they double while the operator takes nothing, and end with one part that asks."""

from math import inf
from typing import Final

LONGEST_S: Final = 2.0
"""Seconds of the longest pause. An operator that counts by the minute takes nothing for most of one."""

LONGEST_FIRST_S: Final = 0.5

PROBE_LOST_S: Final = 10.0
"""Seconds after which a probe without an answer counts as lost with its link."""


class Pauses:
    """Holds back an operator's parts after it throttled some. Times are seconds of one clock."""

    __slots__ = ("_began", "_length", "_probe", "_probing", "_refused", "closed_at", "run", "until")

    def __init__(self) -> None:
        self._began = -inf
        self.until = -inf
        """Time before which nothing is written."""
        self._length = 0.0
        self._refused = -inf
        self._probing = False
        self._probe = -inf
        """Time at which the probe was written that has no answer yet."""
        self.run = 0
        """Pauses in a row between which nothing was taken."""
        self.closed_at = 0.0
        """Time at which the part was written that the first of them was for."""

    def holds_back(self, now: float) -> bool:
        """Whether nothing may be written now."""
        return now < self.until or (self._probing and now < self._probe + PROBE_LOST_S)

    def probe(self, now: float) -> None:
        """Notes that a single part is written that asks."""
        self._probe = now

    @property
    def probing(self) -> bool:
        return self._probing

    def ready_at(self) -> float:
        """The time before which `holds_back` says so."""
        return max(self.until, self._probe + PROBE_LOST_S) if self._probing else self.until

    def is_news(self, written: float) -> bool:
        """Whether a throttle answer to a part written then says more than the one that the last pause was for."""
        return written >= self._began

    def begin(self, now: float, written: float, least_s: float, interval_s: float, *, probe: bool) -> None:
        """Begins a pause of at least `least_s` for a part written then. `interval_s` is what lies between two parts;
        `probe`: one part alone ends it, as it does where nothing was taken since the pause before."""
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
        """Whether a part that was taken ends the pauses: it was written after the last one began, or, with parts that
        were written from `since` on, after the part that this was for, so that the operator did not take nothing."""
        return self.run > 0 and (written >= self._began or (written >= since and written > self._refused))

    def end(self, now: float, interval_s: float) -> bool:
        """Ends them, `interval_s` after the last one began at the earliest; returns whether a probe was waited for."""
        probed, self._probing = self._probing, False
        self.run = 0
        self.until = min(self.until, max(now, self._began + interval_s))
        return probed
