"""Rows of messages and the values they stand for."""

from heliograph.adapters.store.shared.rows import MESSAGE_COLUMNS, MESSAGE_WIDTH, message_of
from heliograph.adapters.store.sqlite.statements import Row
from heliograph.app.facts import Message

__all__ = ["MESSAGE_COLUMNS", "MESSAGE_WIDTH", "message_of", "message_row"]


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
