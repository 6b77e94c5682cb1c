"""Messages: finding them, the history of a message, and the actions on it."""

from collections import Counter
from typing import Any

from heliograph.admin_api.request import cursor, parse_cursor, parse_key
from heliograph.app.records import ExportFormat, Scope, Search
from heliograph.app.resources import messages
from heliograph.app.resources.callbacks import replay_message
from heliograph.app.resources.desk import account_id, connector_id
from heliograph.app.resources.history import condense
from heliograph.app.resources.message_list import message_list
from heliograph.console.files import traffic_file
from heliograph.console.request import (
    FormProblem,
    Mistake,
    PageRequest,
    PageResponse,
    PageRoute,
    minute_of,
    problem_of,
    written_file,
)
from heliograph.domain.calendar import format_utc
from heliograph.domain.display import counted
from heliograph.domain.message.extras import read_extras
from heliograph.domain.message.receipt import in_words
from heliograph.domain.message.state import KIND_NAMES, Kind, Trigger, before
from heliograph.domain.message.status import MessageStatus
from heliograph.domain.numbers.phone import mask_search

PAGE = 50
MOST_CANCELLED = 1_000
"""Messages that are cancelled at once."""

NARROWING = ("connector", "error", "sender", "country", "network", "direction")
ASKED = ("q", "account", "status", "start", "end", *NARROWING, "live")
"""Fields of the form of a search; `NARROWING` stands behind *More filters*."""

FROM_PHONES = "inbound"
BOTH_WAYS = "both"
OF_SENT = ("status", "connector", "error", "sender", "country", "network")
"""Filters that messages from phones do not have."""


async def search(request: PageRequest) -> PageResponse:
    if request.query.get("direction") == FROM_PHONES:
        asked = {name: request.query.get(name, "") for name in ("q", "account", "start", "end")}
        return request.go("/inbound", **asked)
    return request.page("messages.html", **await _listed(request))


async def live(request: PageRequest) -> PageResponse:
    """The messages found, for a page that fetches them anew."""
    values = await _listed(request)
    return request.page(values["list"], **values)


async def _listed(request: PageRequest) -> dict[str, Any]:
    return await (_both(request) if request.query.get("direction") == BOTH_WAYS else _found(request))


async def _both(request: PageRequest) -> dict[str, Any]:
    """Finds messages of both directions."""
    problem: FormProblem | None = None
    page = None
    only_sent = _only_sent(request)
    try:
        before = parse_key(request.query.get("before", ""))
        wanted = await _search(request)
        page = await message_list(request.desk, request.query.get("q", ""), wanted, before, received=not only_sent)
    except Mistake as mistake:
        problem = problem_of(mistake)
    return await _form(request) | {
        "list": "messages_both_live.html",
        "found": page,
        "only_sent": only_sent,
        "going_on": bool(request.query.get("before")),
        "problem": problem,
    }


async def _form(request: PageRequest) -> dict[str, Any]:
    """Returns the values that the form and any list need."""
    asked = _asked(request)
    return {
        "query": request.query,
        "asked": asked,
        "narrowed": any(name in asked for name in NARROWING),
        "accounts": await request.desk.account_names(),
        "connectors": await request.desk.known_connectors(),
        "statuses": list(MessageStatus),
    }


async def _found(request: PageRequest) -> dict[str, Any]:
    problem: FormProblem | None = None
    found = None
    try:
        wanted = await _search(request)
        found = await messages.find(request.desk, request.query.get("q", ""), wanted)
    except Mistake as mistake:
        problem = problem_of(mistake)
    cancellable = before(Trigger.CANCEL) if request.may(Scope.WRITE_MESSAGES) else ()
    return await _form(request) | {
        "list": "messages_live.html",
        "going_on": bool(request.query.get("more")),
        "found": found,
        "more": None if found is None else cursor(found.more),
        "cancellable": set() if found is None else {
            hit.message.key for hit in found.hits if hit.message.state in cancellable
        },
        "problem": problem,
    }  # fmt: skip


async def download(request: PageRequest) -> PageResponse:
    return await _download(request, ExportFormat.CSV)


async def download_lines(request: PageRequest) -> PageResponse:
    """Returns the messages found, of one direction, as JSON lines."""
    return await _download(request, ExportFormat.JSONL)


async def _download(request: PageRequest, kind: ExportFormat) -> PageResponse:
    wanted = await _search(request)
    text = request.query.get("q", "")
    if request.query.get("direction") == BOTH_WAYS and kind is ExportFormat.CSV:
        name = "messages-both-directions.csv"
        pieces = traffic_file(request.desk, text, wanted, received=not _only_sent(request))
    else:
        name, pieces = f"messages.{kind}", messages.message_file(request.desk, text, wanted, kind)
    asked = _asked(request)
    asked |= {name: mask_search(asked[name]) for name in ("q", "sender") if name in asked}
    await request.desk.note("message.export", "messages", asked)
    return written_file(name, pieces, kind.content_type)


def _only_sent(request: PageRequest) -> bool:
    """Whether something is asked for that messages from phones do not have."""
    return any(request.query.get(name) for name in OF_SENT)


def _asked(request: PageRequest) -> dict[str, str]:
    """Returns the fields of the form that are filled in."""
    return {name: request.query[name] for name in ASKED if request.query.get(name)}


