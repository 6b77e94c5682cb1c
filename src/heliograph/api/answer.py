"""Answers to requests: status, headers, and a compact JSON body in UTF-8."""

from collections.abc import Iterable, Mapping, Sequence
from zoneinfo import ZoneInfo

import msgspec

from heliograph.api.shapes import (
    HELD,
    Balance,
    EventLine,
    History,
    InboundItem,
    InboundPage,
    NoticeItem,
    NoticePage,
    QuotePart,
    QuoteResult,
    Record,
    RecordEnd,
    RecordList,
    SendPart,
    SendResult,
    SuppressionItem,
    SuppressionPage,
)
from heliograph.app.facts import Accept, InboundMessage, Message, Verdict
from heliograph.app.ports import MessageRecord
from heliograph.app.resources.history import history
from heliograph.app.sending.refusal import refusal_of
from heliograph.app.sending.reschedule import Rescheduled
from heliograph.domain.calendar import format_local
from heliograph.domain.error import (
    FORBIDDEN,
    METHOD,
    NOT_FOUND,
    UNAUTHENTICATED,
    Fault,
)
from heliograph.domain.message import ids
from heliograph.domain.message.receipt import Delivery, err_of
from heliograph.domain.message.state import State
from heliograph.domain.message.suppression import Suppression
from heliograph.domain.money.amounts import format_credits
from heliograph.domain.text.national import LANGUAGE_NAMES
from heliograph.domain.text.segment import Split
from heliograph.http.reply import Reply
from heliograph.runtime.listening import CapturedPage

REALM = b'Basic realm="Heliograph", charset="UTF-8"'

REPLAYED = ((b"idempotency-replayed", b"true"),)
"""Header that marks the answer to a repeated request (idempotent replay)."""

Deliveries = Mapping[int, tuple[Delivery | None, str, int]]
"""Final states of messages, by key: state, the operator's code, time in ms. The state of a held message is None."""

_encode = msgspec.json.encode


def of(shape: msgspec.Struct) -> Reply:
    return Reply(200, _encode(shape))


def of_fault(fault: Fault) -> Reply:
    headers: tuple[tuple[bytes, bytes], ...] = ()
    if fault.entry is UNAUTHENTICATED:
        headers = ((b"www-authenticate", REALM),)
    elif fault.retry_after is not None:
        headers = ((b"retry-after", b"%d" % fault.retry_after),)
    return Reply(fault.entry.http, _encode(fault.body()), headers)


def of_accept(accept: Accept) -> Reply:
    """Returns the answer to a request to send, after the store has set its verdict. Raises Fault if the verdict refuses
    it.
    """
    verdict = accept.verdict
    if verdict is Verdict.ACCEPTED:
        return Reply(200, _send_result(accept))
    if verdict is Verdict.REPLAYED:
        return Reply(200, _send_result(accept), REPLAYED)
    raise refusal_of(accept)


def _send_result(accept: Accept) -> bytes:
    """Encodes a `SendResult`. A request to a single destination is encoded by hand, because it is by far the most
    frequent.
    """
    status = "Scheduled" if accept.scheduled else "Sent"
    reference = b"null" if accept.reference is None else _encode(accept.reference)
    if accept.batch:
        return _batch_result(accept, status, accept.asked_sender)
    message = accept.messages[0]
    sender = _sent_as(message, accept.asked_sender)
    return (
        b'{"Status":"00","Id":"%b","Rate":%b,"Reference":%b,"MessageStatus":"%b"%b}'
    ) % (
        ids.to_hex(message.key, message.tail).encode(), format_credits(accept.total).encode(), reference,
        status.encode(), b"" if sender is msgspec.UNSET else b',"From":"%b"' % sender.encode(),
    )  # fmt: skip


def _sent_as(message: Message, asked: str) -> str | msgspec.UnsetType:
    """Returns the sender of a message if it is not the sender of the request."""
    return message.sender if asked and message.sender != asked else msgspec.UNSET


def _batch_result(batch: Accept | Rescheduled, status: str, asked: str = "") -> bytes:
    parts = [_part_result(each, status, asked) for each in batch.messages]
    hexadecimal = ids.to_hex(batch.key, batch.tail)
    return _encode(SendResult("00", hexadecimal, _number(batch.total), batch.reference, status, messages=parts))


def _part_result(message: Message, status: str, asked: str = "") -> SendPart:
    """Returns the result of a message of a batch. A message to a suppressed number failed, while the others are
    sent.
    """
    suppressed = message.state == State.FAILED and not message.price
    return SendPart(
        FORBIDDEN.code if suppressed else "00",
        ids.to_hex(message.key, message.tail),
        message.destination,
        _number(message.price),
        State.FAILED.label if suppressed else status,
        _sent_as(message, asked),
    )


