"""Reports as tables: for the terminal, for files of CSV, and for readers who do not see the charts."""

from collections.abc import Iterable
from typing import Final

from heliograph.app.admin.csv_lines import csv_line
from heliograph.app.admin.reports import Points, SeriesReport
from heliograph.domain.calendar import format_utc
from heliograph.domain.money import format_credits
from heliograph.domain.series import Cell
from heliograph.domain.sketch import Sketch, quantile

BY: Final = ("time", "account", "connector", "country", "code", "reason")
"""Kinds of rows that a table may have."""

COLUMNS: Final = (
    "accepted", "segments", "submitted", "delivered", "failed", "cancelled", "delivery_share", "inbound", "refused",
    "spend", "to_operator_p50_ms", "to_operator_p95_ms", "to_receipt_p50_ms", "to_receipt_p95_ms",
)  # fmt: skip
"""Columns behind the first one, but of tables by code and by reason."""

_COUNTS: Final = ("accepted", "segments", "submitted", "delivered", "failed", "cancelled")


def delivery_share(cell: Cell) -> float | None:
    """Returns the share of the messages that ended as delivered; None where none has ended."""
    return cell.delivered / cell.ended if cell.ended else None


def delay(sketch: Sketch, share: float) -> int | None:
    """Returns the delay (ms) that this share does not exceed; None where there is none."""
    found = quantile(sketch, share)
    return None if found is None else round(found)


def table(report: SeriesReport, by: str) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Returns the columns and the rows of the report by one of BY. What is not known is empty."""
    if by in ("code", "reason"):
        counts = report.total.failures if by == "code" else report.total.refusals
        ranked = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
        return (by, "failed" if by == "code" else "refused"), [(name, str(number)) for name, number in ranked]
    if by == "time":
        rows = [(format_utc(at), cell) for at, cell in _with_delays(report)]
    else:
        rows = list(
            {"account": report.accounts, "connector": report.connectors, "country": report.countries}[by].items()
        )
    return (by, *COLUMNS), [(name, *_row(cell)) for name, cell in rows]


def csv_of(report: SeriesReport, by: str) -> str:
    """Returns the table as CSV (RFC 4180), with a line of names."""
    columns, rows = table(report, by)
    return b"".join(csv_line(*row) for row in [columns, *rows]).decode()


def _with_delays(report: SeriesReport) -> Points:
    """Returns the points, with the delays of those that begin where a step of delays does."""
    delays = dict(report.delays)
    found: Points = []
    for at, point in report.points:
        cell = Cell(point.counts)
        known = delays.get(at)
        if known is not None:
            cell.to_operator, cell.to_receipt = known.to_operator, known.to_receipt
        found.append((at, cell))
    return found


def _row(cell: Cell) -> Iterable[str]:
    share = delivery_share(cell)
    yield from (str(getattr(cell, name)) for name in _COUNTS)
    yield "" if share is None else f"{share:.4f}"
    yield str(cell.inbound)
    yield str(cell.refused)
    yield format_credits(cell.spend)
    for sketch in (cell.to_operator, cell.to_receipt):
        for part in (0.5, 0.95):
            found = delay(sketch, part)
            yield "" if found is None else str(found)
