"""Charts that the console's script draws: their figures as JSON, and as a table for screen readers."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from heliograph.app.resources.report_series import Points, SeriesReport, delay, delivery_share
from heliograph.app.resources.report_steps import DAY_MS
from heliograph.console.render import count, credits_text
from heliograph.domain.calendar import parse_utc
from heliograph.domain.display import duration
from heliograph.domain.money.amounts import MICRO
from heliograph.domain.series import Cell

Value = float | None

SECOND_MS = 1_000
SHORT_MS = 10_000


@dataclass(frozen=True, slots=True)
class ChartLine:
    """A line of a chart. `tone` is a colour of the stylesheet."""

    label: str
    values: Sequence[Value]
    tone: str
    fill: bool = False
    dash: bool = False
    bars: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart over time. `unit` is count, share, ms or credits, `zone` the one that times are told in; from the path
    `source` it is fetched anew."""

    title: str
    unit: str
    step: int
    zone: ZoneInfo
    times: Sequence[int]
    lines: Sequence[ChartLine]
    log: bool = False
    source: str = ""

    @property
    def data(self) -> dict[str, Any]:
        """The chart as the script reads it."""
        return {
            "unit": self.unit,
            "log": self.log,
            "step": self.step // SECOND_MS,
            "zone": self.zone.key,
            "x": [at // SECOND_MS for at in self.times],
            "series": [
                {
                    "label": line.label, "values": line.values, "tone": line.tone, "fill": line.fill,
                    "dash": line.dash, "bars": line.bars,
                }
                for line in self.lines
            ],
        }  # fmt: skip

    @property
    def json(self) -> str:
        return json.dumps(self.data, separators=(",", ":"))

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw, now or later."""
        return not self.source and not any(any(line.values) for line in self.lines)

    @property
    def columns(self) -> list[str]:
        return ["Time", *(line.label for line in self.lines)]

    @property
    def rows(self) -> list[list[str]]:
        """The table, newest first; steps in which nothing was counted are left out."""
        shown = _SHOWN[self.unit]
        rows = []
        for number, at in reversed(list(enumerate(self.times))):
            values = [line.values[number] if number < len(line.values) else None for line in self.lines]
            if any(values):
                when = datetime.fromtimestamp(at / 1000, self.zone).strftime(
                    "%Y-%m-%d" if self.step >= DAY_MS else "%Y-%m-%d %H:%M"
                )
                rows.append([when, *("–" if value is None else shown(value) for value in values)])
        return rows


def short_duration(ms: float) -> str:
    """`840 ms`, `12 s`, `3 min 2 s`."""
    return f"{ms:,.0f} ms" if ms < SHORT_MS else duration(ms)


def percent(share: float) -> str:
    """A share in percent with a decimal. Only all is 100 %, and only nothing is 0 %."""
    if 0.9995 <= share < 1:
        return "> 99.9%"
    return "< 0.1%" if 0 < share < 0.0005 else f"{share:.1%}"


def share_text(cell: Cell) -> str:
    """The delivery share, for people."""
    share = delivery_share(cell)
    return "–" if share is None else percent(share)


def late_text(sketch: dict[int, int]) -> str:
    """The delay that 95 of 100 do not exceed, for people."""
    found = delay(sketch, 0.95)
    return "–" if found is None else short_duration(found)


_SHOWN: dict[str, Callable[[float], str]] = {
    "count": count,
    "share": percent,
    "ms": short_duration,
    "credits": lambda value: credits_text(round(value * MICRO)),
}


def messages_chart(report: SeriesReport, title: str, *, compare: bool = False, source: str = "") -> Chart:
    """Accepted, delivered and failed messages by time."""
    lines = [
        ChartLine("Accepted", _counts(report.points, "accepted"), "accent", fill=True),
        ChartLine("Delivered", _counts(report.points, "delivered"), "good"),
        ChartLine("Failed", _counts(report.points, "failed"), "bad"),
    ]
    if any(cell.inbound for _, cell in report.points):
        lines.append(ChartLine("Inbound", _counts(report.points, "inbound"), "sun"))
    if compare:
        lines.append(ChartLine("Accepted before", _counts(_alike(report), "accepted"), "muted", dash=True))
    return Chart(title, "count", report.range.step, report.zone, [at for at, _ in report.points], lines, source=source)


def shares_chart(report: SeriesReport, *, compare: bool = False) -> Chart:
    """Delivery share by time."""
    lines = [ChartLine("Delivered", [delivery_share(cell) for _, cell in report.points], "good")]
    if compare:
        lines.append(ChartLine("Before", [delivery_share(cell) for _, cell in _alike(report)], "muted", dash=True))
    return Chart("Delivery share", "share", report.range.step, report.zone, [at for at, _ in report.points], lines)


def delays_chart(report: SeriesReport) -> Chart:
    """Delays by time, on a logarithmic scale."""
    lines = []
    for title, name, tone in (("To operator", "to_operator", "accent"), ("To receipt", "to_receipt", "sun")):
        for part, dash in ((0.5, True), (0.95, False)):
            values = [_above_0(delay(getattr(cell, name), part)) for _, cell in report.delays]
            lines.append(ChartLine(f"{title} p{round(part * 100)}", values, tone, dash=dash))
    return Chart("Delay", "ms", report.range.delay_step, report.zone, [at for at, _ in report.delays], lines, log=True)


def spend_chart(report: SeriesReport, *, compare: bool = False) -> Chart:
    """Spend by time."""
    lines = [ChartLine("Spend", [cell.spend / MICRO for _, cell in report.points], "accent", bars=True, fill=True)]
    if compare:
        before = [cell.spend / MICRO for _, cell in _alike(report)]
        lines.append(ChartLine("Before", before, "muted", dash=True))
    return Chart("Spend, credits", "credits", report.range.step, report.zone, [at for at, _ in report.points], lines)


def margin_chart(report: Mapping[str, Any]) -> Chart:
    """Revenue, cost and margin by time, from the margin report (JSON)."""
    points = report["points"]
    lines = [
        ChartLine(name.capitalize(), [float(point[name]) for point in points], tone, fill=name == "revenue")
        for name, tone in (("revenue", "accent"), ("cost", "bad"), ("margin", "good"))
    ]
    times = [parse_utc(point["time"]) for point in points]
    return Chart("Margin, credits", "credits", report["step_s"] * SECOND_MS, ZoneInfo("UTC"), times, lines)


def _counts(points: Points, name: str) -> list[Value]:
    return [getattr(cell, name) for _, cell in points]


def _alike(report: SeriesReport) -> Points:
    """The points before, as many as there are now."""
    return report.points_before[: len(report.points)]


def _above_0(value: int | None) -> Value:
    """A value that a logarithmic scale has a place for."""
    return None if value is None else max(value, 1)
