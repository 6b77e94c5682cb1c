"""Refused requests: counts by account and reason, a chart, and the latest requests."""

from collections import Counter
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from heliograph.app.records import Scope
from heliograph.app.resources.refusals import HOUR_MS, MOST_HOURS, REFUSALS
from heliograph.console import chart
from heliograph.console.request import Mistake, PageRequest, PageResponse, PageRoute, problem_of
from heliograph.domain.calendar import day_of, parse_utc, zone
from heliograph.domain.display import counted
from heliograph.domain.error import Reason

PATH = "/refusals"
PAGE = 100
SPANS = {"1": "Last hour", "24": "Last 24 hours", "168": "Last 7 days", str(MOST_HOURS): "Last 14 days"}
DEFAULT = "24"
HOURLY_MS = 48 * HOUR_MS
"""Milliseconds. Charts up to this length have a bar for each hour, longer charts for each day."""


async def show(request: PageRequest) -> PageResponse:
    query = request.query
    hours = query.get("hours", DEFAULT)
    hours = hours if hours in SPANS else DEFAULT
    account, reason = query.get("account", ""), query.get("reason", "")
    report, problem = None, None
    try:
        asked = {"account": account or None, "reason": reason or None, "hours": int(hours), "limit": PAGE}
        report = await request.ask(REFUSALS, "list", asked)
    except Mistake as mistake:
        problem = problem_of(mistake)
    return request.page(
        "refusals.html",
        status=200 if problem is None else 404,
        report=report,
        problem=problem,
        accounts=await request.account_names(),
        account=account,
        reasons=[each.value for each in Reason],
        reason=reason,
        spans=SPANS,
        hours=hours,
        first=(request.now - int(hours) * HOUR_MS) // HOUR_MS * HOUR_MS,
        chart="" if report is None else _chart(report, int(hours), request.now, zone(request.zone)),
    )


def _chart(report: dict[str, Any], hours: int, now: int, zone: ZoneInfo) -> str:
    """Returns a bar for each hour, or for each day of the zone. An hour belongs to the day in which it begins."""
    since = now - hours * HOUR_MS
    hourly = hours * HOUR_MS <= HOURLY_MS

    def step(at: int) -> int:
        hour = at // HOUR_MS * HOUR_MS
        return hour if hourly else day_of(hour, zone)[0]

    sums = Counter({step(at): 0 for at in range(since, now + 1, HOUR_MS)} | {step(now): 0})
    for each in report["hours"]:
        sums[step(parse_utc(each["hour"]))] += each["requests"]
    bars = []
    for at, requests in sorted(sums.items()):
        name = datetime.fromtimestamp(at / 1000, zone).strftime("%H:%M" if hourly else "%d %b")
        bars.append((name, requests, f"{name}: {counted(requests, 'request')}"))
    return chart.bars(bars, f"Refused requests: {counted(report['requests'], 'request')}")


PAGES = (PageRoute("GET", PATH, Scope.READ_MESSAGES, show),)