async def _search(request: PageRequest) -> Search:
    """Raises Fault and NoSuch."""
    query = request.query
    wanted = Search(limit=PAGE)
    if query.get("account"):
        wanted.account = await account_id(request.desk.store, query["account"])
    if query.get("status") in tuple(MessageStatus):
        wanted.status = MessageStatus(query["status"])
    wanted.start = minute_of(query.get("start", ""), "start")
    end = minute_of(query.get("end", ""), "end")
    wanted.end = None if end is None else end + 59_999
    wanted.before = parse_cursor(query.get("more", ""))
    wanted.error, wanted.sender, wanted.country, wanted.network = (
        query.get(name, "").strip() for name in ("error", "sender", "country", "network")
    )
    if query.get("connector"):
        wanted.connector = await connector_id(request.desk.store, query["connector"])
    return wanted


async def cancel_several(request: PageRequest) -> PageResponse:
    """Cancels each of the messages by itself: one that cannot be cancelled any more keeps none of the others."""
    wanted = request.forms.get("message", [])[:MOST_CANCELLED]
    cancelled, problems = 0, Counter[str]()
    for text in wanted:
        try:
            await messages.cancel(request.desk, text)
            cancelled += 1
        except Mistake as mistake:
            problems[problem_of(mistake).text] += 1
    said = [f"{counted(cancelled, 'message is', 'messages are')} cancelled and refunded."]
    said += [f"{counted(number, 'was', 'were')} not: {text}" for text, number in problems.most_common(3)]
    asked = {name: request.form[name] for name in ASKED if request.form.get(name)}
    return request.go("/messages", " ".join(said) if wanted else "No message was selected.", **asked)


async def show(request: PageRequest, problem: FormProblem | None = None) -> PageResponse:
    view = await messages.look(request.desk, request.path["id"])
    trace = view.trace
    message = trace.message
    return request.page(
        "message.html",
        status=200 if problem is None else 409,
        view=view,
        extras=read_extras(message.extras).described(),
        happened=list(condense(view.events)),
        trace=trace,
        message=message,
        message_status=trace.hit.status,
        kind=KIND_NAMES[Kind(message.kind)],
        cancellable=message.state in before(Trigger.CANCEL),
        segments=_segments(request, view.trace, view.connectors),
        problem=problem,
        status_name=request.services.status_name,
    )


def _segments(request: PageRequest, trace: Any, connectors: dict[int, str]) -> list[dict[str, Any]]:
    """Each segment with the operator's answer and receipts."""
    rows = []
    for segment in range(trace.message.segments):
        answer = next((each for each in trace.submissions if each.segment == segment), None)
        receipts = [each for each in trace.receipts if each.segment == segment]
        if not receipts and trace.message.segments == 1 and trace.final is not None and trace.final[0] is not None:
            state, err, at = trace.final
        elif receipts:
            state, err, at = receipts[-1].state, receipts[-1].err, receipts[-1].at
        else:
            state, err, at = None, "", None
        rows.append(
            {
                "number": segment + 1,
                "connector": None if answer is None else connectors.get(answer.connector, f"#{answer.connector}"),
                "operator_id": "" if answer is None else answer.operator_id,
                "status": None if answer is None else _status(request, answer.status),
                "at": None if answer is None else answer.at,
                "tries": sum(each.segment == segment for each in trace.attempts),
                "state": None if state is None else in_words(state, err),
                "ended": at,
            }
        )
    return rows


def _status(request: PageRequest, status: int) -> str:
    if status < 0:
        return "no answer"
    return request.services.status_name(status)


async def cancel(request: PageRequest) -> PageResponse:
    await messages.cancel(request.desk, request.path["id"])
    return request.go(f"/messages/{request.path['id']}", "The message is cancelled and refunded.")


async def reschedule(request: PageRequest) -> PageResponse:
    at = minute_of(request.form.get("time", ""), "time")
    # in UTC: in the account's zone, an hour of the year occurs twice
    await messages.reschedule(request.desk, request.path["id"], "" if at is None else format_utc(at))
    return request.go(f"/messages/{request.path['id']}", "The message has a new time.")


async def replay(request: PageRequest) -> PageResponse:
    await replay_message(request.desk, request.path["id"])
    return request.go(f"/messages/{request.path['id']}", "The callback is retried.")


PAGES = (
    PageRoute("GET", "/messages", Scope.READ_MESSAGES, search),
    PageRoute("GET", "/messages-live", Scope.READ_MESSAGES, live),
    PageRoute("GET", "/messages.csv", Scope.READ_MESSAGES, download, exports=True),
    PageRoute("GET", "/messages.jsonl", Scope.READ_MESSAGES, download_lines, exports=True),
    PageRoute("POST", "/messages/cancel", Scope.WRITE_MESSAGES, cancel_several),
    PageRoute("GET", "/messages/{id}", Scope.READ_MESSAGES, show),
    PageRoute("POST", "/messages/{id}/cancel", Scope.WRITE_MESSAGES, cancel, again=show),
    PageRoute("POST", "/messages/{id}/reschedule", Scope.WRITE_MESSAGES, reschedule, again=show),
    PageRoute("POST", "/messages/{id}/replay", Scope.WRITE_CALLBACKS, replay, again=show),
)
