"""Reports: series of a range of time, in all, by account, connector and country, and compared with the range before."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from heliograph.app.admin.fields import Invalid
from heliograph.app.admin.manage import NoSuch, account_id
from heliograph.app.ports import Clock, Store
from heliograph.app.ports.series import SeriesQuery
from heliograph.domain.series import WIDTH_MS, Cell, Grain

HOUR_MS: Final = WIDTH_MS[Grain.HOUR]
DAY_MS: Final = WIDTH_MS[Grain.DAY]
MINUTE_MS: Final = WIDTH_MS[Grain.MINUTE]


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A range of time that ends now. `step` is between two points, which are made of cells of `fine`; sums, codes and
    delays are made of cells of `coarse`. The end is the end of a coarse bucket. All in ms."""

    name: str
    title: str
    length: int
    step: int
    fine: Grain
    coarse: Grain


RANGES: Final = {
    "1h": TimeRange("1h", "Last hour", HOUR_MS, MINUTE_MS, Grain.MINUTE, Grain.MINUTE),
    "6h": TimeRange("6h", "Last 6 hours", 6 * HOUR_MS, 5 * MINUTE_MS, Grain.MINUTE, Grain.MINUTE),
    "24h": TimeRange("24h", "Last 24 hours", DAY_MS, 15 * MINUTE_MS, Grain.MINUTE, Grain.HOUR),
    "7d": TimeRange("7d", "Last 7 days", 7 * DAY_MS, HOUR_MS, Grain.HOUR, Grain.HOUR),
    "30d": TimeRange("30d", "Last 30 days", 30 * DAY_MS, 6 * HOUR_MS, Grain.HOUR, Grain.DAY),
    "90d": TimeRange("90d", "Last 90 days", 90 * DAY_MS, DAY_MS, Grain.DAY, Grain.DAY),
    "1y": TimeRange("1y", "Last year", 365 * DAY_MS, DAY_MS, Grain.DAY, Grain.DAY),
}

DEFAULT_RANGE: Final = "24h"

Points = list[tuple[int, Cell]]
"""Cells by the time at which their bucket begins, in order, without gaps."""


@dataclass(frozen=True, slots=True)
class ReportQuery:
    """A range of RANGES and names; empty ones match all."""

    range: str = DEFAULT_RANGE
    account: str = ""
    connector: str = ""
    country: str = ""


@dataclass(slots=True)
class SeriesReport:
    """Series of the range from `start` on and before `end`, in ms. What was counted in the last seconds may be
    missing."""

    range: TimeRange
    start: int
    end: int
    points: Points
    """Plain counts, to now."""
    delays: Points
    """Delays, in steps of the coarse grain, to now."""
    total: Cell
    before: Cell
    """Plain counts of the range of the same length before this one."""
    points_before: Points
    """The points of that range."""
    accounts: dict[str, Cell] = field(default_factory=dict)
    """By name, those with the most messages first; so are connectors and countries. An empty name is for what has
    none."""
    connectors: dict[str, Cell] = field(default_factory=dict)
    countries: dict[str, Cell] = field(default_factory=dict)


