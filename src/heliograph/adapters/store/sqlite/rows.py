"""Rows of messages and the values they stand for."""

import sqlite3
from collections.abc import Iterable

from heliograph.adapters.store.shared.rows import MESSAGE_COLUMNS, MESSAGE_WIDTH, message_of
from heliograph.adapters.store.sqlite.statements import Row, many
from heliograph.app.facts import Message

__all__ = ["MESSAGE_COLUMNS", "MESSAGE_WIDTH", "message_of", "message_row", "messages_of"]


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


def messages_of(db: sqlite3.Connection, keys: Iterable[int], *, queued: bool = False) -> list[Message]:
    """The messages of these keys, in that order; those that are not there are left out."""
    return [message_of(row, queued=queued) for row in db.execute(_BY_KEYS, (many(keys),))]
