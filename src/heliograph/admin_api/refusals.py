"""Refused requests of customers."""

from msgspec import Struct

from heliograph.admin_api.refusal_shapes import (
    RefusalHourShape,
    RefusalsShape,
    RefusalTotalShape,
    RefusedRequestShape,
)
from heliograph.admin_api.request import AdminRequest
from heliograph.app.admin.refusals import MOST_HOURS, RefusalReport
from heliograph.domain.calendar import format_utc
from heliograph.domain.error import Reason, invalid

PAGE = 500
DEFAULT = 50
DEFAULT_HOURS = 24


async def list_refusals(request: AdminRequest) -> Struct:
    query = request.query
    limit, hours = request.number("limit", DEFAULT, PAGE), request.number("hours", DEFAULT_HOURS, MOST_HOURS)
    if "reason" in query and query["reason"] not in tuple(Reason):
        raise invalid("reason", f"The reason is one of {', '.join(Reason)}.")
    view = request.services.refusals
    return refusals(await view.report(query.get("account", ""), query.get("reason", ""), hours, limit))


def refusals(report: RefusalReport) -> RefusalsShape:
    names = report.names
    return RefusalsShape(
        report.requests,
        [
            RefusalTotalShape(
                names.get(each.account, str(each.account)), each.reason.value, each.requests, format_utc(each.latest)
            )
            for each in report.totals
        ],
        [RefusalHourShape(format_utc(hour), requests) for hour, requests in report.hours],
        [
            RefusedRequestShape(
                format_utc(each.at), names.get(each.account, str(each.account)), each.reason.value, each.status,
                each.method, each.path, each.field, each.message, each.address, each.request_id,
            )
            for each in report.latest
        ],
    )  # fmt: skip
