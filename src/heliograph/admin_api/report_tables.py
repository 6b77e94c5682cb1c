"""Reports as tables: for the terminal, and for files of CSV."""

from collections.abc import Iterator, Sequence
from typing import Final

from heliograph.admin_api.report_shapes import CountsShape, DelayShape, ReportShape
from heliograph.app.admin.csv_lines import csv_line

COLUMNS: Final = (
    "accepted", "segments", "submitted", "delivered", "failed", "cancelled", "delivery_share", "inbound", "refused",
    "spend", "to_operator_p50_ms", "to_operator_p95_ms", "to_receipt_p50_ms", "to_receipt_p95_ms",
)  # fmt: skip
"""Columns behind the first one, but of tables by code and by reason."""

_COUNTS: Final = ("accepted", "segments", "submitted", "delivered", "failed", "cancelled")

_UNKNOWN: Final = DelayShape(None, None, None, None)


def table(report: ReportShape, by: str) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Returns the columns and the rows of the report by one of `report_figures.BY`. What is not known is empty."""
    if by in ("code", "reason"):
        codes = report.failures if by == "code" else report.refusals
        return (by, "failed" if by == "code" else "refused"), [(each.code, str(each.count)) for each in codes]
    if by == "time":
        # delays have longer steps than counts
        delays = {each.time: (each.to_operator, each.to_receipt) for each in report.delays}
        unknown = (_UNKNOWN, _UNKNOWN)
        return (by, *COLUMNS), [(each.time, *_row(each, delays.get(each.time, unknown))) for each in report.points]
    parts = {"account": report.accounts, "connector": report.connectors, "country": report.countries}[by]
    return (by, *COLUMNS), [(each.name, *_row(each, (each.to_operator, each.to_receipt))) for each in parts]


def csv_of(report: ReportShape, by: str) -> str:
    """Returns the table as CSV (RFC 4180), with a line of names."""
    columns, rows = table(report, by)
    return b"".join(csv_line(*row) for row in [columns, *rows]).decode()


def _row(counts: CountsShape, delays: Sequence[DelayShape]) -> Iterator[str]:
    yield from (str(getattr(counts, name)) for name in _COUNTS)
    yield "" if counts.delivery_share is None else f"{counts.delivery_share:.4f}"
    yield str(counts.inbound)
    yield str(counts.refused)
    yield counts.spend
    for delay in delays:
        yield from ("" if each is None else str(each) for each in (delay.p50, delay.p95))
