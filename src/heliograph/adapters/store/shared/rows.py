"""Rows and their values, the same for all engines: the order of columns, and which columns are JSON."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, fields
from typing import Any, Final, get_origin

import msgspec

from heliograph.adapters.store.shared.steps import Q, Steps
from heliograph.app.configuration import (
    ACCOUNT_FIELDS,
    OFF,
    Account,
    Connector,
    MessageTemplate,
    Route,
    SmppTerms,
    TrafficHold,
)
from heliograph.app.facts import InboundMessage, InboundPart, Message, PartSet
from heliograph.app.ports import ConnectorReport, ConnectorState, DamagedRow
from heliograph.app.ports.encryption import UnreadableValues
from heliograph.app.records import RefusalCount, RefusalQuery, RefusedRequest
from heliograph.domain.message.opt_out import Wish
from heliograph.domain.message.way import Way

MESSAGE_COLUMNS = (
    "m.account, m.destination, m.sender, m.kind, m.content, m.segments, m.price, m.time, m.expires, m.state, "
    "m.connector, m.wants_receipt, m.callback_url, m.reference, m.batch, m.key, m.tail, m.extras, m.way, "
    "m.network"
)

MESSAGE_WIDTH = 20

TAKEN = "(SELECT count(*) FROM sent AS s WHERE s.key = m.key AND s.status = 0)"
"""Number of a message's parts that operators took."""

HELD = "(SELECT q.held FROM queue AS q WHERE q.key = m.key)"
"""The reason for which a message is held, or NULL."""

SENT_BY = "(SELECT s.connector FROM sent AS s WHERE s.key = m.key ORDER BY s.segment LIMIT 1)"
"""The connector that a message was last written to, or NULL before an answer."""

HIT_COLUMNS = f"{MESSAGE_COLUMNS}, f.state, f.err, {TAKEN}, {HELD}, {SENT_BY}"

HOUR_MS = 3_600_000

_ACCOUNT = tuple(each.name for each in fields(Account))
_CONNECTOR = tuple(each.name for each in fields(Connector))
"""Columns have the names of the fields."""

INBOUND_COLUMNS = (
    "i.account, i.connector, i.sender, i.recipient, i.content, i.octets, i.coding, i.at, i.keyword, i.parts, "
    "i.complete, i.way, i.price, i.key, i.tail, i.wish, i.replied"
)

INBOUND_WIDTH = 17

ROUTE_COLUMNS = "id, prefix, connector, priority, network, account, plan, sender, share, fallback"
PRICE_COLUMNS = "plan, prefix, price, inbound, since, network"
COST_COLUMNS = "connector, prefix, network, submitted, delivered, since, until"

SENDING_LIST_COLUMNS = (
    'id, account, name, actor, created, "rows", state, heard, handed_in, refused, reported, ended, problem'
)

PART_COLUMNS = "connector, sender, recipient, reference, total, number, coding, has_header, octets, at"

_ROUTE_RULE = (
    ("prefix", "text"), ("network", "text"), ("account", "bigint"), ("plan", "text"), ("sender", "text"),
    ("connector", "bigint"), ("priority", "bigint"),
)  # fmt: skip
"""The columns of `Route.rule` with their types, in its order."""

_LISTED_ROUTE = (*_ROUTE_RULE, ("share", "bigint"), ("fallback", "boolean"))

COLUMNS = {
    "message": MESSAGE_COLUMNS,
    "hit": HIT_COLUMNS,
    "taken": TAKEN,
    "held": HELD,
    "sent_by": SENT_BY,
    "account": ", ".join(f'"{name}"' for name in _ACCOUNT),
    "account_columns": ", ".join(f'"{name}"' for name in _ACCOUNT[1:]),
    "account_values": ", ".join(f":{name}" for name in _ACCOUNT[1:]),
    "account_changes": ", ".join(f'"{name}" = :{name}' for name in ACCOUNT_FIELDS),
    "connector": ", ".join(f'"{name}"' for name in _CONNECTOR),
    "route": ROUTE_COLUMNS,
    "listed_route": ", ".join(f"CAST(j.value ->> {n} AS {of})" for n, (_, of) in enumerate(_LISTED_ROUTE)),
    "same_route": " AND ".join(f"r.{name} = CAST(j.value ->> {n} AS {of})" for n, (name, of) in enumerate(_ROUTE_RULE)),
    "price": PRICE_COLUMNS,
    "cost": COST_COLUMNS,
    "sending_list": SENDING_LIST_COLUMNS,
    "inbound": INBOUND_COLUMNS,
    "inbound_part": PART_COLUMNS,
}
"""Lists of columns and parameters that words such as `{message}` stand for in named SQL."""

