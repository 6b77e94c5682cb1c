"""The history of a message for people, made from its rows."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby

from heliograph.app.facts import NOT_SENT, CallbackEnd, Submission
from heliograph.app.records import MessageHold, MessageRecord
from heliograph.domain.display import counted
from heliograph.domain.limits.gate import Holder, holder_of
from heliograph.domain.message.ids import time_of
from heliograph.domain.message.receipt import Delivery, in_words, is_final
from heliograph.domain.money.amounts import EntryKind, format_credits

ANSWERED = "HTTP "
"""The beginning of the problem of a try that got an answer. The status follows, such as `HTTP 500`."""

_CALLBACK_ENDS = {
    CallbackEnd.DELIVERED: "delivered",
    CallbackEnd.GONE: "ended: the receiver answered that it is gone (410)",
    CallbackEnd.FAILED: "failed",
}


_HOLDERS = {
    Holder.ADMINISTRATOR: "by an administrator",
    Holder.GUARD: "by the pumping guard, with the account's messages to {}",
    Holder.SUSPENDED: "because the account is suspended",
    None: "",
}

_UNFIT = "it cannot be written for this operator"

SHOWN = 3
"""The longest run of equal lines that is shown completely."""


@dataclass(slots=True)
class Event:
    """A line of a message's history."""

    at: int
    """Milliseconds."""
    event: str
    """The kind of event, for example `Submitted`."""
    segment: int | None
    """Counted from 1; None for the whole message."""
    detail: str
    """For example "to op1 as 5f2c"."""


def history(
    record: MessageRecord,
    names: Mapping[int, str] | None = None,
    status_name: Callable[[int], str] = "0x{:08X}".format,
    *,
    for_customer: bool = False,
) -> list[Event]:
    """Returns the events of a message, oldest first.

    `names` are of connectors without a row. Events for a customer leave out why a receiver could not be reached.
    Otherwise a customer could choose addresses to explore the network of the gateway.
    """
    known = {**(names or {}), **record.connectors}

    def name(connector: int) -> str:
        return known.get(connector, f"connector {connector}")

    events = [
        *_acceptance(record),
        *_submission(record, name, status_name),
        *_holds(record, for_customer=for_customer),
        *_end(record),
        *_callback(record, for_customer=for_customer),
        *_feedback(record),
    ]
    return sorted(events, key=lambda event: event.at)


def _acceptance(record: MessageRecord) -> list[Event]:
    message = record.message
    charges = [entry.at for entry in record.entries if entry.kind is EntryKind.CHARGE]
    at = charges[0] if charges else min(message.time, time_of(message.key))
    events = [Event(at, "Accepted", None, counted(message.segments, "segment"))]
    if message.price:
        events.append(Event(at, "Charged", None, format_credits(message.price)))
    first = record.moves[0].was if record.moves else message.time
    if first > time_of(message.key):
        events.append(Event(at, "Scheduled", None, f"for {_utc(first)}"))
    return events + [Event(move.at, "Rescheduled", None, f"for {_utc(move.time)}") for move in record.moves]


def _holds(record: MessageRecord, *, for_customer: bool) -> list[Event]:
    events = []
    for hold in record.holds:
        why = "for review" if for_customer else _HOLDERS[holder_of(hold.why)].format(hold.why)
        if expired_while_held(record, hold):
            why += ", until its validity ended"
        events.append(Event(hold.began, "Held", None, why))
        if hold.ended is not None:
            events.append(Event(hold.ended, "Released", None, ""))
    return events


def expired_while_held(record: MessageRecord, hold: MessageHold) -> bool:
    return hold.ended is None and record.final is not None and record.final[0] is Delivery.EXPIRED


