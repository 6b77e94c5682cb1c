"""Reports for the admin API, and their tables for terminals and CSV files."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from heliograph.app.records import Scope
from heliograph.app.resources.description import Operation, Resource, Scopes
from heliograph.app.resources.desk import Desk
from heliograph.app.resources.fields import Credits, Decimal, Field, Item, Reference, Rows, Text, Whole
from heliograph.app.resources.report_margin import MARGIN
from heliograph.app.resources.report_periods import FORMS
from heliograph.app.resources.report_series import (
    DEFAULT_RANGE,
    ReportQuery,
    SeriesReport,
    ViewReports,
    delay,
    delivery_share,
)
from heliograph.domain.calendar import format_offset
from heliograph.domain.csv_lines import csv_line
from heliograph.domain.series import COUNTS, Cell
from heliograph.domain.sketch import Sketch

PERCENTILES: Final = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}

BY: Final = ("time", "account", "connector", "country", "network", "code", "reason")
"""Kinds of rows that a table of a report may have."""

COLUMNS: Final = (
    "accepted", "segments", "submitted", "delivered", "failed", "cancelled", "delivery_share", "inbound", "refused",
    "spend", "to_operator_p50_ms", "to_operator_p95_ms", "to_receipt_p50_ms", "to_receipt_p95_ms",
)  # fmt: skip
"""Columns of tables after the first column. Tables by code and by reason have other columns."""


async def report(desk: Desk, **asked: str) -> dict[str, Any]:
    return row(await ViewReports(desk).report(ReportQuery(**asked)))


def row(found: SeriesReport) -> dict[str, Any]:
    """Returns the fields of a report."""
    total, zone = found.total, found.zone

    def points(of: Sequence[tuple[int, Cell]]) -> list[dict[str, Any]]:
        return [{**_counts(cell), "time": format_offset(at, zone)} for at, cell in of]

    return {
        "range": found.range.name,
        "title": found.range.title,
        "zone": zone.key,
        "note": found.note,
        "start": format_offset(found.start, zone),
        "end": format_offset(found.end, zone),
        "step_s": found.range.step // 1000,
        "total": _counts(total),
        "before": _counts(found.before),
        **_delays(total),
        "points": points(found.points),
        "points_before": points(found.points_before),
        "delays": [{"time": format_offset(at, zone), **_delays(cell)} for at, cell in found.delays],
        "accounts": _parts(found.accounts),
        "connectors": _parts(found.connectors),
        "countries": _parts(found.countries),
        "networks": _parts(found.networks),
        "failures": _codes(total.failures),
        "refusals": _codes(total.refusals),
    }


def _counts(cell: Cell) -> dict[str, Any]:
    plain = {name: getattr(cell, name) for name in _SHOWN}
    return plain | {"delivery_share": delivery_share(cell)}


def _delays(cell: Cell) -> dict[str, Any]:
    def of(sketch: Sketch) -> dict[str, int | None]:
        return {name: delay(sketch, share) for name, share in PERCENTILES.items()}

    return {"to_operator": of(cell.to_operator), "to_receipt": of(cell.to_receipt)}


def _parts(parts: Mapping[str, Cell]) -> list[dict[str, Any]]:
    return [{**_counts(cell), "name": name, **_delays(cell)} for name, cell in parts.items()]


def _codes(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    ranked = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return [{"code": code, "count": number} for code, number in ranked]


# --- tables


def table(report: Mapping[str, Any], by: str) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Returns the columns and the rows of a report (JSON), for `by` in BY. Unknown values are empty."""
    if by in ("code", "reason"):
        codes = report["failures" if by == "code" else "refusals"]
        return (by, "failed" if by == "code" else "refused"), [(each["code"], str(each["count"])) for each in codes]
    if by == "time":
        # delays have longer steps than counts
        delays = {each["time"]: each for each in report["delays"]}
        return (by, *COLUMNS), [(each["time"], *_cells(each, delays.get(each["time"]))) for each in report["points"]]
    parts = report[
        {"account": "accounts", "connector": "connectors", "country": "countries", "network": "networks"}[by]
    ]
    return (by, *COLUMNS), [(each["name"], *_cells(each, each)) for each in parts]


def csv_of(report: Mapping[str, Any], by: str) -> str:
    """Returns the table as CSV (RFC 4180), with a line of names."""
    columns, rows = table(report, by)
    return b"".join(csv_line(*row) for row in [columns, *rows]).decode()


def _cells(counts: Mapping[str, Any], delays: Mapping[str, Any] | None) -> Iterator[str]:
    for name in COLUMNS[:10]:
        value = counts[name]
        yield "" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)
    for column in COLUMNS[10:]:
        way, percentile, _ = column.rsplit("_", 2)
        value = None if delays is None else delays[way][percentile]
        yield "" if value is None else str(value)


