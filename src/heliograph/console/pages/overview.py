"""Overview: recent rates, waiting work and connectors, live."""

import json
from dataclasses import dataclass
from typing import Any

from heliograph.app.configuration import DRAIN, OFF, ON, Connector
from heliograph.app.ports import CarrierState
from heliograph.app.ports.carrier_state import FRESH_MS
from heliograph.app.records import COUNTED, BacklogCounts, Scope
from heliograph.app.resources import guard
from heliograph.app.resources.callbacks import failing_hosts
from heliograph.app.resources.connectors import all_connectors
from heliograph.app.resources.report_series import ReportQuery
from heliograph.console import chart
from heliograph.console.first_steps import first_steps
from heliograph.console.pages.reports import recent_messages
from heliograph.console.request import THEME_COOKIE, THEMES, PageRequest, PageResponse, PageRoute, link
from heliograph.domain.display import counted, duration
from heliograph.domain.limits.gate import Holder

SERIES = (
    ("accepted", "Accepted", "Messages that customers sent"),
    ("submitted", "Submitted", "Parts that operators took or refused"),
    ("delivered", "Delivered", "Messages that arrived"),
    ("failed", "Not delivered", "Messages that ended otherwise"),
)

TROUBLED = ("down", "silent")
"""Conditions of a connector that need attention."""

OLD_MS = 60_000
"""Messages that have waited for so long are worth a look. Milliseconds."""

FAILED_OFTEN = 3
MANY_OWED = 100
"""A receiver that failed so often, or that is owed so many callbacks, is worth a look."""

CALLBACKS_SEEN = 1_000
"""The most pending callbacks that failing receivers are found in."""

NAMED = 3
"""The most receivers, and the most accounts, that are named."""

MOST_SHOWN = 1_000
"""The highest number in the menu; beyond it there is a plus sign, as in `1000+`."""

YEAR_S = 365 * 86_400


@dataclass(slots=True)
class ConnectorLine:
    """A connector on the overview."""

    name: str
    condition: str
    """`up`, `silent` (on some bind the operator answers nothing), `connecting` (no bind has failed yet) or `down`."""
    state: str
    """The state that the connector is set to, such as `on`."""
    summary: str
    in_flight: int
    capacity: int
    waiting: int
    oldest: int | None
    """Due time of the oldest of them."""
    deferred: int
    national: int
    """Messages from national numbers without a known country."""

    @property
    def badge(self) -> str:
        return {OFF: "paused", DRAIN: "draining"}.get(self.state, self.condition)


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
    lines = await lines_of(request, backlog)
    return {
        "tiles": tiles,
        "backlog": backlog,
        "counted": COUNTED,
        "lines": lines,
        "in_lanes": sum(line.waiting for line in lines),
        "oldest": min((each for each in (backlog.oldest, *(line.oldest for line in lines)) if each), default=None),
        "deferred": sum(backlog.deferred.values()),
        "held": sum(backlog.held.values()),
        "worries": worries(request, backlog, lines) + await _customers_worries(request, backlog),
    }


async def attention(request: PageRequest) -> PageResponse:
    """The numbers in the menu, as JSON: things that need somebody, by the addresses of pages."""
    backlog = await request.desk.backlog()
    numbers = {"/queue": backlog.held.get(Holder.ADMINISTRATOR, 0), "/guard": backlog.held.get(Holder.GUARD, 0)}
    if request.may(Scope.READ_CALLBACKS):
        numbers["/callbacks"] = backlog.ended
    if request.may(Scope.READ_CONNECTORS):
        lines = await lines_of(request, backlog)
        numbers["/connectors"] = sum(line.state != OFF and line.condition in TROUBLED for line in lines)
    if request.may(Scope.READ_ACCOUNTS):
        numbers["/accounts"] = len(await request.desk.store.accounts.without_credit(MOST_SHOWN))
    told = {
        link(path): str(number) if number < MOST_SHOWN else f"{MOST_SHOWN}+"
        for path, number in numbers.items()
        if number
    }
    return PageResponse(200, json.dumps(told).encode(), kind="application/json")


async def lines_of(request: PageRequest, backlog: BacklogCounts) -> list[ConnectorLine]:
    """Returns a line for each connector, first the connectors that are down or silent."""
    waiting = request.services.waiting()
    here = {connector.id: (connector, state) for connector, state in request.desk.carrier_states()}
    reports = await request.desk.store.network.link_states()
    live: dict[int, CarrierState] = {
        each.connector: each.state for each in reports if request.now - each.at <= FRESH_MS
    }
    live |= {number: state for number, (_, state) in here.items()}
    known = {connector.id: connector for connector in await all_connectors(request.desk)}
    connectors = known | {number: connector for number, (connector, _) in here.items() if number not in known}
    lines = [
        _connector_line(connector, live.get(number), waiting.get(number, (0, None)), backlog.deferred.get(number, 0))
        for number, connector in connectors.items()
    ]
    return sorted(lines, key=lambda line: (line.condition not in TROUBLED or line.state == OFF, line.name))