class ViewReports:
    """Reads series."""

    def __init__(self, store: Store, clock: Clock, names: Mapping[int, str] | None = None) -> None:
        """`names` are those of connectors that are not in the store."""
        self._store = store
        self._clock = clock
        self._names = names or {}

    async def report(self, query: ReportQuery) -> SeriesReport:
        """Raises Invalid and NoSuch, and the store's Unavailable."""
        span, wanted = await self._wanted(query)
        series, now = self._store.series, self._clock.now()
        start, end = wanted.start, wanted.end
        coarse = SeriesQuery(span.coarse, start, end, wanted.account, wanted.connector, wanted.country)
        earlier = SeriesQuery(span.fine, start - span.length, start, wanted.account, wanted.connector, wanted.country)
        points = _stepped(await series.points(wanted), start, end, span.step)
        points_before = _stepped(await series.points(earlier), start - span.length, start, span.step)
        report = SeriesReport(
            range=span,
            start=start,
            end=end,
            points=[each for each in points if each[0] <= now],
            delays=[],
            total=_sum(points),
            before=_sum(points_before),
            points_before=points_before,
        )
        await self._break_down(report, coarse, now)
        return report

    async def points(self, query: ReportQuery) -> SeriesReport:
        """Returns a report of plain counts by time alone, which reads little. Raises as `report` does."""
        span, wanted = await self._wanted(query)
        points = _stepped(await self._store.series.points(wanted), wanted.start, wanted.end, span.step)
        now = self._clock.now()
        shown = [each for each in points if each[0] <= now]
        return SeriesReport(span, wanted.start, wanted.end, shown, [], _sum(points), Cell(), [])

    async def _wanted(self, query: ReportQuery) -> tuple[TimeRange, SeriesQuery]:
        span = RANGES.get(query.range)
        if span is None:
            raise Invalid("range", f"{query.range!r} is none; there are {', '.join(RANGES)}")
        account = connector = None
        if query.account:
            account = await account_id(self._store, query.account)
        if query.connector:
            connector = {name: number for number, name in (await self._connectors()).items()}.get(query.connector)
            if connector is None:
                raise NoSuch("connector", query.connector)
        if query.country and not (len(query.country) == 2 and query.country.isalpha() and query.country.isascii()):
            raise Invalid("country", "give two letters, such as DE")
        width = max(WIDTH_MS[span.coarse], span.step)
        end = (self._clock.now() // width + 1) * width
        country = query.country.upper() or None
        return span, SeriesQuery(span.fine, end - span.length, end, account, connector, country)

    async def _connectors(self) -> dict[int, str]:
        return {**self._names, **{each.id: each.name for each in (await self._store.network.tables()).connectors}}

    async def _break_down(self, report: SeriesReport, query: SeriesQuery, now: int) -> None:
        series = self._store.series
        accounts = {each.id: each.name for each, _ in await self._store.accounts.all()}
        connectors = await self._connectors()
        delays: dict[int, Cell] = {}

        def parts(account: int, connector: int, country: str) -> list[Cell]:
            return [
                report.accounts.setdefault(_name(accounts, account), Cell()),
                report.connectors.setdefault(_name(connectors, connector), Cell()),
                report.countries.setdefault(country, Cell()),
            ]

        for key, cell in await series.totals(query):
            for part in parts(*key):
                part.add(cell)
        for each in await series.details(query):
            for part in (*parts(*each.key), report.total, delays.setdefault(each.start, Cell())):
                part.add(each.cell)
        width = WIDTH_MS[query.grain]
        stepped = _stepped(sorted(delays.items()), report.start, report.end, max(width, report.range.step))
        report.delays = [each for each in stepped if each[0] <= now]
        report.accounts = _ranked(report.accounts)
        report.connectors = _ranked(report.connectors)
        report.countries = _ranked(report.countries)


def _name(names: Mapping[int, str], number: int) -> str:
    return names.get(number, f"#{number}") if number else ""


def _stepped(cells: Points, start: int, end: int, step: int) -> Points:
    """Returns a cell for each step from start to end, with the sums of the cells that begin within it."""
    steps: Points = [(at, Cell()) for at in range(start, end, step)]
    for at, cell in cells:
        steps[(at - start) // step][1].add(cell)
    return steps


def _sum(points: Points) -> Cell:
    total = Cell()
    for _, cell in points:
        total.add(cell)
    return total


def _ranked(parts: dict[str, Cell]) -> dict[str, Cell]:
    """Returns the parts that have the most messages first."""
    return dict(
        sorted(
            parts.items(),
            key=lambda part: (-(part[1].accepted + part[1].inbound), -part[1].ended, -part[1].refused, part[0]),
        )
    )
