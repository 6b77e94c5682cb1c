"""Requests that come again: what the reference of each was first used for."""

import sqlite3
from dataclasses import replace

from heliograph.adapters.store.sqlite.rows import MESSAGE_COLUMNS, message_of
from heliograph.app.facts import Accept, Verdict
from heliograph.domain.ids import time_of
from heliograph.domain.message import State

_REFERENCE = "SELECT fingerprint, key, batch, scheduled FROM reference WHERE account = ? AND reference = ?"
_BATCH = "SELECT tail, last_key, total FROM batch WHERE key = ?"
_BATCH_MESSAGES = f"""
SELECT {MESSAGE_COLUMNS} FROM message AS m WHERE m.key > ? AND m.key <= ? AND m.batch = ? ORDER BY m.key
"""  # noqa: S608 - made of constants
_MESSAGE = f"SELECT {MESSAGE_COLUMNS} FROM message AS m WHERE m.key = ?"  # noqa: S608 - made of constants


def earlier(db: sqlite3.Connection, accept: Accept, here: Accept | None) -> tuple[Verdict, Accept | None] | None:
    """What the accept's reference was used for before: in this transaction (`here`), or in the rows."""
    assert accept.reference is not None
    if here is not None:
        if here.fingerprint != accept.fingerprint:
            return Verdict.REFERENCE_CONFLICT, None
        return Verdict.REPLAYED, replace(here, messages=[replace(message) for message in here.messages])
    found = replayed(db, accept.account, accept.reference)
    if found is None:
        return None
    fingerprint, first = found
    if fingerprint != accept.fingerprint:
        return Verdict.REFERENCE_CONFLICT, None
    return Verdict.REPLAYED, first


def replayed(db: sqlite3.Connection, account: int, reference: str) -> tuple[bytes, Accept] | None:
    """`Store.replayed`: the messages have the states that they were first answered with."""
    row = db.execute(_REFERENCE, (account, reference)).fetchone()
    if row is None:
        return None
    fingerprint, key, batch, scheduled = row
    if batch:
        tail, last_key, total = db.execute(_BATCH, (key,)).fetchone()
        messages = [message_of(row) for row in db.execute(_BATCH_MESSAGES, (key, last_key, key))]
    else:
        messages = [message_of(db.execute(_MESSAGE, (key,)).fetchone())]
        tail, total = messages[0].tail, messages[0].price
    for message in messages:
        message.state = State.SCHEDULED if scheduled else State.SENT
    first = Accept(
        account=account,
        messages=messages,
        total=total,
        at=time_of(key),
        scheduled=bool(scheduled),
        batch=bool(batch),
        reference=reference,
        fingerprint=fingerprint,
        key=key,
        tail=tail,
        verdict=Verdict.REPLAYED,
    )
    return fingerprint, first