def _connector_line(
    connector: Connector,
    live: CarrierState | None,
    waiting: tuple[int, int | None],
    deferred: int,
) -> ConnectorLine:
    state = CarrierState(summary="It is being started.") if live is None else live
    if state.bound:
        condition = "silent" if state.silent else "up"
    else:
        condition = "down" if any(bind.last_error for bind in state.binds) else "connecting"
    return ConnectorLine(
        connector.name,
        condition,
        connector.state,
        state.summary if connector.enabled else "It is paused.",
        state.in_flight,
        state.capacity,
        *waiting,
        deferred,
        state.counters.national_numbers,
    )


def worries(request: PageRequest, backlog: BacklogCounts, lines: list[ConnectorLine]) -> list[tuple[str, str]]:
    """Returns sentences about things that need attention, each with a link."""
    found = []
    if not request.services.healthy():
        found.append(("The store does not take what is written: requests are refused. Look at the disk.", ""))
    found += [
        (
            f"{line.name} {'answers nothing' if line.condition == 'silent' else 'is down'}: see why, and test it.",
            link(f"/connectors/{line.name}"),
        )
        for line in lines
        if line.state != OFF and line.condition in TROUBLED
    ]
    found += [
        (
            f"{line.name}: its oldest message waits for {duration(request.now - line.oldest)} now.",
            link(f"/connectors/{line.name}"),
        )
        for line in lines
        if line.state == ON
        and line.condition == "up"
        and line.oldest is not None
        and request.now - line.oldest > OLD_MS
    ]
    found += [
        (
            f"{line.name} brings messages from national numbers, which STOP does not suppress: set inbound_country.",
            link(f"/connectors/{line.name}"),
        )
        for line in lines
        if line.national
    ]
    if not lines and not request.may(Scope.WRITE_CONNECTORS):  # who may add one has it among the first steps
        found.append(("There is no connector yet: messages have nowhere to go.", link("/connectors-new")))
    if backlog.oldest is not None and request.now - backlog.oldest > OLD_MS:
        found.append(("Messages have been waiting in the queue for over a minute.", link("/connectors")))
    if backlog.ended:
        found.append(
            (
                f"{counted(backlog.ended, 'callback')} failed: see why, and retry.",
                link("/callbacks", tab="failed"),
            )
        )
    return found


async def _customers_worries(request: PageRequest, backlog: BacklogCounts) -> list[tuple[str, str]]:
    """Returns sentences about customers whose receivers fail or whose credit is gone, each with a link."""
    found = []
    if backlog.owed and request.may(Scope.READ_CALLBACKS):
        failing = [
            host
            for host in await failing_hosts(request.desk, CALLBACKS_SEEN)
            if host["attempts"] >= FAILED_OFTEN or host["pending"] >= MANY_OWED
        ]
        found += [
            (
                (
                    f"{host['host']} fails, and {counted(host['pending'], 'callback')} or more wait for it: "
                    "see why, or stop them."
                ),
                link("/callbacks", tab="hosts"),
            )
            for host in failing[:NAMED]
        ]
        if len(failing) > NAMED:
            found.append((f"{counted(len(failing) - NAMED, 'more receiver')} fail.", link("/callbacks", tab="hosts")))
    found += _guard_worries(await guard.find(request.desk))
    if request.may(Scope.READ_ACCOUNTS):
        names = await request.desk.store.accounts.without_credit(NAMED + 1)
        found += [
            (f"{name} has no credit, so that its requests are refused: top it up.", link(f"/accounts/{name}"))
            for name in names[:NAMED]
        ]
        if len(names) > NAMED:
            found.append(("There are more accounts without credit.", link("/accounts")))
    return found


def _guard_worries(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    held = [each for each in rows if each["state"] == guard.HELD]
    found = [
        f"The pumping guard holds {counted(each['messages'], 'message')} of {each['account']} to {each['prefix']}"
        for each in held
    ]
    found += [
        f"The pumping guard suspects fraud in messages of {each['account']} to {each['prefix']}, and sends them"
        for each in rows
        if each not in held
    ]
    left = len(found) - NAMED
    more = [f"The pumping guard has {left} more"] if left > 0 else []
    return [(f"{sentence}: see why.", link("/guard")) for sentence in found[:NAMED] + more]


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