ANY_KEY = (1 << 63) - 1
"""A key beyond all others."""


MOST_SHARED: Final = 500
"""Texts that rows read one after another share. A campaign's rows stand together, so few are enough; at 1,600
characters each they take one to three megabytes."""

_shared: dict[str, str] = {}


def share(text: str) -> str:
    """Returns an equal text that was read before, if there is one.

    `sys.intern` is not for texts that come and go. After each 64,000 of them Python rebuilds its table of names, which
    takes 2 MB, and leaves a hole in the heap.
    """
    known = _shared.get(text)
    if known is None:
        if len(_shared) >= MOST_SHARED:
            _shared.clear()
        known = _shared[text] = text
    return known


def message_of(row: Sequence[Any], *, queued: bool = False) -> Message:
    """The message of a row that begins with MESSAGE_COLUMNS.

    Texts that thousands of messages of a campaign share are in memory once.
    """
    content, sealed = _content(row[4])
    return Message(
        account=row[0],
        destination=row[1],
        sender=share(row[2]),
        kind=row[3],
        content=share(content),
        segments=row[5],
        price=row[6],
        time=row[7],
        expires=row[8],
        state=row[9],
        connector=row[10],
        wants_receipt=bool(row[11]),
        callback_url=share(row[12]),
        reference=row[13] or None,
        batch=row[14],
        queued=queued,
        key=row[15],
        tail=row[16],
        extras=share(row[17]),
        way=Way(row[18]),
        network=share(row[19]),
        sealed=sealed,
    )


def inbound_of(row: Sequence[Any]) -> InboundMessage:
    """The inbound message of a row that begins with INBOUND_COLUMNS."""
    content, sealed = _content(row[4])
    return InboundMessage(
        account=row[0],
        connector=row[1],
        sender=row[2],
        recipient=row[3],
        content=content,
        octets=bytes(row[5]),
        coding=row[6],
        at=row[7],
        keyword=row[8],
        parts=row[9],
        complete=bool(row[10]),
        way=Way(row[11]),
        price=row[12],
        key=row[13],
        tail=row[14],
        wish=Wish(row[15]),
        replied=row[16],
        sealed=sealed,
    )


def set_values(of: PartSet) -> dict[str, Any]:
    """Returns the columns that identify the set of a part."""
    return {
        "connector": of.connector,
        "sender": of.sender,
        "recipient": of.recipient,
        "reference": of.reference,
        "total": of.total,
    }


def part_of(row: Sequence[Any]) -> InboundPart:
    """The part of a row of PART_COLUMNS."""
    return InboundPart(PartSet(*row[:5]), row[5], row[6], bool(row[7]), bytes(row[8]), row[9])


def _content(value: str | bytes) -> tuple[str, bytes]:
    """Returns the text of a content; PostgreSQL keeps it as UTF-8, because it may have a NUL. Returns the octets of an
    envelope, which begins with an octet that is no UTF-8."""
    if isinstance(value, str):
        return value, b""
    if value[:1] != b"\xff":
        try:
            return value.decode(), b""
        except UnicodeDecodeError:
            pass  # an envelope with a damaged beginning
    return "", bytes(value)


def account_values(account: Account) -> dict[str, Any]:
    """Returns the columns of an account without its id."""
    return {name: _stored(getattr(account, name)) for name in _ACCOUNT[1:]}


def account_of(row: Sequence[Any]) -> Account:
    """The account of a row that begins with the columns of an account. Raises DamagedRow: without its `networks`, for
    example, it could be used from everywhere."""
    return Account(**{name: _read(name, value, row[1]) for name, value in zip(_ACCOUNT, row, strict=False)})


def connector_values(connector: Connector) -> dict[str, Any]:
    """Returns the columns of a connector without its id."""
    return {name: _stored(getattr(connector, name)) for name in _CONNECTOR[1:]}


def connector_of(row: Sequence[Any], unreadable: UnreadableValues) -> Connector:
    """The connector of a row with the columns of a connector. Without readable settings it is off."""
    values = dict(zip(_CONNECTOR, row, strict=True))
    try:
        values["settings"] = json_object(values["settings"])
    except ValueError:
        unreadable.note("connector.settings", values["name"])
        values.update(settings={}, state=OFF)
    return Connector(**values)


