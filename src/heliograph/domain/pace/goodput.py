"""Goodput: parts a second that an operator took, of the parts written to it since its pace last changed."""

from typing import Final

SPAN_S: Final = 1.0
"""Least seconds of a measurement: operators count by the second, and let some parts through at once."""

SPAN_PARTS: Final = 10
"""Least parts of a measurement, unless it spans `LONG_SPANS` spans."""

LONG_SPANS: Final = 3
"""Spans after which `FEWEST_PARTS` are enough: a slow operator takes a part every second or two."""

FEWEST_PARTS: Final = 3
"""Least parts of any measurement: fewer are chance."""


class Goodput:
    """Counts the answers to parts written since a moment. Times are monotonic seconds of writes, not of answers."""

    __slots__ = ("_before_s", "_before_took", "_began", "_last", "_span_began", "_span_took", "refused", "took")

    def __init__(self, now: float = 0.0) -> None:
        self.begin(now)

    def begin(self, now: float) -> None:
        """Starts a new measurement. Answers to parts written before it must not be counted."""
        self._began = self._span_began = self._last = now
        self.took = self.refused = 0
        self._span_took = 0
        self._before_s = 0.0
        self._before_took = 0

    def take(self, written: float, n: int = 1) -> None:
        """Counts parts that the operator took."""
        self._last = max(self._last, written)
        self.took += n
        span_s = written - self._span_began
        if span_s >= SPAN_S and self._span_took >= SPAN_PARTS:
            self._before_s, self._before_took = span_s, self._span_took
            self._span_began, self._span_took = written, 0
        self._span_took += n

    def refuse(self, written: float) -> None:
        """Counts a part that the operator throttled."""
        self._last = max(self._last, written)
        self.refused += 1

    def leave_out(self, seconds: float) -> None:
        """Leaves out a time in which only a probe was in flight."""
        self._began += seconds
        self._span_began += seconds

    @property
    def answers(self) -> int:
        return self.took + self.refused

    @property
    def share_refused(self) -> float:
        return self.refused / max(1, self.answers)

    def is_used(self, rate: float) -> bool:
        """Returns whether the operator took as much as `rate` allows. An unused pace says nothing about its limit."""
        return self.took >= rate * (self._last - self._began)

    def rate(self) -> float | None:
        """Returns the parts a second taken in the last span or two, for example 48.3; None while too few are
        counted."""
        span_s, took = self._last - self._span_began, self._span_took
        if span_s < SPAN_S or took < SPAN_PARTS:
            span_s, took = span_s + self._before_s, took + self._before_took
        if span_s < SPAN_S or took < FEWEST_PARTS or (took < SPAN_PARTS and span_s < LONG_SPANS * SPAN_S):
            return None
        return took / span_s
