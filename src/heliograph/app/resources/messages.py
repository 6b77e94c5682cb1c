"""Messages of any account: find, explain, reschedule and cancel them."""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from heliograph.app.configuration import Account
from heliograph.app.records import ExportFormat, Hit, MessageRecord, Scope, Search, SearchPage
from heliograph.app.resources.description import Answer, Operation, Page, Resource, Scopes, WrittenFile
from heliograph.app.resources.desk import Desk, Invalid, account_id, connector_id, needed
from heliograph.app.resources.explain import BlockedReasons, explain
from heliograph.app.resources.fields import (
    Choice,
    Credits,
    Field,
    Flag,
    Item,
    Moment,
    Reference,
    Rows,
    Text,
    Whole,
)
from heliograph.app.resources.history import Event, history
from heliograph.app.resources.message_export import exported_row, heading, line
from heliograph.app.resources.routes import DECISION, decide, decision_row
from heliograph.app.routing.explain import RouteDecision
from heliograph.app.sending.directory import AccountView
from heliograph.app.sending.fields import shown
from heliograph.app.sending.reschedule import Rescheduling
from heliograph.domain.calendar import with_seconds
from heliograph.domain.error import NOT_FOUND, Fault
from heliograph.domain.limits.gate import holder_of
from heliograph.domain.message import ids
from heliograph.domain.message.extras import read_extras
from heliograph.domain.message.status import MessageStatus
from heliograph.domain.numbers.phone import mask_search, number_in

PAGE: Final = 1_000

ROWS_AT_ONCE: Final = 1_000
"""Rows of an export in memory."""

Line = TypeVar("Line")


@dataclass(slots=True)
class MessageView:
    """A message with all related rows."""

    trace: MessageRecord
    account: Account
    events: list[Event]
    decision: RouteDecision
    """Present route of its destination."""
    connectors: dict[int, str]
    """Names of connectors by id."""
    explanation: str
    """The reason of its present state, for example "It waits, because op1 is paused."."""


async def find(desk: Desk, text: str, search: Search) -> SearchPage:
    """Finds messages by free text (an id, a reference, a number or its beginning) and by `search`.

    An id or a number may be a reference, too, such as `4917`. If there are messages with this reference, they come
    among the others, in the order of acceptance.
    """
    text, messages = text.strip(), desk.store.messages
    if not text:
        return await messages.search(search)
    named = await messages.search(replace(search, reference=text))
    id_, number = ids.parse(text), number_in(text)
    if id_ is None and not number:
        return named
    others = replace(search, id=id_, number=number or search.number)
    if not named.hits and named.more is None:
        return await messages.search(others)
    return _both(named, await messages.search(replace(others, accepted_order=True)), search.limit)


def _both(one: SearchPage, other: SearchPage, limit: int) -> SearchPage:
    """Returns the messages of two pages in the order of acceptance, each once, as a page of up to `limit`."""
    known = {hit.message.key for hit in one.hits}
    hits = one.hits + [hit for hit in other.hits if hit.message.key not in known]
    hits, back_to = merged(hits, (one.more, other.more), limit, lambda hit: hit.message.key)
    reached = next((each.reached for each in (one, other) if each.more == (0, back_to)), None)
    return SearchPage(hits, (0, back_to) if back_to else None, reached)


def merged(
    lines: Iterable[Line], cursors: Iterable[tuple[int, int] | None], limit: int, key: Callable[[Line], int]
) -> tuple[list[Line], int]:
    """Merges the lines of pages with these cursors, newest first. Returns up to `limit` lines, and the key that the
    next page begins below; 0 at the end.

    A page that ended early may be followed by lines newer than the last line of another page. So lines below the newest
    cursor are left to the next page.
    """
    back_to = max((cursor[1] for cursor in cursors if cursor is not None), default=0)
    newest = sorted((line for line in lines if key(line) >= back_to), key=key, reverse=True)
    if len(newest) > limit:
        back_to = key(newest[limit - 1])
    return newest[:limit], back_to


async def look(desk: Desk, message: str) -> MessageView:
    """Returns the message with this id. Raises Fault."""
    trace, account = await _found(desk, message)
    connectors = await desk.known_connectors()
    decision = await decide(desk, trace.message.destination, account.name)
    tables, reports = await desk.store.network.tables(large=False), await desk.store.network.link_states()
    reasons = BlockedReasons(tables, reports, desk.now)
    explanation = explain(trace, connectors, desk.status_name, reasons.blocked_reason, suspended=account.suspended)
    events = history(trace, {**desk.past, **desk.simulated}, desk.status_name)
    return MessageView(trace, account, events, decision, connectors, explanation)


