"""A message's history for people, put together from its rows."""

import sqlite3
from datetime import UTC, datetime

from heliograph.adapters.store.sqlite.browse import message
from heliograph.app.facts import CallbackEnd, Message
from heliograph.app.ports import Event
from heliograph.domain.ids import time_of
from heliograph.domain.money import format_credits
from heliograph.domain.receipt import Delivery

_CHARGE = "SELECT at FROM ledger WHERE account = ? AND key = ? AND kind = 0"
_ATTEMPTS = """
SELECT a.segment, a.status, a.at, a.connector, c.name FROM attempt AS a
LEFT JOIN connector AS c ON c.id = a.connector WHERE a.key = ? ORDER BY a.at, a.segment
"""
_SENT = """
SELECT s.segment, s.status, s.operator_id, s.at, s.connector, c.name FROM sent AS s
LEFT JOIN connector AS c ON c.id = s.connector WHERE s.key = ? ORDER BY s.at, s.segment
"""
_RECEIPTS = """
SELECT segment, state, err, at FROM progress WHERE key = ?1
UNION ALL SELECT segment, state, err, at FROM part_receipt WHERE key = ?1
ORDER BY at, segment
"""
_FINAL = "SELECT state, err, at FROM final WHERE key = ?"
_REFUND = "SELECT amount, at FROM ledger WHERE message = ? AND kind = 1"
_CALLBACK = 'SELECT "end", code, attempts, at FROM callback WHERE key = ?'
_RETRY = 'SELECT attempts, problem, due, "first" FROM callback_retry WHERE key = ? AND due IS NOT NULL'

_CALLBACK_ENDS = {
    CallbackEnd.DELIVERED: "delivered",
    CallbackEnd.GONE: "ended: the receiver says that it is gone",
    CallbackEnd.GIVEN_UP: "given up",
}


def history(db: sqlite3.Connection, account: int, key: int, tail: int) -> list[Event] | None:
    found = message(db, account, key, tail)
    if found is None:
        return None
    events = _acceptance(db, found) + _submission(db, key) + _end(db, key) + _callback(db, key)
    return sorted(events, key=lambda event: event.at)


def _acceptance(db: sqlite3.Connection, message: Message) -> list[Event]:
    charge = db.execute(_CHARGE, (message.account, message.batch or message.key)).fetchone()
    at = charge[0] if charge else min(message.time, time_of(message.key))
    parts = "1 segment" if message.segments == 1 else f"{message.segments} segments"
    events = [Event(at, "Accepted", None, parts)]
    if message.price:
        events.append(Event(at, "Charged", None, format_credits(message.price)))
    if message.time > time_of(message.key):
        events.append(Event(at, "Scheduled", None, f"for {_utc(message.time)}"))
    return events


def _submission(db: sqlite3.Connection, key: int) -> list[Event]:
    events = []
    for segment, status, at, connector, name in db.execute(_ATTEMPTS, (key,)):
        if status < 0:
            events.append(Event(at, "NoAnswer", segment + 1, f"from {_name(connector, name)}"))
        else:
            events.append(Event(at, "Deferred", segment + 1, f"{_name(connector, name)} answered 0x{status:08X}"))
    for segment, status, operator_id, at, connector, name in db.execute(_SENT, (key,)):
        if status < 0:
            events.append(Event(at, "NoAnswer", segment + 1, f"from {_name(connector, name)}; not tried again"))
        elif status == 0:
            events.append(Event(at, "Submitted", segment + 1, f"to {_name(connector, name)} as {operator_id}"))
        else:
            events.append(Event(at, "Refused", segment + 1, f"{_name(connector, name)} answered 0x{status:08X}"))
    for segment, state, err, at in db.execute(_RECEIPTS, (key,)):
        events.append(Event(at, "Receipt", segment + 1, f"{Delivery(state).name} {err}"))
    return events


def _end(db: sqlite3.Connection, key: int) -> list[Event]:
    events = []
    for state, err, at in db.execute(_FINAL, (key,)):
        if state is None:
            events.append(Event(at, "Cancelled", None, ""))
        else:
            events.append(Event(at, "Final", None, f"{Delivery(state).name} {err}"))
    for amount, at in db.execute(_REFUND, (key,)):
        events.append(Event(at, "Refunded", None, format_credits(amount)))
    return events


def _callback(db: sqlite3.Connection, key: int) -> list[Event]:
    events = []
    for attempts, problem, due, first in db.execute(_RETRY, (key,)):
        failed = f"{attempts} failed ({problem}), " if attempts else ""
        events.append(Event(first, "CallbackOwed", None, f"{failed}next at {_utc(due)}"))
    for end, code, attempts, at in db.execute(_CALLBACK, (key,)):
        tries = "1 attempt" if attempts == 1 else f"{attempts} attempts"
        answer = f", last answer {code}" if code else ""
        events.append(Event(at, "Callback", None, f"{_CALLBACK_ENDS[CallbackEnd(end)]} after {tries}{answer}"))
    return events


def _name(connector: int, name: str | None) -> str:
    """A connector that was removed has only its number."""
    return name if name is not None else f"connector {connector}"


def _utc(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
