"""Overview: recent rates, waiting work and connectors, live."""

import json
from typing import Any
from urllib.parse import parse_qsl

from heliograph.app.records import COUNTED, Scope
from heliograph.app.resources.attention import Topic, connector_lines, find
from heliograph.app.resources.report_series import ReportQuery
from heliograph.console import chart
from heliograph.console.first_steps import first_steps
from heliograph.console.pages.reports import recent_messages
from heliograph.console.request import THEME_COOKIE, THEMES, PageRequest, PageResponse, PageRoute, link
from heliograph.domain.limits.gate import Holder

SERIES = (
    ("accepted", "Accepted", "Messages that customers sent"),
    ("submitted", "Submitted", "Parts that operators took or refused"),
    ("delivered", "Delivered", "Messages that arrived"),
    ("failed", "Not delivered", "Messages that ended otherwise"),
)

MOST_SHOWN = 1_000
"""The highest number in the menu; beyond it there is a plus sign, as in `1000+`."""

YEAR_S = 365 * 86_400


async def overview(request: PageRequest) -> PageResponse:
    may = request.may(Scope.READ_REPORTS)
    messages = await recent_messages(request, ReportQuery("24h", zone=request.zone)) if may else None
    return request.page("overview.html", messages=messages, steps=await first_steps(request), **await _values(request))


async def live(request: PageRequest) -> PageResponse:
    return request.page("overview_live.html", **await _values(request))


async def _values(request: PageRequest) -> dict[str, Any]:
    services = request.services
    pulse = services.pulse
    tiles = []
    for name, title, what in SERIES:
        values = pulse.series(name)
        now, total = pulse.rate(name), sum(values)
        words = f"{what}: {now:.1f} a second now, {total} in the last five minutes, at most {max(values)} in a second"
        tiles.append({"name": name, "title": title, "rate": now, "total": total, "chart": chart.spark(values, words)})
    backlog = await request.desk.backlog()
    lines = await connector_lines(request.desk, backlog)
    return {
        "tiles": tiles,
        "backlog": backlog,
        "counted": COUNTED,
        "lines": lines,
        "in_lanes": sum(line.waiting for line in lines),
        "oldest": min((each for each in (backlog.oldest, *(line.oldest for line in lines)) if each), default=None),
        "deferred": sum(backlog.deferred.values()),
        "held": sum(backlog.held.values()),
        "worries": [
            (worry.sentence, _address(worry.page))
            for worry in await find(request.desk, backlog, lines)
            # users who may add a connector have it among the first steps
            if worry.topic is not Topic.NO_CONNECTOR or not request.may(Scope.WRITE_CONNECTORS)
        ],
    }


def _address(page: str) -> str:
    """Returns the address of a page such as `/callbacks?tab=failed`, or "" for none."""
    path, _, query = page.partition("?")
    return link(path, **dict(parse_qsl(query))) if page else ""


async def attention(request: PageRequest) -> PageResponse:
    """The numbers in the menu, as JSON: things that need somebody, by the addresses of pages."""
    backlog = await request.desk.backlog()
    numbers = {"/queue": backlog.held.get(Holder.ADMINISTRATOR, 0), "/guard": backlog.held.get(Holder.GUARD, 0)}
    if request.may(Scope.READ_CALLBACKS):
        numbers["/callbacks"] = backlog.ended
    if request.may(Scope.READ_CONNECTORS):
        lines = await connector_lines(request.desk, backlog)
        numbers["/connectors"] = sum(line.is_troubled for line in lines)
    if request.may(Scope.READ_ACCOUNTS):
        numbers["/accounts"] = len(await request.desk.store.accounts.without_credit(MOST_SHOWN))
    told = {
        link(path): str(number) if number < MOST_SHOWN else f"{MOST_SHOWN}+"
        for path, number in numbers.items()
        if number
    }
    return PageResponse(200, json.dumps(told).encode(), kind="application/json")


async def theme(request: PageRequest) -> PageResponse:
    """For a browser without our script, which sets the cookie itself."""
    chosen = request.form.get("theme", "")
    path = request.form.get("back", "/")
    response = request.go(path if path.startswith("/") and not path.startswith("//") else "/")
    chosen = chosen if chosen in THEMES else ""
    response.cookie(THEME_COOKIE, chosen, secure=request.secure, seconds=YEAR_S if chosen else 0, script=True)
    return response


PAGES = (
    PageRoute("GET", "/", Scope.READ_MESSAGES, overview),
    PageRoute("GET", "/attention", Scope.READ_MESSAGES, attention),
    PageRoute("GET", "/live", Scope.READ_MESSAGES, live),
    PageRoute("POST", "/theme", Scope.READ_MESSAGES, theme),
)
