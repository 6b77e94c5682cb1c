"""Reports: series of a period in a time zone, by account, connector, country and network, with the period before."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from zoneinfo import ZoneInfo

from heliograph.app.ports.series import SeriesQuery
from heliograph.app.resources.desk import Desk, Invalid, NoSuch, account_id
from heliograph.app.resources.report_periods import read_period
from heliograph.app.resources.report_steps import RangeCut, TimeRange, TimeSteps, cut
from heliograph.domain import calendar
from heliograph.domain.series import Cell, CellKey, Grain
from heliograph.domain.sketch import Sketch, quantile

DEFAULT_RANGE: Final = "24h"
Points = list[tuple[int, Cell]]
"""Cells by the time at which their bucket begins, in order, without gaps."""


@dataclass(frozen=True, slots=True)
class ReportQuery:
    """A request for a report. Empty names match all."""

    range: str = DEFAULT_RANGE
    """A name of RANGES, such as `24h`, or a period that `read_period` reads, such as `last week`."""
    account: str = ""
    connector: str = ""
    country: str = ""
    """ISO 3166-1, such as `DE`."""
    network: str = ""
    """MCCMNC, such as `26201`."""
    zone: str = "UTC"
    """IANA time zone, such as `Europe/Berlin`."""


@dataclass(slots=True)
class SeriesReport:
    """Series of a period. Counts of the last five seconds may be missing."""

    range: TimeRange
    zone: ZoneInfo
    """The zone of days and of written times."""
    note: str
    """The reason why days are in UTC instead of the requested zone; else empty."""
    start: int
    """Milliseconds, included."""
    end: int
    """Milliseconds, excluded."""
    points: Points
    """Plain counts, up to now."""
    delays: Points
    """Delays, in steps of the coarse grain, up to now."""
    total: Cell
    before: Cell
    """Plain counts of the period before."""
    points_before: Points
    """Points of the period before."""
    accounts: dict[str, Cell] = field(default_factory=dict)
    """Cells by name, most messages first, as for connectors and countries. Messages without a name have the name ""."""
    connectors: dict[str, Cell] = field(default_factory=dict)
    countries: dict[str, Cell] = field(default_factory=dict)
    networks: dict[str, Cell] = field(default_factory=dict)
    """Cells by MCCMNC."""


def delivery_share(cell: Cell) -> float | None:
    """Returns the share of delivered messages among ended messages, or None if no message has ended."""
    return cell.delivered / cell.ended if cell.ended else None


def delay(sketch: Sketch, share: float) -> int | None:
    """Returns the delay (ms) that a share of messages did not exceed, such as 0.95, or None without messages."""
    found = quantile(sketch, share)
    return None if found is None else round(found)


class ViewReports:
    """Reads series."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._store = desk.store

    async def report(self, query: ReportQuery) -> SeriesReport:
        """Raises Invalid and NoSuch, and the store's Unavailable."""
        span, parts, wanted = await self._wanted(query)
        report = self._begin(span, parts)
        points = await self._points(span, parts.steps, wanted)
        report.points = _up_to(points, self._desk.now)
        report.points_before = await self._points(span, parts.before, wanted)
        report.before = _sum(report.points_before)
        await self._break_down(report, parts, wanted)
        return report

    async def points(self, query: ReportQuery) -> SeriesReport:
        """Returns a report of plain counts by time alone, which reads little. Raises as `report` does."""
        span, parts, wanted = await self._wanted(query)
        report = self._begin(span, parts)
        points = await self._points(span, parts.steps, wanted)
        report.points = _up_to(points, self._desk.now)
        report.total = _sum(points)
        return report

    def _begin(self, span: TimeRange, parts: RangeCut) -> SeriesReport:
        steps = parts.steps
        return SeriesReport(span, steps.zone, parts.note, steps.start, steps.end, [], [], Cell(), Cell(), [])

    async def _points(self, span: TimeRange, steps: TimeSteps, wanted: SeriesQuery) -> Points:
        query = replace(wanted, grain=steps.grain(span), start=steps.start, end=steps.end)
        return _stepped(await self._store.series.points(query), steps)

    async def _wanted(self, query: ReportQuery) -> tuple[TimeRange, RangeCut, SeriesQuery]:
        try:
            zone = calendar.zone(query.zone)
        except ValueError as problem:
            raise Invalid("zone", str(problem)) from None
        try:
            span, at = read_period(query.range, self._desk.now, zone, self._desk.hours_days)
        except ValueError as problem:
            raise Invalid("range", str(problem)) from None
        account = connector = None
        if query.account:
            account = await account_id(self._store, query.account)
        if query.connector:
            connector = {name: number for number, name in (await self._desk.known_connectors()).items()}.get(
                query.connector
            )
            if connector is None:
                raise NoSuch("connector", query.connector)
        if query.country and not (len(query.country) == 2 and query.country.isalpha() and query.country.isascii()):
            raise Invalid("country", "give two letters, such as DE")
        country = query.country.upper() or None
        parts = cut(span, self._desk.now, zone, self._desk.hours_days, at)
        start, end = parts.steps.start, parts.steps.end
        network = query.network or None
        return span, parts, SeriesQuery(span.fine, start, end, account, connector, country, network)

    async def _break_down(self, report: SeriesReport, parts: RangeCut, wanted: SeriesQuery) -> None:
        series = self._store.series
        accounts = await self._desk.account_names()
        connectors = await self._desk.known_connectors()
        coarse = report.range.coarse

        def groups(key: CellKey, cell: Cell) -> list[Cell]:
            return [
                report.accounts.setdefault(_name(accounts, key.account), Cell()),
                report.connectors.setdefault(_connector_name(connectors, key.connector, cell), Cell()),
                report.countries.setdefault(key.country, Cell()),
                report.networks.setdefault(key.network, Cell()),
            ]

        cells: dict[CellKey, Cell] = {}
        for grain, start, end in parts.steps.pieces(coarse):
            query = replace(wanted, grain=grain, start=start, end=end)
            for key, cell in (*await series.totals(query), *await series.sums(query)):
                cells.setdefault(key, Cell()).add(cell)
        for key, cell in cells.items():
            for group in (*groups(key, cell), report.total):
                group.add(cell)
        grain = coarse if parts.delays.of_days() else min(coarse, Grain.HOUR)
        query = replace(wanted, grain=grain, start=parts.delays.start, end=parts.delays.end)
        delays = zip(parts.delays.bounds, await series.delays(query, parts.delays.bounds), strict=False)
        report.delays = _up_to(list(delays), self._desk.now)
        report.accounts = _ranked(report.accounts)
        report.connectors = _ranked(report.connectors)
        report.countries = _ranked(report.countries)
        report.networks = _ranked(report.networks)


def _name(names: Mapping[int, str], number: int) -> str:
    return names.get(number, f"#{number}") if number else ""


def _connector_name(names: Mapping[int, str], number: int, cell: Cell) -> str:
    """Returns the name of a connector. Messages of 0 went to the simulated operator of a development run, while refused
    requests have none."""
    return names.get(0, "") if number == 0 and cell.any_messages else _name(names, number)


def _stepped(cells: Points, steps: TimeSteps) -> Points:
    """Returns a cell for each step, with the sums of the cells that begin within it."""
    stepped: Points = [(at, Cell()) for at in steps.bounds[:-1]]
    for at, cell in cells:
        stepped[steps.place(at)][1].add(cell)
    return stepped


def _up_to(points: Points, now: int) -> Points:
    return [each for each in points if each[0] <= now]


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
