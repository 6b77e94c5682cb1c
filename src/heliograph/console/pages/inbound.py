"""Inbound: messages from phones, their callbacks, and the owners of unrouted messages."""

from typing import Any

from heliograph.admin_api.request import parse_key
from heliograph.app.records import InboundQuery, InboundRecord, Scope
from heliograph.app.resources.desk import account_id
from heliograph.app.resources.inbound import INBOUND, look, page_of_text
from heliograph.console.files import inbound_file
from heliograph.console.request import (
    FormProblem,
    Mistake,
    PageRequest,
    PageResponse,
    PageRoute,
    csv_file,
    minute_of,
    problem_of,
)
from heliograph.domain.message import ids
from heliograph.domain.numbers.phone import mask_search, number_of

PATH = "/inbound"
PAGE = 50
ASKED = ("q", "account", "start", "end", "live")
UNROUTED = "-"
"""Choice of the form for messages without an owner. No account has this name."""


async def search(request: PageRequest) -> PageResponse:
    values = await _found(request)
    return request.page("inbound.html", status=200 if values["problem"] is None else 404, **values)


async def live(request: PageRequest) -> PageResponse:
    """The messages found, for a page that fetches them anew."""
    return request.page("inbound_live.html", **await _found(request))


async def _found(request: PageRequest) -> dict[str, Any]:
    problem, found, more = None, list[InboundRecord](), None
    try:
        found, more = await page_of_text(request.desk, *await _query(request))
    except Mistake as mistake:
        problem = problem_of(mistake)
    return {
        "query": request.query,
        "asked": _asked(request),
        "found": found,
        "more": more,
        "unrouted": UNROUTED,
        "problem": problem,
        "accounts": await request.desk.account_names(),
    }


def _asked(request: PageRequest) -> dict[str, str]:
    return {name: request.query[name] for name in ASKED if request.query.get(name)}


async def _query(request: PageRequest) -> tuple[str, InboundQuery, int]:
    """Returns the text, the query, and the earliest time (ms). Raises Fault and NoSuch."""
    asked = request.query
    text, account = asked.get("q", "").strip(), asked.get("account", "")
    before = parse_key(asked.get("before", ""))
    end = minute_of(asked.get("end", ""), "end")
    if end is not None:
        latest = ids.first_key_at(max(0, end + 60_000))
        before = latest if before is None else min(before, latest)
    owner = 0 if account == UNROUTED else await account_id(request.desk.store, account) if account else None
    return text, InboundQuery(owner, number_of(text), before, PAGE), minute_of(asked.get("start", ""), "start") or 0


async def download(request: PageRequest) -> PageResponse:
    text, query, start = await _query(request)
    asked = {name: mask_search(value) if name == "q" else value for name, value in _asked(request).items()}
    await request.desk.note("inbound.export", "inbound messages", asked)
    return csv_file("inbound.csv", inbound_file(request.desk, text, query, start))


async def show(request: PageRequest, problem: FormProblem | None = None) -> PageResponse:
    record = await look(request.desk, request.path["id"])
    accounts = await request.desk.account_names()
    return request.page(
        "inbound_message.html",
        status=200 if problem is None else 409,
        record=record,
        message=record.message,
        reply=ids.to_hex(*record.reply) if record.reply else "",
        account=accounts.get(record.message.account, ""),
        accounts=sorted(accounts.values()),
        connector=(await request.desk.known_connectors()).get(record.message.connector, "a connector that is gone"),
        problem=problem,
    )


async def route(request: PageRequest) -> PageResponse:
    account = request.form.get("account", "")
    await request.ask(INBOUND, "route", {"id": request.path["id"], "account": account})
    return request.go(f"{PATH}/{request.path['id']}", f"The message is {account}'s now.")


async def replay(request: PageRequest) -> PageResponse:
    await request.ask(INBOUND, "replay", {"id": request.path["id"]})
    return request.go(f"{PATH}/{request.path['id']}", "The callback is retried.")


PAGES = (
    PageRoute("GET", PATH, Scope.READ_MESSAGES, search),
    PageRoute("GET", f"{PATH}-live", Scope.READ_MESSAGES, live),
    PageRoute("GET", f"{PATH}.csv", Scope.READ_MESSAGES, download, exports=True),
    PageRoute("GET", f"{PATH}/{{id}}", Scope.READ_MESSAGES, show),
    PageRoute("POST", f"{PATH}/{{id}}/route", Scope.WRITE_MESSAGES, route, again=show),
    PageRoute("POST", f"{PATH}/{{id}}/replay", Scope.WRITE_CALLBACKS, replay, again=show),
)
