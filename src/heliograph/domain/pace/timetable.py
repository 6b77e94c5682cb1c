"""Timetables: the rate for each time of the week, such as 100 a second by day and 300 by night.

Times are local times of the zone. A local time that daylight saving skips does not occur on that day; a local time that
occurs twice has its rate twice.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Final
from zoneinfo import ZoneInfo

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DAY_S: Final = 86_400
WEEK_S: Final = 7 * DAY_S

OFF: Final = "off"
"""The rate of a span in which nothing is sent."""

_FORM: Final = "write `08:00-20:00 100`, `mon-fri 08:00-20:00 100` or `sat-sun off`"
_DAYS = re.compile(r"([a-z]{3})(?:-([a-z]{3}))?").fullmatch
_TIMES = re.compile(r"([0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?)-([0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?)").fullmatch
_RATE = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?").fullmatch

_MONDAY_S: Final = 4 * DAY_S
"""The first Monday after the epoch, which was a Thursday."""

_AHEAD_S: Final = 15 * DAY_S
"""Seconds within which each time of the week occurs, even if a change of clocks skips it once."""


@dataclass(frozen=True, slots=True)
class RateSpan:
    """A span of every week, in seconds from Monday's midnight, `end` excluded."""

    begin: int
    end: int
    rate: float | None
    """Parts a second; 0 is no limit, None sends nothing."""


@dataclass(frozen=True, slots=True)
class HeldRate:
    """The rate at a moment."""

    rate: float | None
    """Parts a second; 0 is no limit, None sends nothing."""
    until: int | None = None
    """Time at which the next rate holds, in ms since the epoch; None if the rate stays."""


class Timetable:
    """Returns the rate at a moment, from spans of the week in a zone."""

    __slots__ = ("_begins", "_spans", "_zone")

    def __init__(self, spans: tuple[RateSpan, ...], zone: ZoneInfo) -> None:
        """`spans`: the result of `parse_spans`."""
        self._spans = spans
        self._zone = zone
        edges = {edge % WEEK_S for span in spans for edge in (span.begin, span.end)}
        self._begins = sorted(edges | {0})

    def held(self, now: int, otherwise: float) -> HeldRate:
        """Returns the rate at `now` (ms since the epoch); `otherwise` outside of all spans."""
        begin = second = now // 1000
        rate = self._rate(second, otherwise)
        while second < begin + _AHEAD_S:
            second = self._next(second)
            if self._rate(second, otherwise) != rate:
                return HeldRate(rate, second * 1000)
        return HeldRate(rate)

    def _rate(self, second: int, otherwise: float) -> float | None:
        time = _of_week(second + self._offset(second))
        for span in self._spans:
            if span.begin <= time < span.end:
                return span.rate
        return otherwise

    def _next(self, second: int) -> int:
        """The next second at which the rate may change: the edge of a span, or a change of the zone's offset."""
        offset = self._offset(second)
        time = _of_week(second + offset)
        index = bisect_right(self._begins, time)
        edge = self._begins[index] if index < len(self._begins) else WEEK_S
        after = second + min(edge - time, DAY_S)
        if self._offset(after) == offset:
            return after
        before = second
        while after - before > 1:  # bisects the change of clocks
            middle = (before + after) // 2
            if self._offset(middle) == offset:
                before = middle
            else:
                after = middle
        return after

    def _offset(self, second: int) -> int:
        offset = datetime.fromtimestamp(second, self._zone).utcoffset()
        assert offset is not None
        return offset.days * DAY_S + offset.seconds


def parse_spans(text: str, most: float) -> tuple[RateSpan, ...]:
    """Reads `mon-fri 08:00-20:00 100, 20:00-08:00 300, sun off`: days, times or both, and parts a second up to `most`.
    A span whose end is not after its begin ends on the next day. Raises ValueError, with a sentence for people."""
    entries = [" ".join(entry.lower().split()) for entry in text.split(",") if entry.strip()]
    found = [(span, entry) for entry in entries for span in _read(entry, most)]
    found.sort(key=lambda pair: (pair[0].begin, pair[0].end))
    for (one, entry), (other, another) in pairwise(found):
        if other.begin < one.end:
            raise ValueError(
                f"`{entry}` and `{another}` overlap on {_named(other.begin)}; end one where the other begins"
            )
    return tuple(span for span, _ in found)


def _read(entry: str, most: float) -> Iterator[RateSpan]:
    *when, rate_text = entry.split(" ")
    rate = _parse_rate(entry, rate_text, most)
    days = _DAYS(when[0]) if when else None
    first, last = 0, 6
    if days is not None:
        first, last = (_day(entry, name) for name in (days[1], days[2] or days[1]))
        del when[0]
    times = _TIMES(when[0]) if when else None
    if len(when) > 1 or (times is None and (when or days is None)):
        raise ValueError(f"`{entry}` cannot be read; {_FORM}")
    begin, end = (0, DAY_S) if times is None else (_time(entry, times[1]), _time(entry, times[2]))
    if begin in (end, DAY_S):
        raise ValueError(f"`{entry}` has no length; a whole day is 00:00-24:00")
    for day in range(first, first + (last - first) % 7 + 1):
        start = day % 7 * DAY_S + begin
        stop = start + (end - begin if begin < end else end - begin + DAY_S)
        yield RateSpan(start, min(stop, WEEK_S), rate)
        if stop > WEEK_S:
            yield RateSpan(0, stop - WEEK_S, rate)


def _parse_rate(entry: str, text: str, most: float) -> float | None:
    if text == OFF:
        return None
    if _RATE(text) is None or float(text) > most:
        raise ValueError(
            f"`{entry}` does not end with parts a second, from 0 (no limit) to {most:.0f}, or `{OFF}`; {_FORM}"
        )
    return float(text)


def _day(entry: str, name: str) -> int:
    if name not in DAYS:
        raise ValueError(f"`{entry}`: {name} is no day; there are {', '.join(DAYS)}")
    return DAYS.index(name)


def _time(entry: str, text: str) -> int:
    hour, minute, second = [*map(int, text.split(":")), 0][:3]
    seconds = hour * 3600 + minute * 60 + second
    if minute > 59 or second > 59 or seconds > DAY_S:
        raise ValueError(f"`{entry}`: {text} is no time of day; take 00:00 to 24:00")
    return seconds


def _of_week(local: int) -> int:
    return (local - _MONDAY_S) % WEEK_S


def _named(time: int) -> str:
    minute, second = divmod(time % DAY_S, 60)
    return f"{DAYS[time // DAY_S]} {minute // 60:02}:{minute % 60:02}" + (f":{second:02}" if second else "")
