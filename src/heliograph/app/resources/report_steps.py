"""Ranges of time of reports, and how they are cut into steps in a time zone.

Counts are kept by minutes, hours and days of UTC. A range of some hours is cut into minutes or hours, which are the
same in every zone, but for those whose hours begin at another minute. A range of days is cut into days of a zone where
these are made of whole hours and the hours are still kept, and into days of UTC otherwise.
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
    """A range of time that ends now. `step` is between two points, which are made of cells of `fine`; sums, codes and
    delays are made of cells of `coarse`. The end is the end of a coarse bucket. All in ms, as on a day of 24 hours."""

    name: str
    title: str
    length: int
    step: int
    fine: Grain
    coarse: Grain

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
    """Steps of time, each from one of `bounds` to the next (ms); `zone` is the one whose days they are made of."""

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
        """Whether each of them is made of whole days of UTC."""
        return not any(at % DAY_MS for at in self.bounds)

    def of_hours(self) -> bool:
        """Whether each of them is made of whole hours of UTC."""
        return not any(at % HOUR_MS for at in self.bounds)

    def grain(self, span: TimeRange) -> Grain:
        """Returns the grain of the cells that the points of a range are made of."""
        return Grain.HOUR if span.fine is Grain.DAY and not self.of_days() else span.fine

    def pieces(self, coarse: Grain) -> Iterator[tuple[Grain, int, int]]:
        """Yields what all of the time is made of, by grain, start and end: coarse buckets, and at both ends hours where
        it begins or ends within such a one."""
        width = WIDTH_MS[coarse]
        first, last = -(-self.start // width) * width, self.end // width * width
        for grain, start, end in (
            (Grain.HOUR, self.start, first), (coarse, first, last), (Grain.HOUR, last, self.end),
        ):  # fmt: skip
            if start < end:
                yield grain, start, end

    def moved(self) -> tuple[int, int] | None:
        """Returns the hours of a day of UTC (ms after its midnight, from and until) which may belong to another step
        than its middle, where steps are days; None where there are none."""
        after = {at % DAY_MS for at in self.bounds} - {0}
        if not after:
            return None
        late = [at for at in after if at > DAY_MS // 2]
        early = [at for at in after if at <= DAY_MS // 2]
        return 0 if early else min(late), DAY_MS if late else max(early)


@dataclass(frozen=True, slots=True)
class RangeCut:
    """A range, cut into steps up to now, and the range of the same length before it.

    `note` says, in a sentence, where days are those of UTC though another zone was asked for; else it is empty.
    """

    steps: TimeSteps
    delays: TimeSteps
    before: TimeSteps
    note: str


def cut(span: TimeRange, now: int, zone: ZoneInfo, hours_days: float) -> RangeCut:
    """Cuts a range in a zone. `hours_days` is for how many days hours are kept."""
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

    steps = TimeSteps(day_steps(now, days, zone, parts=parts), zone)
    asked, note = steps, ""
    if not holds(steps):
        steps = TimeSteps(day_steps(now, days, UTC, parts=parts), UTC)
        note = f"Days are those of UTC: {_why(asked, hours_days)}"
    before = TimeSteps(day_steps(now, days, steps.zone, parts=parts, back=days), steps.zone)
    if not holds(before):
        note = f"The {days} days before are those of UTC: {_why(before, hours_days)}"
        before = TimeSteps(day_steps(steps.start + DAY_MS // 2, days, UTC, parts=parts, back=1), UTC)
    return RangeCut(steps, TimeSteps(steps.bounds[::parts], steps.zone), before, note)


def _why(steps: TimeSteps, hours_days: float) -> str:
    if not steps.of_hours():
        return f"those of {steps.zone.key} do not begin with an hour of UTC, and counts are kept by the hour."
    return f"those of {steps.zone.key} are made of hours, which are kept for {hours_days:g} days."