async def _found(desk: Desk, message: str) -> tuple[MessageRecord, Account]:
    """Returns the message with this id, and its account. Raises Fault."""
    parsed = ids.parse(message)
    if parsed is None:
        raise Fault(NOT_FOUND, f"{shown(message)} is not an id of a message; an id has 32 hexadecimal characters.")
    trace = await desk.store.messages.trace(parsed[0])
    account = None if trace is None else await desk.store.accounts.by_id(trace.message.account)
    if trace is None or account is None or trace.message.tail != parsed[1]:
        raise Fault(NOT_FOUND, "There is no such message.")
    return trace, account


async def of_references(desk: Desk, account: str, references: Sequence[str]) -> list[Hit]:
    """Returns the account's messages with these references, by key. Only requests with a single destination count."""
    found = await desk.store.accounts.find(account)
    return [] if found is None else await desk.store.messages.of_references(found[0].id, references)


async def cancel(desk: Desk, id: str) -> None:
    """Cancels a scheduled message, and refunds it."""
    trace, view, rescheduling = await _scheduled(desk, id, "message.cancel", {})
    await rescheduling.cancel(view, trace.message.key, trace.message.tail, desk.now)


async def reschedule(desk: Desk, id: str, time: str) -> dict[str, Any]:
    """Reschedules a message to a time in its account's zone, such as `2027-03-01 10:00:00`."""
    trace, view, rescheduling = await _scheduled(desk, id, "message.reschedule", {"time": time})
    at = rescheduling.new_time(view, with_seconds(time) or None, desk.now)
    await rescheduling.reschedule(view, trace.message.key, trace.message.tail, at, desk.now)
    return {"done": True, "time": at}


async def _scheduled(
    desk: Desk, message: str, action: str, details: Mapping[str, str]
) -> tuple[MessageRecord, AccountView, Rescheduling]:
    """Returns a message, its account, and the way to change it with an entry in the audit log. Raises Fault."""
    trace, account = await _found(desk, message)
    composer = needed(desk.composer)()
    view = await composer.directory.fresh_account(account.name)
    if view is None:
        raise Fault(NOT_FOUND, "There is no such message.")
    audited = desk.audited(action, message, {"account": account.name, **details})
    return trace, view, Rescheduling(audited.customers, composer)


async def search(
    desk: Desk, text: str, reference: str, after: tuple[int, int] | None, limit: int, **filters: Any
) -> Page:
    """Returns messages, newest first."""
    wanted = await _wanted(desk, text=text, reference=reference, **filters)
    wanted.before, wanted.limit = after, limit
    found = await find(desk, text, wanted)
    accounts, connectors = await desk.account_names(), await desk.known_connectors()
    cursor = None if found.more is None else f"{found.more[0]}-{found.more[1]}"
    return Page([row(hit, accounts, connectors) for hit in found.hits], cursor, {"reached": found.reached})


async def _wanted(
    desk: Desk,
    text: str,
    number: str,
    reference: str,
    account: str | None,
    status: MessageStatus | None,
    connector: str | None,
    held: bool,
    **others: Any,
) -> Search:
    """Returns the search for some filters; `others` are attributes of a `Search` by name. Raises Invalid and NoSuch."""
    if held and status not in (None, MessageStatus.HELD):
        raise Invalid("held", f"a held message has the status {MessageStatus.HELD}; leave out status")
    wanted = Search(number=number, reference=reference, status=MessageStatus.HELD if held else status, **others)
    if account:
        wanted.account = await account_id(desk.store, account)
    if connector:
        wanted.connector = await connector_id(desk.store, connector)
    if text and (number or reference):
        raise Invalid("text", "it already means an id, a number or a reference; leave out number and reference")
    return wanted


async def export(
    desk: Desk,
    format: ExportFormat,  # noqa: A002 - the field's name
    text: str,
    reference: str,
    **filters: Any,
) -> WrittenFile:
    """Returns all messages that fit, newest first, as a file."""
    wanted = await _wanted(desk, text=text, reference=reference, **filters)
    asked = {"format": format, "text": text, "reference": reference, **filters}
    details = {each.name: each.text(each.show(asked[each.name])) for each in _EXPORT_READS if asked[each.name]}
    details |= {name: mask_search(details[name]) for name in ("text", "number", "sender") if name in details}
    await desk.note("message.export", "messages", details)
    return WrittenFile(f"messages.{format}", format.content_type, message_file(desk, text, wanted, format))


async def message_file(desk: Desk, text: str, search: Search, kind: ExportFormat) -> AsyncGenerator[bytes]:
    """Yields the heading, and then the lines of a page of the messages found at a time, without a limit.

    A page is a short read of the store with a cursor. Nothing is open between two pages, so a slow client delays
    nobody. A page may have no line, because a search for few messages reads many rows.
    """
    accounts, connectors = await desk.account_names(), await desk.known_connectors()
    yield heading(kind)
    page = replace(search, limit=ROWS_AT_ONCE)
    while True:
        found = await find(desk, text, page)
        yield b"".join(line(kind, exported_row(row(hit, accounts, connectors))) for hit in found.hits)
        if found.more is None:
            return
        page = replace(page, before=found.more)


