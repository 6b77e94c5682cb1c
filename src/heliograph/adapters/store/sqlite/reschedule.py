"""What customers change after acceptance: cancelling and moving scheduled messages."""

import sqlite3

from heliograph.adapters.store.sqlite.money import Book
from heliograph.adapters.store.sqlite.rows import messages_of
from heliograph.adapters.store.sqlite.statements import many
from heliograph.app.configuration import Missing
from heliograph.app.facts import MOST_MOVES, Message
from heliograph.app.ports import NotScheduled

_ONE = "SELECT key, state, time FROM message WHERE key = ? AND account = ? AND tail = ?"
_BATCH = "SELECT last_key FROM batch WHERE key = ? AND account = ? AND tail = ?"
_OF_BATCH = "SELECT key, state, time FROM message WHERE key > ? AND key <= ? AND batch = ? ORDER BY key"
_CANCEL = "UPDATE message SET state = 2 WHERE key IN (SELECT value FROM json_each(?))"
_END = """
INSERT INTO final (key, state, err, at, owed) SELECT value, NULL, '', ?, 0 FROM json_each(?)
"""
_DEQUEUE = "DELETE FROM queue WHERE key IN (SELECT value FROM json_each(?))"
_NOTE = """
INSERT INTO moved (key, at, was, time) SELECT key, ?1, time, ?2 FROM message
WHERE key IN (SELECT value FROM json_each(?3)) AND (SELECT count(*) FROM moved AS o WHERE o.key = message.key) < ?4
ON CONFLICT (key, at) DO UPDATE SET time = excluded.time
"""
_MOVE = "UPDATE message SET time = ?, expires = ? WHERE key IN (SELECT value FROM json_each(?))"
_REQUEUE = "UPDATE queue SET due = ?, expires = ? WHERE key IN (SELECT value FROM json_each(?))"


def cancel(db: sqlite3.Connection, account: int, key: int, tail: int, now: int) -> list[Message]:
    keys = _still_scheduled(db, account, key, tail, now)
    db.execute(_CANCEL, (many(keys),))
    db.execute(_END, (now, many(keys)))
    db.execute(_DEQUEUE, (many(keys),))
    messages = messages_of(db, keys)
    book = Book(db)
    book.refund(account, [(message.key, message.price) for message in messages], now, "cancelled")
    book.close()
    return messages


def reschedule(
    db: sqlite3.Connection, account: int, key: int, tail: int, time: int, expires: int, now: int
) -> list[Message]:
    keys = _still_scheduled(db, account, key, tail, now)
    db.execute(_NOTE, (now, time, many(keys), MOST_MOVES))
    db.execute(_MOVE, (time, expires, many(keys)))
    db.execute(_REQUEUE, (time, expires, many(keys)))
    return messages_of(db, keys)


def _still_scheduled(db: sqlite3.Connection, account: int, key: int, tail: int, now: int) -> list[int]:
    """A claim makes a message Sent, so what is Scheduled here is nobody else's before this transaction ends."""
    rows = db.execute(_ONE, (key, account, tail)).fetchall()
    if not rows:
        batch = db.execute(_BATCH, (key, account, tail)).fetchone()
        if batch is None:
            raise Missing("no such message")
        rows = db.execute(_OF_BATCH, (key, batch[0], key)).fetchall()
    keys = [key for key, state, time in rows if state == 0 and time > now]
    if not keys:
        raise NotScheduled("sent, cancelled or due already")
    return keys
