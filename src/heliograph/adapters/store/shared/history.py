"""A message's history for people, put together from its rows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from heliograph.app.facts import NOT_SENT, CallbackEnd, Message
from heliograph.app.ports import Event
from heliograph.domain.display import counted
from heliograph.domain.ids import time_of
from heliograph.domain.money import format_credits
from heliograph.domain.receipt import Delivery

Rows = Iterable[Sequence[Any]]


@dataclass(slots=True)
class Rowset:
    """The rows of one message, those of each kind in the order of time."""

    charge: int | None
    """When it (or its batch) was charged."""
    moves: Sequence[Sequence[int]]
    """(at, which time it had, which it was given)"""
    attempts: Rows
    """(segment, status, at, connector, its name or None)"""
    sent: Rows
    """(segment, status, operator's id, at, connector, its name or None)"""
    receipts: Rows
    """(segment, state, err, at)"""
    finals: Rows
    """(state or None, err, at)"""
    refunds: Rows
    """(amount, at)"""
    retries: Rows
    """(attempts, problem, due, first)"""
    callbacks: Rows
    """(end, code, attempts, at)"""


_CALLBACK_ENDS = {
    CallbackEnd.DELIVERED: "delivered",
    CallbackEnd.GONE: "ended: the receiver says that it is gone",
    CallbackEnd.GIVEN_UP: "given up",
}


def compose(message: Message, rows: Rowset) -> list[Event]:
    """`Store.history`."""
    events = _acceptance(message, rows.charge, rows.moves) + _submission(rows) + _end(rows) + _callback(rows)
    return sorted(events, key=lambda event: event.at)


def _acceptance(message: Message, charge: int | None, moves: Sequence[Sequence[int]]) -> list[Event]:
    at = min(message.time, time_of(message.key)) if charge is None else charge
    parts = "1 segment" if message.segments == 1 else f"{message.segments} segments"
    events = [Event(at, "Accepted", None, parts)]
    if message.price:
        events.append(Event(at, "Charged", None, format_credits(message.price)))
    first = moves[0][1] if moves else message.time
    if first > time_of(message.key):
        events.append(Event(at, "Scheduled", None, f"for {_utc(first)}"))
    events += [Event(moved, "Rescheduled", None, f"for {_utc(time)}") for moved, _, time in moves]
    return events


def _submission(rows: Rowset) -> list[Event]:
    events = []
    for segment, status, at, connector, name in rows.attempts:
        if status < 0:
            events.append(Event(at, "NoAnswer", segment + 1, f"from {_name(connector, name)}"))
        else:
            events.append(Event(at, "Deferred", segment + 1, f"{_name(connector, name)} answered 0x{status:08X}"))
    for segment, status, operator_id, at, connector, name in rows.sent:
        if status == NOT_SENT:
            events.append(Event(at, "NotSent", segment + 1, f"to {_name(connector, name)}: its time was over"))
        elif status < 0:
            events.append(Event(at, "NoAnswer", segment + 1, f"from {_name(connector, name)}; not tried again"))
        elif status == 0:
            events.append(Event(at, "Submitted", segment + 1, f"to {_name(connector, name)} as {operator_id}"))
        else:
            events.append(Event(at, "Refused", segment + 1, f"{_name(connector, name)} answered 0x{status:08X}"))
    for segment, state, err, at in rows.receipts:
        events.append(Event(at, "Receipt", segment + 1, f"{Delivery(state).name} {err}"))
    return events


def _end(rows: Rowset) -> list[Event]:
    events = []
    for state, err, at in rows.finals:
        if state is None:
            events.append(Event(at, "Cancelled", None, ""))
        else:
            events.append(Event(at, "Final", None, f"{Delivery(state).name} {err}"))
    for amount, at in rows.refunds:
        events.append(Event(at, "Refunded", None, format_credits(amount)))
    return events


def _callback(rows: Rowset) -> list[Event]:
    events = []
    for attempts, problem, due, first in rows.retries:
        failed = f"{counted(attempts, 'try', 'tries')} failed ({problem}), " if attempts else ""
        events.append(Event(first, "CallbackOwed", None, f"{failed}next at {_utc(due)}"))
    for end, code, attempts, at in rows.callbacks:
        tries = counted(attempts, "attempt")
        answer = f", last answer {code}" if code else ""
        events.append(Event(at, "Callback", None, f"{_CALLBACK_ENDS[CallbackEnd(end)]} after {tries}{answer}"))
    return events


def _name(connector: int, name: str | None) -> str:
    """A connector that was removed has only its number."""
    return name if name is not None else f"connector {connector}"


def _utc(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
