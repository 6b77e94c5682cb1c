"""Refused requests of customers: totals, counts by hour, and the last requests of each account and reason."""

from collections.abc import Mapping
from typing import Any, Final

from heliograph.app.records import RefusalQuery, Scope
from heliograph.app.resources.description import Operation, Resource, Scopes
from heliograph.app.resources.desk import Desk, account_id
from heliograph.app.resources.fields import Choice, Field, Moment, Reference, Rows, Text, Whole
from heliograph.domain.display import counted
from heliograph.domain.error import Reason

HOUR_MS: Final = 3_600_000

MOST_HOURS: Final = 14 * 24
"""Hours. Counts are kept for 14 days."""

TOTALS: Final = 200
"""The most rows of totals by account and reason; the largest totals are shown."""

PAGE: Final = 500
"""The most requests of an answer."""


async def report(
    desk: Desk, account: str | None = None, reason: Reason | None = None, hours: int = 24, limit: int = 50
) -> dict[str, Any]:
    """Reports the refused requests of the last hours.

    `totals` and `hours` count from the start of the first hour. `latest` has requests since the time `since` (ms).
    Requests of the last five seconds may be missing.
    """
    owner = None if account is None else await account_id(desk.store, account)
    since = desk.now - hours * HOUR_MS
    query, refused = RefusalQuery(since, owner, reason), desk.store.refused_requests
    names = await desk.account_names()
    by_hour = await refused.hours(query)
    return {
        "since": since,
        "requests": sum(number for _, number in by_hour),
        "totals": [
            {
                "account": names.get(each.account, str(each.account)),
                "reason": each.reason.value,
                "requests": each.requests,
                "latest": each.latest,
            }
            for each in await refused.totals(query, TOTALS)
        ],
        "hours": [{"hour": hour, "requests": number} for hour, number in by_hour],
        "latest": [
            {
                "time": each.at,
                "account": names.get(each.account, str(each.account)),
                "reason": each.reason.value,
                "status": each.status,
                "method": each.method,
                "path": each.path,
                "field": each.field,
                "message": each.message,
                "address": each.address,
                "request_id": each.request_id,
            }
            for each in await refused.latest(query, limit)
        ],
    }


def _format_total(given: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    span = f"in the last {counted(given.get('hours', 24), 'hour')}"
    if not answer["totals"]:
        return f"No request was refused {span}."
    return f"Total {span}: {counted(answer['requests'], 'request')}."


_REASONS: Final = tuple(each.value for each in Reason)
_ACCOUNT = Field("account", Text(), "The account's name.", example="acme")
_REASON = Field("reason", Text(), f"One of {', '.join(f'`{each}`' for each in _REASONS)}.", example="credit")
_REQUESTS = Field("requests", Whole(), "Refused requests.")

_TOTAL = (_ACCOUNT, _REASON, _REQUESTS, Field("latest", Moment(), "Time of the last request."))
_HOUR = (Field("hour", Moment(), "Start of the hour."), _REQUESTS)
_REQUEST = (
    Field("time", Moment(), "When it was refused."),
    _ACCOUNT,
    _REASON,
    Field("status", Whole(), "HTTP status of the answer."),
    Field("method", Text(), "HTTP method.", example="POST"),
    Field("path", Text(), "The path; phone numbers are masked.", example="/api/v1/messages"),
    Field("field", Text(), "The invalid field; empty if the error is about no field.", example="to"),
    Field("message", Text(), "The error message that the customer got.", example="The field to is missing."),
    Field("address", Text(), "Address of the client.", example="192.0.2.9"),
    Field("request_id", Text(), "The `X-Request-Id` of the answer.", example="checkout-7f3a"),
)

REFUSALS = Resource(
    name="refusals",
    plural="refusals",
    summary="Requests of customers that were refused, and why",
    more="",
    nothing="No request was refused.",
    key=("request_id",),
    fields=_REQUEST,
    scopes=Scopes(Scope.READ_MESSAGES, Scope.READ_MESSAGES),
    operations=(
        Operation(
            "list",
            "GET /refusals",
            report,
            "Requests of customers that were refused, and why",
            reads=(
                Field("account", Reference("account"), "Only requests of this account.", None),
                Field("reason", Choice(Reason), "Only requests with this reason.", None),
                Field("hours", Whole(1, MOST_HOURS), "Hours back from now. Counts begin with the whole hour.", 24),
                Field("limit", Whole(1, PAGE), "The most requests in `latest`.", 50),
            ),
            answers=(
                Field("requests", Whole(), "Refused requests in total."),
                Field("totals", Rows(_TOTAL, "RefusalTotal", is_table=True), "Totals by account and reason."),
                Field("hours", Rows(_HOUR, "RefusalHour"), "Counts by hour; hours without refusals are left out."),
                Field("latest", Rows(_REQUEST, "RefusedRequest", is_table=True), "The last requests, newest first."),
            ),
            answer_name="Refusals",
            id="list_refusals",
            more="The gateway keeps the last 20 requests of each account and reason, and the counts of 14 days. "
            "Requests with wrong credentials are not included, because their account is unknown. A running gateway "
            "writes refusals every five seconds.",
            examples=(
                "refusals",
                "refusals --account acme --reason credit --hours 2",
                "refusals --hours 336 --json",
            ),
            done=_format_total,
        ),
    ),
)
