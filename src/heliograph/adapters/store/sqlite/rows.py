"""Rows of messages and the values they stand for."""

import sqlite3
from collections.abc import Iterable
from typing import Any

from heliograph.adapters.store.sqlite.statements import Row, many
from heliograph.app.facts import Message

MESSAGE_COLUMNS = (
    "m.account, m.destination, m.sender, m.kind, m.content, m.segments, m.price, m.time, m.expires, m.state, "
    "m.connector, m.wants_receipt, m.callback_url, m.reference, m.batch, m.key, m.tail"
)

MESSAGE_WIDTH = 17


def message_row(message: Message) -> Row:
    """The values of a message in the order of MESSAGE_COLUMNS, all of them plain: sqlite3 binds a plain int or str
    six times as fast as an enum's, a bool or None."""
    return (
        message.account,
        message.destination,
        message.sender,
        +message.kind,
        message.content,
        message.segments,
        message.price,
        message.time,
        message.expires,
        +message.state,
        message.connector,
        +message.wants_receipt,
        message.callback_url,
        message.reference or "",
        message.batch,
        message.key,
        message.tail,
    )


_BY_KEYS = f"""
SELECT {MESSAGE_COLUMNS}
FROM json_each(?) AS wanted
JOIN message AS m ON m.key = wanted.value
"""  # noqa: S608 - made of constants


def message_of(row: tuple[Any, ...], *, queued: bool = False) -> Message:
    """The message of a row that begins with MESSAGE_COLUMNS."""
    return Message(
        account=row[0],
        destination=row[1],
        sender=row[2],
        kind=row[3],
        content=row[4],
        segments=row[5],
        price=row[6],
        time=row[7],
        expires=row[8],
        state=row[9],
        connector=row[10],
        wants_receipt=bool(row[11]),
        callback_url=row[12],
        reference=row[13] or None,
        batch=row[14],
        queued=queued,
        key=row[15],
        tail=row[16],
    )


def messages_of(db: sqlite3.Connection, keys: Iterable[int], *, queued: bool = False) -> list[Message]:
    """The messages of these keys, in that order; those that are not there are left out."""
    return [message_of(row, queued=queued) for row in db.execute(_BY_KEYS, (many(keys),))]