_DELAY = tuple(
    Field(name, Whole(), f"Milliseconds that {name[1:]} % did not exceed, accurate to 1/32; or null.", nullable=True)
    for name in PERCENTILES
)
_TO_OPERATOR = Field(
    "to_operator", Item(_DELAY, "Delay"), "Time from when a message was due until the operator accepted it."
)
_TO_RECEIPT = Field("to_receipt", Item(_DELAY, "Delay"), "Time from then until it was reported as delivered.")
_COUNTS = (
    Field("accepted", Whole(), "Accepted messages."),
    Field("segments", Whole(), "Segments of the accepted messages."),
    Field("submitted", Whole(), "Messages with at least the first part accepted by an operator."),
    Field("delivered", Whole(), "Messages reported as delivered."),
    Field("failed", Whole(), "Messages with another final state, without cancelled messages."),
    Field("cancelled", Whole(), "Messages that were cancelled."),
    Field("inbound", Whole(), "Messages from phones."),
    Field("refused", Whole(), "Requests that got an error."),
    Field("spend", Credits(), "Credits charged, minus refunds."),
    Field("delivery_share", Decimal(1), "Delivered messages of all ended messages; null: none ended.", nullable=True),
)
_SHOWN = tuple(each.name for each in _COUNTS if each.name in COUNTS)
_TIME = Field(
    "time", Text(), "Start of the step: ISO 8601, in the report's time zone.", example="2027-01-15T00:00:00+01:00"
)
_POINT = (*_COUNTS, _TIME)
_PART = (
    *_COUNTS,
    Field(
        "name",
        Text(),
        "A name, a country by ISO 3166-1, or a network by MCCMNC; empty: messages without it.",
        example="acme",
    ),
    _TO_OPERATOR,
    _TO_RECEIPT,
)
_CODE = (
    Field("code", Text(), "State and the operator's code, or the reason of refusals.", example="UNDELIV 001"),
    Field("count", Whole(), "Number of messages, or requests."),
)

REPORTS = Resource(
    name="report",
    plural="reports",
    summary="Counts of messages, delivery share, spend and delays",
    more="",
    nothing="There are no figures.",
    key=(),
    fields=_COUNTS,
    scopes=Scopes(Scope.READ_REPORTS, Scope.READ_REPORTS),
    operations=(
        Operation(
            "show",
            "GET /reports",
            report,
            "Counts of messages, delivery share, spend and delays",
            reads=(
                Field("range", Text(), f"The period: {FORMS}.", DEFAULT_RANGE, example="last week"),
                Field("account", Reference("account", optional=True), "Only messages of this account.", ""),
                Field("connector", Text(), "Only messages over this connector.", ""),
                Field(
                    "country", Text(pattern="[A-Za-z]{2}"), "Only messages to and from this country, such as DE.", ""
                ),
                Field("network", Text(), "Only messages to this network (MCCMNC), such as 26201.", ""),
                Field(
                    "zone",
                    Text(),
                    "Time zone of days and times, such as Europe/Berlin.",
                    "UTC",
                    example="Europe/Berlin",
                ),
            ),
            answers=(
                Field("range", Text(), "The period, as it was given.", example="last week"),
                Field("title", Text(), "The period in words.", example="4 January 2027 to 10 January 2027"),
                Field("zone", Text(), "IANA time zone of the days in the report.", example="Europe/Berlin"),
                Field(
                    "note",
                    Text(),
                    "The reason why days are in UTC instead of the requested zone; else empty.",
                    example="Days are kept in Europe/Berlin only.",
                ),
                Field("start", Text(), "ISO 8601, in the report's time zone.", example="2027-01-01T00:00:00+01:00"),
                Field("end", Text(), "ISO 8601, in the report's time zone.", example="2027-02-01T00:00:00+01:00"),
                Field("step_s", Whole(), "Seconds between two points; other steps on days with a clock change."),
                Field("total", Item(_COUNTS, "Counts"), "Counts of the whole period."),
                Field("before", Item(_COUNTS, "Counts"), "Counts of the period before."),
                _TO_OPERATOR,
                _TO_RECEIPT,
                Field("points", Rows(_POINT, "Point"), "Counts of each step of time."),
                Field("points_before", Rows(_POINT, "Point"), "Counts of each step of the period before."),
                Field("delays", Rows((_TIME, _TO_OPERATOR, _TO_RECEIPT), "DelayPoint"), "Delays by time."),
                Field("accounts", Rows(_PART, "Part"), "Accounts, most messages first."),
                Field("connectors", Rows(_PART, "Part"), "Connectors, most messages first."),
                Field("countries", Rows(_PART, "Part"), "Countries, most messages first."),
                Field("networks", Rows(_PART, "Part"), "Networks by MCCMNC, most messages first."),
                Field("failures", Rows(_CODE, "Code"), "Failed messages by state and code, most frequent first."),
                Field("refusals", Rows(_CODE, "Code"), "Refused requests by reason, most frequent first."),
            ),
            answer_name="Report",
            id="get_report",
            is_found=True,
        ),
        MARGIN,
    ),
)
"""`heliograph report` is its command."""