def route_of(row: Sequence[Any]) -> Route:
    """The route of a row with the columns of a route."""
    number, prefix, connector, priority, network, account, plan, sender, share, fallback = row
    return Route(number, prefix, connector, priority, network, account, plan, sender, share, bool(fallback))


def template_values(template: MessageTemplate) -> dict[str, Any]:
    """Returns the columns of a template without its id."""
    return {name: _stored(getattr(template, name)) for name in ("name", "text", "sender", "account", "tlvs")}


def template_of(row: Sequence[Any], unreadable: UnreadableValues) -> MessageTemplate:
    """The template of a row of `templates`. Without readable TLVs no text fits it."""
    number, name, text, sender, account, tlvs = row
    try:
        return MessageTemplate(number, name, text, sender, account, json_object(tlvs))
    except ValueError:
        unreadable.note("template.tlvs", name)
        return MessageTemplate(number, name, text, sender, account, is_damaged=True)


def _stored(value: Any) -> Any:
    """Returns the value in the form of its column: JSON unless it is plain."""
    if isinstance(value, SmppTerms):
        value = {name: part for name, part in asdict(value).items() if part != getattr(_USUAL_TERMS, name)}
    return json.dumps(value) if isinstance(value, tuple | dict) else value


def json_object(value: str | bytes) -> dict[str, Any]:
    """Returns an object of a JSON column. Raises ValueError."""
    found = json.loads(value)
    if not isinstance(found, dict):
        raise ValueError("no object")  # noqa: TRY004 - as for a text that is no JSON
    return found


def texts_of(value: str) -> tuple[str, ...]:
    """Returns the texts of a JSON column. Raises ValueError."""
    try:
        return tuple(msgspec.json.decode(value, type=list[str]))
    except msgspec.MsgspecError as problem:
        raise ValueError(str(problem)) from None


def _smpp_terms(value: str) -> SmppTerms:
    given = json_object(value)
    if "statuses" in given:
        given["statuses"] = tuple((reason, status) for reason, status in given["statuses"])
    return SmppTerms(**given)


_USUAL_TERMS = SmppTerms()
"""The terms of most accounts. Only differences from them are stored."""

_READERS: dict[Any, Callable[[Any], Any]] = {
    bool: bool,
    tuple: texts_of,
    SmppTerms: _smpp_terms,
}
"""Readers of columns, by the type of the field without its parameters: compiled classes keep no more of it."""

_READ = {
    each.name: _READERS[kind] for each in fields(Account) if (kind := get_origin(each.type) or each.type) in _READERS
}


def _read(name: str, value: Any, account: str) -> Any:
    try:
        return _READ[name](value) if name in _READ else value
    except (ValueError, TypeError):
        raise DamagedRow(f"account.{name}", account) from None


def report_values(report: ConnectorReport) -> dict[str, Any]:
    """The columns of a report."""
    state = msgspec.json.encode(report.state).decode()
    return {"connector": report.connector, "node": report.node, "state": state, "at": report.at}


def hold_of(row: Sequence[Any]) -> TrafficHold:
    account, prefix, since, why, is_observed = row
    return TrafficHold(account, prefix, since, why, bool(is_observed))


def report_of(row: Sequence[Any]) -> ConnectorReport:
    """Returns the report of a row with connector, node, state and time. A state of another version that cannot be read
    is left empty."""
    connector, node, text, at = row
    try:
        state = msgspec.json.decode(text, type=ConnectorState)
    except msgspec.DecodeError:
        state = ConnectorState()
    return ConnectorReport(connector, node, state, at)


def refusal_values(count: RefusalCount) -> dict[str, Any]:
    return {**asdict(count), "reason": count.reason.value}


def refused_values(request: RefusedRequest) -> dict[str, Any]:
    return {**asdict(request), "reason": request.reason.value}


def query_values(query: RefusalQuery) -> dict[str, Any]:
    return {"since": query.since, "account": query.account or 0, "reason": query.reason or ""}


def hours_values(query: RefusalQuery) -> dict[str, Any]:
    """The same from the beginning of the query's first hour on."""
    return {**query_values(query), "since": query.since // HOUR_MS * HOUR_MS}


def messages_of(keys: Iterable[int], *, queued: bool = False) -> Steps[list[Message]]:
    """Returns the messages of these keys, in that order. Missing messages are left out."""
    wanted = list(keys)
    if not wanted:
        return []
    rows = yield Q.messages(keys=wanted)
    found = {row[15]: row for row in rows}
    return [message_of(found[key], queued=queued) for key in wanted if key in found]
