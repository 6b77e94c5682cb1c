"""Refused requests of customers: sums, hours, and the last requests of each account and reason."""

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
"""Hours back from now, at most: older ones are not kept."""

TOTALS: Final = 200
"""Sums of accounts and reasons, the largest first."""

PAGE: Final = 500
"""The most requests of an answer."""


async def report(
    desk: Desk, account: str | None = None, reason: Reason | None = None, hours: int = 24, limit: int = 50
) -> dict[str, Any]:
    """Reports the last hours. Totals and hours count from the beginning of the first hour; requests of the last seconds
    may be missing. `since` is the time that `latest` begins at."""
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


def _told(given: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    span = f"in the last {counted(given.get('hours', 24), 'hour')}"
    if not answer["totals"]:
        return f"Nothing was refused {span}."
    return f"Total {span}: {counted(answer['requests'], 'request')}."


_REASONS: Final = tuple(each.value for each in Reason)
_ACCOUNT = Field("account", Text(), "The account's name.")
_REASON = Field("reason", Text(), f"One of {', '.join(f'`{each}`' for each in _REASONS)}.", example="credit")
_REQUESTS = Field("requests", Whole(), "Refused requests.")

_TOTAL = (_ACCOUNT, _REASON, _REQUESTS, Field("latest", Moment(), "Time of the last request."))
_HOUR = (Field("hour", Moment(), "Its beginning."), _REQUESTS)
_REQUEST = (
    Field("time", Moment(), "When it was refused."),
    _ACCOUNT,
    _REASON,
    Field("status", Whole(), "HTTP status of the answer."),
    Field("method", Text(), "HTTP method."),
    Field("path", Text(), "The path; numbers are shown in part."),
    Field("field", Text(), "The field at fault; empty where none was."),
    Field("message", Text(), "The sentence that the customer got."),
    Field("address", Text(), "Address of the client."),
    Field("request_id", Text(), "The `X-Request-Id` of the answer."),
)

REFUSALS = Resource(
    name="refusals",
    plural="refusals",
    summary="Requests of customers that were refused, and why",
    more="",
    nothing="Nothing was refused.",
    key=("request_id",),
    fields=_REQUEST,
    scopes=Scopes(Scope.READ_MESSAGES, Scope.READ_MESSAGES),
    operations=(
        Operation(
            "list",
            "GET",
            "/refusals",
            report,
            "Requests of customers that were refused, and why",
            reads=(
                Field("account", Reference("account"), "Only this account's.", None),
                Field("reason", Choice(Reason), "Only for this reason.", None),
                Field("hours", Whole(1, MOST_HOURS), "How far back.", 24),
                Field("limit", Whole(1, PAGE), "Requests at most.", 50),
            ),
            answers=(
                Field("requests", Whole(), "Refused requests in total."),
                Field("totals", Rows(_TOTAL, "RefusalTotal", is_table=True), "By account and reason."),
                Field("hours", Rows(_HOUR, "RefusalHour"), "By hour; hours without any are left out."),
                Field("latest", Rows(_REQUEST, "RefusedRequest", is_table=True), "The last requests, newest first."),
            ),
            answer_name="Refusals",
            id="list_refusals",
            more="The last 20 requests of each account and reason are kept, and the counts of 14 days. Requests with "
            "wrong credentials are in neither, because their account is unknown. A running gateway writes refusals "
            "every five seconds.",
            examples=(
                "refusals",
                "refusals --account acme --reason credit --hours 2",
                "refusals --hours 336 --json",
            ),
            done=_told,
        ),
    ),
)