async def show(desk: Desk, id: str) -> dict[str, Any]:
    view = await look(desk, id)
    trace = view.trace
    return {
        **full_row(trace, {view.account.id: view.account.name}, view.connectors, view.events),
        "explanation": view.explanation,
        "held": holder_of(trace.held) or "",
        "extras": read_extras(trace.message.extras).described(),
        "now": decision_row(desk, view.decision),
    }


def row(hit: Hit, accounts: Mapping[int, str], connectors: Mapping[int, str]) -> dict[str, Any]:
    """Returns the fields of a message; the names are by id."""
    found = hit.message
    return {
        "id": ids.to_hex(found.key, found.tail),
        "account": accounts.get(found.account, str(found.account)),
        "to": found.destination,
        "sender": found.sender,
        "time": found.time,
        "status": hit.status.value,
        "wants_receipt": found.wants_receipt,
        "delivery": None if hit.delivery is None else hit.delivery.name,
        "err": hit.err,
        "operator_code": hit.operator_code,
        "segments": found.segments,
        "price": found.price,
        "connector": connectors.get(hit.connector, str(hit.connector)),
        "reference": found.reference,
        "network": found.network,
    }


def full_row(
    trace: MessageRecord, accounts: Mapping[int, str], connectors: Mapping[int, str], events: Sequence[Event]
) -> dict[str, Any]:
    """Returns the fields of a message with its text and history."""
    return {
        **row(trace.hit, accounts, connectors),
        "content": trace.message.content,
        "callback_url": trace.message.callback_url,
        "history": [
            {"time": each.at, "event": each.event, "segment": each.segment, "detail": each.detail} for each in events
        ],
    }


def format_status(row: Mapping[str, Any]) -> str:
    """Returns the status for people. A submitted message without a receipt says that this status is its last."""
    is_last = row["status"] == MessageStatus.SUBMITTED and not row["wants_receipt"]
    return "submitted, no receipt requested" if is_last else str(row["status"])


def _number(text: str) -> str:
    digits = text.removeprefix("+")
    if digits and not (digits.isascii() and digits.isdigit() and len(digits) <= 15):
        raise ValueError("give the digits of a destination, or its first digits")
    return digits


_STATUSES = [f"`{each}`" for each in MessageStatus]
_ID = Field("id", Text(pattern="[0-9a-f]{32}"), "Id of the message.", example="019e2b1c5f3a70008c1de1f5a0b7c3d2")
_FIELDS = (
    _ID,
    Field("account", Text(), "The account that sent it.", example="acme"),
    Field("to", Text(), "The destination.", example="491701234567"),
    Field("sender", Text(), "The sender.", example="ACME"),
    Field("time", Moment(), "When it was accepted, or the time that it is scheduled for."),
    Field("status", Text(), f"{', '.join(_STATUSES[:-1])} or {_STATUSES[-1]}.", cell=format_status, example="Sent"),
    Field("wants_receipt", Flag(), "Whether the operator is asked for a receipt; if not, it stays `submitted`."),
    Field("delivery", Text(), "The final state in the operators' words.", nullable=True, example="DELIVRD"),
    Field("err", Text(), "The customer's error code: three digits; empty before the final state.", example="000"),
    Field("operator_code", Text(), "The operator's own code, if any.", example="0x22"),
    Field("segments", Whole(), "Segments of its text."),
    Field("price", Credits(), "Credits charged for it."),
    Field(
        "connector",
        Text(),
        "The connector that sent it; before that, the connector that it was accepted for.",
        example="op1",
    ),
    Field("reference", Text(), "The reference of its request.", nullable=True, example="order-17"),
    Field("network", Text(), "MCCMNC of the destination's network; empty if it was not known.", example="26201"),
)
_TEXTS = (
    Field("content", Text(), "The text.", example="Hello, world"),
    Field("callback_url", Text(), "The URL that its receipt is posted to.", example="https://example.com/receipts"),
)
_EVENT = (
    Field("time", Moment(), "Time of the event."),
    Field("event", Text(), "The kind of event, for example `Submitted`.", example="Submitted"),
    Field("segment", Whole(), "The segment, from 1; null: the whole message.", nullable=True),
    Field("detail", Text(), "Details.", example="to op1 as 1f3a70"),
)
_HISTORY = Field("history", Rows(_EVENT, "HistoryEvent"), "Its events, oldest first.")

EXPORTED = (*_FIELDS, *_TEXTS, _HISTORY)
"""Fields of a message in the export of a phone's data, as `full_row` returns them."""

