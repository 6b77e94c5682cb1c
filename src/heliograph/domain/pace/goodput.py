"""Goodput: parts that an operator took of those that were written to it since its pace last changed."""

from typing import Final

SPAN_S: Final = 1.0
"""Seconds that a measurement spans at least: operators count by the second, and let some through at once."""

SPAN_PARTS: Final = 10
"""Parts that it counts at least, unless it spans `LONG_SPANS` spans."""

LONG_SPANS: Final = 3
FEWEST_PARTS: Final = 3


class Goodput:
    """Counts the answers to parts that were written from a moment on. Times are seconds of one clock, and are when a
    part was written, not when its answer came."""

    __slots__ = ("_before_s", "_before_took", "_began", "_last", "_span_began", "_span_took", "refused", "took")

    def __init__(self, now: float = 0.0) -> None:
        self.begin(now)

    def begin(self, now: float) -> None:
        """Forgets what was counted. Answers to parts written before must not be counted any more."""
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
        """Leaves out a time in which nothing was written but a probe whose answer was waited for."""
        self._began += seconds
        self._span_began += seconds

    @property
    def answers(self) -> int:
        return self.took + self.refused

    @property
    def share_refused(self) -> float:
        return self.refused / max(1, self.answers)

    def is_used(self, rate: float) -> bool:
        """Whether as much as `rate` allows was taken: nobody knows of an operator what nobody asked of it."""
        return self.took >= rate * (self._last - self._began)

    def rate(self) -> float | None:
        """Parts a second that were taken of late; None where too little is known."""
        span_s, took = self._last - self._span_began, self._span_took
        if span_s < SPAN_S or took < SPAN_PARTS:
            span_s, took = span_s + self._before_s, took + self._before_took
        if span_s < SPAN_S or took < FEWEST_PARTS or (took < SPAN_PARTS and span_s < LONG_SPANS * SPAN_S):
            return None
        return took / span_s
