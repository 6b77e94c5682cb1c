"""Periods of reports that end now, and the steps of all periods in a time zone.

Counts are stored by minute, hour and day in UTC. A period of hours is cut into minutes or hours, which are equal in
almost all zones. A period of days is cut into days of the zone, on two conditions: days of the zone consist of whole
hours of UTC, and counts by the hour still exist. Otherwise it is cut into days of UTC.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from zoneinfo import ZoneInfo

from heliograph.domain.calendar import day_steps
from heliograph.domain.series import WIDTH_MS, Grain

HOUR_MS: Final = WIDTH_MS[Grain.HOUR]
DAY_MS: Final = WIDTH_MS[Grain.DAY]
MINUTE_MS: Final = WIDTH_MS[Grain.MINUTE]

UTC: Final = ZoneInfo("UTC")


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A period that ends with the present bucket of `coarse`. Times are in ms, for days of 24 hours."""

    name: str
    title: str
    length: int
    step: int
    """Time between two points."""
    fine: Grain
    """The grain of the points."""
    coarse: Grain
    """The grain of sums, codes and delays."""

    @property
    def delay_step(self) -> int:
        """The time (ms) between two points of delays."""
        return max(WIDTH_MS[self.coarse], self.step)


RANGES: Final = {
    "1h": TimeRange("1h", "Last hour", HOUR_MS, MINUTE_MS, Grain.MINUTE, Grain.MINUTE),
    "6h": TimeRange("6h", "Last 6 hours", 6 * HOUR_MS, 5 * MINUTE_MS, Grain.MINUTE, Grain.MINUTE),
    "24h": TimeRange("24h", "Last 24 hours", DAY_MS, 15 * MINUTE_MS, Grain.MINUTE, Grain.HOUR),
    "7d": TimeRange("7d", "Last 7 days", 7 * DAY_MS, HOUR_MS, Grain.HOUR, Grain.HOUR),
    "30d": TimeRange("30d", "Last 30 days", 30 * DAY_MS, 6 * HOUR_MS, Grain.HOUR, Grain.DAY),
    "90d": TimeRange("90d", "Last 90 days", 90 * DAY_MS, DAY_MS, Grain.DAY, Grain.DAY),
    "1y": TimeRange("1y", "Last year", 365 * DAY_MS, DAY_MS, Grain.DAY, Grain.DAY),
}


class TimeSteps:
    """Steps of time between successive `bounds` (ms). `zone` is the zone of their days."""

    __slots__ = ("bounds", "zone")

    def __init__(self, bounds: Sequence[int], zone: ZoneInfo) -> None:
        self.bounds = bounds
        self.zone = zone

    @property
    def start(self) -> int:
        return self.bounds[0]

    @property
    def end(self) -> int:
        return self.bounds[-1]

    def place(self, at: int) -> int:
        """Returns the number of the step that has this time."""
        return bisect_right(self.bounds, at) - 1

    def of_days(self) -> bool:
        """Returns True if each step consists of whole days of UTC."""
        return not any(at % DAY_MS for at in self.bounds)

    def of_hours(self) -> bool:
        """Returns True if each step consists of whole hours of UTC."""
        return not any(at % HOUR_MS for at in self.bounds)

    def grain(self, span: TimeRange) -> Grain:
        """Returns the grain of the cells that the points of a range are made of."""
        return Grain.HOUR if span.fine is Grain.DAY and not self.of_days() else span.fine

    def pieces(self, coarse: Grain) -> Iterator[tuple[Grain, int, int]]:
        """Yields pieces of the whole time as grain, start and end: buckets as wide as possible, so that there are few.
        The narrowest are hours, or minutes if `coarse` is."""
        return _pieces(self.start, self.end, [grain for grain in Grain if grain >= min(coarse, Grain.HOUR)])


def _pieces(start: int, end: int, grains: Sequence[Grain]) -> Iterator[tuple[Grain, int, int]]:
    *narrower, widest = grains
    width = WIDTH_MS[widest]
    first, last = -(-start // width) * width, end // width * width
    if first < last:
        if narrower:
            yield from _pieces(start, first, narrower)
        yield widest, first, last
        if narrower:
            yield from _pieces(last, end, narrower)
    elif narrower and start < end:
        yield from _pieces(start, end, narrower)


@dataclass(frozen=True, slots=True)
class RangeCut:
    """A period, cut into steps, and the period before."""

    steps: TimeSteps
    delays: TimeSteps
    before: TimeSteps
    """Steps of the period before."""
    note: str
    """A sentence with the reason why days are in UTC instead of the requested zone; else empty."""


def cut(span: TimeRange, now: int, zone: ZoneInfo, hours_days: float, at: int | None = None) -> RangeCut:
    """Cuts a period in a zone. Counts by the hour exist for `hours_days` days. Days end with the day of `at`, by
    default of `now`."""
    at = now if at is None else at
    if span.coarse is not Grain.DAY:
        width = max(WIDTH_MS[span.coarse], span.step)
        end = (now // width + 1) * width
        start = end - span.length
        return RangeCut(
            TimeSteps(range(start, end + 1, span.step), zone),
            TimeSteps(range(start, end + 1, span.delay_step), zone),
            TimeSteps(range(start - span.length, start + 1, span.step), zone),
            "",
        )
    days, parts = span.length // DAY_MS, DAY_MS // span.step
    hours_from = now - int(hours_days * DAY_MS)

    def holds(steps: TimeSteps) -> bool:
        return steps.zone is UTC or steps.of_days() or (steps.of_hours() and steps.start >= hours_from)

    steps = TimeSteps(day_steps(at, days, zone, parts=parts), zone)
    asked, note = steps, ""
    if not holds(steps):
        steps = TimeSteps(day_steps(at, days, UTC, parts=parts), UTC)
        note = f"Days are in UTC: {_why(asked, hours_days)}"
    before = TimeSteps(day_steps(at, days, steps.zone, parts=parts, back=days), steps.zone)
    if not holds(before):
        note = f"The {days} days before are in UTC: {_why(before, hours_days)}"
        before = TimeSteps(day_steps(steps.start + DAY_MS // 2, days, UTC, parts=parts, back=1), UTC)
    return RangeCut(steps, TimeSteps(steps.bounds[::parts], steps.zone), before, note)


def _why(steps: TimeSteps, hours_days: float) -> str:
    if not steps.of_hours():
        return f"days in {steps.zone.key} do not begin with an hour of UTC, but counts are by the hour."
    return f"days in {steps.zone.key} need counts by the hour, which are kept for {hours_days:g} days."