def _submission(record: MessageRecord, name: Callable[[int], str], status_name: Callable[[int], str]) -> list[Event]:
    events = []
    for attempt in record.attempts:
        if attempt.status == 0:
            line = "Submitted", f"to {name(attempt.connector)} as {attempt.operator_id}"
        elif attempt.status == NOT_SENT:
            line = "NotSent", f"to {name(attempt.connector)}: {_UNFIT}"
        elif attempt.status < 0:
            line = "NoAnswer", f"from {name(attempt.connector)}"
        else:
            line = "Deferred", f"{name(attempt.connector)} responded with {status_name(attempt.status)}"
        events.append(Event(attempt.at, line[0], attempt.segment + 1, line[1]))
    for sent in record.submissions:
        if sent.status == NOT_SENT:
            unfit = record.final is not None and record.final[0] is Delivery.REJECTD
            why = _UNFIT if unfit else "its validity was over"
            line = "NotSent", f"to {name(sent.connector)}: {why}"
        elif sent.status < 0:
            line = "NoAnswer", f"from {name(sent.connector)}; not tried again"
        elif sent.status == 0:
            instead = _instead(record, sent, name, status_name)
            line = "Submitted", f"to {name(sent.connector)} as {sent.operator_id}{instead}"
        else:
            line = "Refused", f"{name(sent.connector)} responded with {status_name(sent.status)}"
        events.append(Event(sent.at, line[0], sent.segment + 1, line[1]))
    events += [
        Event(receipt.at, "Receipt", receipt.segment + 1, in_words(receipt.state, receipt.err))
        for receipt in record.receipts
    ]
    return events


def _instead(
    record: MessageRecord, sent: Submission, name: Callable[[int], str], status_name: Callable[[int], str]
) -> str:
    """Returns why a part went to this connector rather than to another, or ""."""
    earlier = [each for each in record.attempts if each.connector != sent.connector and each.at <= sent.at]
    if earlier:
        last = max(earlier, key=lambda attempt: attempt.at)
        if last.status == 0:
            ends = [each for each in record.receipts if last.at <= each.at <= sent.at and is_final(each.state)]
            last_end = max(ends, key=lambda receipt: receipt.at, default=None)
            why = f" ({in_words(last_end.state, last_end.err)})" if last_end is not None else ""
            return f", since {name(last.connector)} did not deliver it{why}"
        if last.status > 0:
            return f", since {name(last.connector)} refused it with {status_name(last.status)}"
        did = "cannot take it" if last.status == NOT_SENT else "did not answer"
        return f", since {name(last.connector)} {did}"
    first = record.message.connector
    return f", in place of {name(first)}" if first != sent.connector else ""


def _end(record: MessageRecord) -> list[Event]:
    events = []
    if record.final is not None:
        state, err, at = record.final
        if state is None:
            events.append(Event(at, "Cancelled", None, ""))
        else:
            events.append(Event(at, "Final", None, in_words(state, err)))
    events += [
        Event(entry.at, "Refunded", None, format_credits(entry.amount))
        for entry in record.entries
        if entry.kind is EntryKind.REFUND
    ]
    return events


def _feedback(record: MessageRecord) -> list[Event]:
    if record.feedback is None:
        return []
    delivered, at = record.feedback
    return [Event(at, "Feedback", None, "delivered" if delivered else "not delivered")]


def _callback(record: MessageRecord, *, for_customer: bool) -> list[Event]:
    callback = record.callback
    if callback is None:
        return []
    problem = callback.problem
    if for_customer and problem and not problem.startswith(ANSWERED):
        problem = "the receiver could not be reached"
    if callback.end is not None:
        tries = counted(callback.attempts, "attempt")
        answer = f", last answer {callback.code}" if callback.code else ""
        if callback.end is CallbackEnd.FAILED and problem and not answer:
            answer = f", last cause: {problem}"
        return [Event(callback.at, "Callback", None, f"{_CALLBACK_ENDS[callback.end]} after {tries}{answer}")]
    if callback.due is None:
        return []
    failed = f"{counted(callback.attempts, 'try', 'tries')} failed ({problem}), " if callback.attempts else ""
    return [Event(callback.first, "CallbackOwed", None, f"{failed}next at {_utc(callback.due)}")]


def _utc(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def condense(events: Iterable[Event]) -> Iterator[Event]:
    """Replaces the middle of each longer run of lines that differ only in their time by one line with their number."""
    for _, equal in groupby(events, lambda event: (event.event, event.segment, event.detail)):
        row = list(equal)
        if len(row) <= SHOWN:
            yield from row
            continue
        first, *between, last = row
        yield first
        yield Event(between[0].at, first.event, first.segment, f"... and {len(between)} more times ...")
        yield last
