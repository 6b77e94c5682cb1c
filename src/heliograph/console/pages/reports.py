"""Reports: charts and tables of a range of time, and the same as CSV."""

import json
from collections.abc import Mapping
from dataclasses import asdict

from heliograph.app.records import Scope
from heliograph.app.resources.desk import NoSuch
from heliograph.app.resources.report_periods import WORDS, last_months
from heliograph.app.resources.report_series import DEFAULT_RANGE, ReportQuery, SeriesReport, ViewReports, delivery_share
from heliograph.app.resources.report_steps import RANGES
from heliograph.app.resources.reports import BY, REPORTS, csv_of
from heliograph.console.charts import (
    Chart,
    delays_chart,
    late_text,
    messages_chart,
    percent,
    share_text,
    shares_chart,
    spend_chart,
)
from heliograph.console.render import count, rounded
from heliograph.console.request import (
    FormProblem,
    Mistake,
    PageRequest,
    PageResponse,
    PageRoute,
    csv_file,
    link,
    problem_of,
)
from heliograph.domain import calendar

PATH = "/reports"
POINTS = f"{PATH}/points"
_LAST_DAY = "Messages, last 24 hours"


async def show(request: PageRequest) -> PageResponse:
    asked = _asked(request)
    report: SeriesReport | None = None
    problem: FormProblem | None = None
    try:
        report = await ViewReports(request.desk).report(_query(request))
    except Mistake as mistake:
        problem = problem_of(mistake)
    compare = bool(asked["compare"])
    return request.page(
        "reports.html",
        status=200 if problem is None else 400,
        report=report,
        problem=problem,
        asked=asked,
        words=WORDS,
        months=last_months(request.now, calendar.zone(request.zone)),
        first=asked["range"].partition("..")[0] if ".." in asked["range"] else "",
        last=asked["range"].partition("..")[2] if ".." in asked["range"] else "",
        ranges=RANGES,
        account_names=await request.account_names(),
        connector_names=sorted((await request.desk.connector_names()).values()),
        tiles=[] if report is None else _tiles(report),
        figures=[] if report is None else [
            messages_chart(report, "Messages", compare=compare), shares_chart(report, compare=compare),
            delays_chart(report), spend_chart(report, compare=compare),
        ],
        failures=[] if report is None else _ranked(report.total.failures),
        refusals=[] if report is None else _ranked(report.total.refusals),
        share=share_text,
        percent=percent,
        late=late_text,
    )  # fmt: skip


async def download(request: PageRequest) -> PageResponse:
    asked = _asked(request)
    by = request.query.get("by", "time")
    by = by if by in BY else "time"
    report = await request.ask(REPORTS, "show", asdict(_query(request)))
    name = asked["range"].replace(" ", "-").replace("..", "-to-")
    return csv_file(f"report-{name}-by-{by}.csv", csv_of(report, by).encode())


async def points(request: PageRequest) -> PageResponse:
    """For charts that fetch themselves anew."""
    chart = await recent_messages(request, _query(request))
    return PageResponse(200, json.dumps(chart.data).encode(), kind="application/json")


async def recent_messages(request: PageRequest, query: ReportQuery) -> Chart:
    """Returns a chart of messages for any page, which fetches itself anew."""
    report = await ViewReports(request.desk).points(query)
    names = ("range", "account", "connector", "country", "network")
    source = link(POINTS, **{name: getattr(query, name) for name in names})
    title = report.range.title
    return messages_chart(report, f"Messages, {title[0].lower()}{title[1:]}", source=source)


async def connector_figures(request: PageRequest, name: str) -> list[Chart]:
    """Returns the charts of a connector's page: messages and delays of a day. None where the user may not see them."""
    if not request.may(Scope.READ_REPORTS):
        return []
    report = await _known(request, ReportQuery("24h", connector=name, zone=request.zone))
    return [] if report is None else [messages_chart(report, _LAST_DAY), delays_chart(report)]


async def account_figures(request: PageRequest, name: str) -> list[Chart]:
    """Returns the charts of an account's page: messages and delivery share of a day. None where the user may not see
    them."""
    if not request.may(Scope.READ_REPORTS):
        return []
    report = await _known(request, ReportQuery("24h", account=name, zone=request.zone))
    return [] if report is None else [messages_chart(report, _LAST_DAY), shares_chart(report)]


async def _known(request: PageRequest, query: ReportQuery) -> SeriesReport | None:
    """Returns the report, or None for a connector that this store does not have."""
    try:
        return await ViewReports(request.desk).report(query)
    except NoSuch:
        return None


def _asked(request: PageRequest) -> dict[str, str]:
    query = request.query
    first, last = query.get("from", ""), query.get("to", "")
    # the form with dates of one's own is a shorter way to write such a range
    days = f"{first or last}..{last or 'today'}" if first or last else ""
    return {
        "range": days or " ".join(query.get("range", "").split()) or DEFAULT_RANGE, "account": query.get("account", ""),
        "connector": query.get("connector", ""), "country": query.get("country", ""),
        "network": query.get("network", ""),
        "compare": "yes" if query.get("compare") else "",
    }  # fmt: skip


def _query(request: PageRequest) -> ReportQuery:
    asked = _asked(request)
    return ReportQuery(**{name: text for name, text in asked.items() if name != "compare"}, zone=request.zone)


def _ranked(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))


def _tiles(report: SeriesReport) -> list[dict[str, str]]:
    total, before = report.total, report.before
    share, earlier = delivery_share(total), delivery_share(before)
    points = None if share is None or earlier is None else (share - earlier) * 100
    return [
        _tile("Accepted", count(total.accepted), _change(total.accepted, before.accepted)),
        _tile("Delivered", count(total.delivered), _change(total.delivered, before.delivered)),
        _tile("Delivery share", share_text(total), "of those that ended" if points is None else _points(points)),
        _tile("Failed", count(total.failed), _change(total.failed, before.failed)),
        _tile("Receipt p95", late_text(total.to_receipt), f"operator p95 {late_text(total.to_operator)}"),
        _tile("Inbound", count(total.inbound), _change(total.inbound, before.inbound)),
        _tile("Refused requests", count(total.refused), _change(total.refused, before.refused)),
        _tile("Spend", rounded(total.spend), _change(total.spend, before.spend)),
    ]


def _tile(title: str, value: str, below: str) -> dict[str, str]:
    return {"title": title, "value": value, "below": below}


def _points(change: float) -> str:
    """The change of a share in percentage points, in words."""
    return (
        "as before"
        if abs(change) < 0.05
        else f"{abs(change):.1f} points {'more' if change > 0 else 'less'} than before"
    )


def _change(now: int, before: int) -> str:
    """The change of a figure, in words."""
    if before <= 0:
        return "none before" if now else "none"
    change = (now - before) / before
    return "as before" if abs(change) < 0.005 else f"{abs(change):,.0%} {'more' if change > 0 else 'less'} than before"


PAGES = (
    PageRoute("GET", PATH, Scope.READ_REPORTS, show),
    PageRoute("GET", f"{PATH}.csv", Scope.READ_REPORTS, download),
    PageRoute("GET", POINTS, Scope.READ_REPORTS, points),
)