_FILTERS = (
    Field("text", Text(), "An id, a reference, or a number or its first digits.", ""),
    Field("account", Reference("account"), "Only messages of this account.", None),
    Field("status", Choice(MessageStatus), "Only messages with this status.", None),
    Field(
        "connector", Reference("connector"), "Only messages that were accepted for this connector or sent by it.", None
    ),
    Field("error", Text(), "Only undelivered messages with this state, code, or both: `UNDELIV 011`.", ""),
    Field("sender", Text(), "Only messages with this sender ID, ignoring case.", "", example="ACME"),
    Field("country", Text(), "Only messages to this country, for example DE.", ""),
    Field("network", Text(), "Only messages to this network (MCCMNC), for example 26201.", ""),
    Field("held", Flag(), "Only held messages, as with the status `held`.", False),
    Field("number", Text(_number, "[0-9]{0,15}"), "The destination or its first digits.", ""),
    Field("reference", Text(), "The reference of a request.", "", example="order-17"),
    Field("start", Moment(), "Only messages from this time on, ISO 8601 with Z or an offset.", None),
    Field("end", Moment(), "Only messages up to this time.", None),
)

_EXPORT_READS = (
    Field("format", Choice(ExportFormat), "CSV, or a JSON object in each line.", ExportFormat.CSV),
    *_FILTERS,
)

MESSAGES = Resource(
    name="message",
    plural="messages",
    summary="Messages of any account, with their history",
    more="Scheduled messages can be rescheduled and cancelled.",
    nothing="No messages were found.",
    key=("id",),
    fields=_FIELDS,
    columns=("time", "to", "status", "err", "account", "connector", "id"),
    scopes=Scopes(Scope.READ_MESSAGES, Scope.WRITE_MESSAGES),
    operations=(
        Operation(
            "find",
            "GET /messages",
            search,
            "Messages by id, number or reference, newest first",
            reads=_FILTERS,
            answers=Answer.EACH,
            beside=(
                Field(
                    "reached",
                    Moment(),
                    "A search that stopped at its limit of rows looked back to this time.",
                    nullable=True,
                    title="Looked back to",
                ),
            ),
            id="search",
            arguments=("text",),
            page=PAGE,
            cursor_has_time=True,
            rows=50,
            newest_first=True,
            more="TEXT is an id, a reference, or a number or its first digits.\n\n"
            "Some searches read at most 100,000 messages: for pending or submitted messages, and for the first "
            "few digits of a number within an account. Give more digits, or an account, to look further back.",
            examples=(
                "message find 4917                          # a number, or its first digits",
                "message find order-1042                    # a reference",
                "message find --account acme --status undelivered --limit 20",
                "message find --connector op1 --error 'UNDELIV 011'",
                "message find --sender ACME --country DE",
                "message find --held                        # held by the guard, an administrator or a suspension",
            ),
        ),
        Operation(
            "export",
            "GET /messages/export",
            export,
            "All messages that fit, newest first, as a file without a limit",
            reads=_EXPORT_READS,
            answers=Answer.FILE,
            media_types=tuple(each.media_type for each in ExportFormat),
            is_command=False,
            id="export_messages",
        ),
        Operation(
            "show",
            "GET /messages/{id}",
            show,
            "A message with its history, and the present route of its number",
            answers=(
                *_FIELDS,
                Field(
                    "explanation",
                    Text(),
                    "The reason of its present state, in a sentence or two.",
                    example="It was delivered.",
                ),
                Field(
                    "held",
                    Text(),
                    "`administrator`, `guard`, `suspended`, or empty if nothing holds it.",
                    example="guard",
                ),
                *_TEXTS,
                Field(
                    "extras",
                    Text(),
                    "Fields of the submit_sm that the request set, in words; else empty.",
                    example="priority 1",
                ),
                _HISTORY,
                Field("now", Item(DECISION, "Decision"), "The present route of its destination."),
            ),
            answer_name="MessageInFull",
            id="get_message",
        ),
        Operation(
            "cancel",
            "POST /messages/{id}/cancel",
            cancel,
            "Cancel a scheduled message and refund it",
            conflicts=True,
            id="cancel",
            result="cancelled",
            done="The message is cancelled and refunded.",
        ),
        Operation(
            "reschedule",
            "POST /messages/{id}/reschedule",
            reschedule,
            "Reschedule a message to another time",
            reads=(Field("time", Text(), "The new time, in the account's time zone.", example="2027-03-01 10:00:00"),),
            answers=(Field("done", Flag(), "True."), Field("time", Moment(), "The new time.")),
            answer_name="Rescheduled",
            read_name="NewTime",
            arguments=("id", "time"),
            conflicts=True,
            id="reschedule",
            done="The message is sent at {time}.",
            more="TIME is in the account's time zone.",
            examples=("message reschedule 0198c5f2a1b37c4d8e9f001122334455 '2027-03-01 10:00:00'",),
        ),
    ),
)
