"""Reports."""

from typing import Any

from msgspec import Struct

from heliograph.admin_api.report_shapes import (
    CodeShape,
    CountsShape,
    DelayPointShape,
    DelayShape,
    PartShape,
    PointShape,
    ReportShape,
)
from heliograph.admin_api.request import AdminRequest
from heliograph.app.admin.report_figures import delay, delivery_share
from heliograph.app.admin.reports import DEFAULT_RANGE, ReportQuery, SeriesReport
from heliograph.domain.calendar import format_offset
from heliograph.domain.money.amounts import format_credits
from heliograph.domain.series import COUNTS, Cell
from heliograph.domain.sketch import Sketch


async def get_report(request: AdminRequest) -> Struct:
    query = request.query
    wanted = ReportQuery(
        query.get("range", DEFAULT_RANGE),
        query.get("account", ""),
        query.get("connector", ""),
        query.get("country", ""),
        query.get("zone", "UTC"),
    )
    return report(await request.services.reports.report(wanted))


def report(found: SeriesReport) -> ReportShape:
    total, zone = found.total, found.zone
    return ReportShape(
        range=found.range.name,
        zone=zone.key,
        note=found.note,
        start=format_offset(found.start, zone),
        end=format_offset(found.end, zone),
        step_s=found.range.step // 1000,
        total=CountsShape(**_counts(total)),
        before=CountsShape(**_counts(found.before)),
        to_operator=_delays(total.to_operator),
        to_receipt=_delays(total.to_receipt),
        points=[PointShape(time=format_offset(at, zone), **_counts(cell)) for at, cell in found.points],
        points_before=[PointShape(time=format_offset(at, zone), **_counts(cell)) for at, cell in found.points_before],
        delays=[
            DelayPointShape(format_offset(at, zone), _delays(cell.to_operator), _delays(cell.to_receipt))
            for at, cell in found.delays
        ],
        accounts=_parts(found.accounts),
        connectors=_parts(found.connectors),
        countries=_parts(found.countries),
        failures=_codes(total.failures),
        refusals=_codes(total.refusals),
    )


def _counts(cell: Cell) -> dict[str, Any]:
    plain = {name: getattr(cell, name) for name in COUNTS}
    return plain | {"spend": format_credits(cell.spend), "delivery_share": delivery_share(cell)}


def _parts(parts: dict[str, Cell]) -> list[PartShape]:
    return [
        PartShape(
            name=name, to_operator=_delays(cell.to_operator), to_receipt=_delays(cell.to_receipt), **_counts(cell)
        )
        for name, cell in parts.items()
    ]


def _delays(sketch: Sketch) -> DelayShape:
    return DelayShape(delay(sketch, 0.5), delay(sketch, 0.9), delay(sketch, 0.95), delay(sketch, 0.99))


def _codes(counts: dict[str, int]) -> list[CodeShape]:
    return [CodeShape(code, number) for code, number in sorted(counts.items(), key=lambda each: (-each[1], each[0]))]