def of_rescheduled(moved: Rescheduled) -> Reply:
    scheduled = State.SCHEDULED.label
    if moved.batch:
        return Reply(200, _batch_result(moved, scheduled))
    return of(SendResult("00", ids.to_hex(moved.key, moved.tail), _number(moved.total), moved.reference, scheduled))


def of_quote(accept: Accept, longest: Message, split: Split, asked: str | None) -> Reply:
    """Answers with a quote. `longest`: the message with most segments. `split`: its encoding and parts. `asked`: the
    content of the request."""
    parts = [
        QuotePart(each.destination, _number(each.price), each.segments, _sent_as(each, accept.asked_sender))
        for each in accept.messages
    ]
    language = LANGUAGE_NAMES[split.language].capitalize() if split.language else msgspec.UNSET
    content = longest.content if longest.content != asked else msgspec.UNSET
    return of(
        QuoteResult("00", _number(accept.total), split.encoding.label, longest.segments, parts, language, content)
    )


def of_message(message: Message, zone: ZoneInfo, deliveries: Deliveries | None) -> Reply:
    """Answers with a record, including the message's end if `deliveries` are given."""
    return of(record_of(message, zone, deliveries))


def of_page(messages: list[Message], zone: ZoneInfo, deliveries: Deliveries | None) -> Reply:
    """Answers with records as `of_message` does."""
    return of(RecordList(len(messages), [record_of(message, zone, deliveries) for message in messages]))


def of_inbound(message: InboundMessage, zone: ZoneInfo) -> Reply:
    return of(_inbound(message, zone))


def of_inbound_page(messages: Sequence[InboundMessage], zone: ZoneInfo) -> Reply:
    return of(InboundPage(len(messages), [_inbound(message, zone) for message in messages]))


def _inbound(message: InboundMessage, zone: ZoneInfo) -> InboundItem:
    return InboundItem(
        ids.to_uuid(message.key, message.tail), format_local(message.at, zone), message.sender, message.recipient,
        message.content, message.octets.hex(), str(message.coding), message.parts, message.complete, message.keyword,
    )  # fmt: skip


def of_suppression(suppression: Suppression, zone: ZoneInfo) -> Reply:
    return of(_suppression(suppression, zone))


def of_suppressions(suppressions: Sequence[Suppression], zone: ZoneInfo) -> Reply:
    return of(SuppressionPage(len(suppressions), [_suppression(each, zone) for each in suppressions]))


def _suppression(suppression: Suppression, zone: ZoneInfo) -> SuppressionItem:
    return SuppressionItem(suppression.number, format_local(suppression.since, zone), suppression.source)


def of_notices(page: CapturedPage, zone: ZoneInfo) -> Reply:
    items = [
        NoticeItem(each.kind, format_local(each.at, zone), each.url, each.headers, each.body) for each in page.notices
    ]
    return of(NoticePage(len(items), items, page.cursor, page.missed))


def of_history(record: MessageRecord, zone: ZoneInfo) -> Reply:
    events = history(record, for_customer=True)
    lines = [EventLine(format_local(each.at, zone), each.event, each.segment, each.detail) for each in events]
    return of(History(len(lines), lines))


def of_balance(micro: int) -> Reply:
    return of(Balance("00", format_credits(micro)))


def record_of(message: Message, zone: ZoneInfo, deliveries: Deliveries | None) -> Record:
    return Record(
        ids.to_hex(message.key, message.tail), message.sender, message.destination,
        format_local(message.time, zone), format_credits(message.price), State(message.state).label, message.content,
        msgspec.UNSET if deliveries is None else _end(deliveries.get(message.key), zone),
    )  # fmt: skip


def _end(delivery: tuple[Delivery | None, str, int] | None, zone: ZoneInfo) -> RecordEnd | None:
    if delivery is None:
        return None
    state, code, at = delivery
    if state is None:
        return RecordEnd(HELD, "", None)
    return RecordEnd(state.name, err_of(code, state), format_local(at, zone))


def _number(micro: int) -> msgspec.Raw:
    """Returns credits as an exact JSON number, for example `0.035`."""
    return msgspec.Raw(format_credits(micro))


def no_such_path() -> Fault:
    return Fault(NOT_FOUND, "There is no such path; see the API guide for the paths.")


def not_allowed(methods: Iterable[str]) -> Fault:
    return Fault(METHOD, f"The method is not allowed here; use {', '.join(sorted(methods))}.")


def allow(methods: Iterable[str]) -> tuple[bytes, bytes]:
    """Returns the header of a 405, for example `allow: GET, HEAD`."""
    return b"allow", ", ".join(sorted(methods)).encode()
