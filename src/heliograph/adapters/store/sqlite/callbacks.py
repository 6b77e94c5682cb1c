"""Notices that are owed by the retry table."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from heliograph.adapters.store.sqlite.rows import MESSAGE_COLUMNS, MESSAGE_WIDTH, message_of
from heliograph.adapters.store.sqlite.statements import many
from heliograph.app.notices.notice import FinalState, Notice
from heliograph.domain.receipt import Delivery

_DUE = f"""
SELECT {MESSAGE_COLUMNS}, f.state, f.err, f.at, r.attempts, r.body, r."first"
FROM callback_retry AS r
JOIN final AS f ON f.key = r.key
JOIN message AS m ON m.key = r.key
WHERE r.node IS NULL AND r.due IS NOT NULL AND r.due <= ? AND f.state IS NOT NULL
ORDER BY r.due, r.key LIMIT ?
"""  # noqa: S608 - made of constants
_CLAIM = "UPDATE callback_retry SET node = ? WHERE key IN (SELECT value FROM json_each(?))"
_NEXT_DUE = "SELECT min(due) FROM callback_retry WHERE node IS NULL AND due IS NOT NULL"
_ENDED = """
SELECT c.key FROM callback AS c
JOIN message AS m ON m.key = c.key
WHERE c."end" <> 0 AND (?1 IS NULL OR m.account = ?1) AND (?2 IS NULL OR c.key = ?2)
"""
_OWE_AGAIN = """
INSERT INTO callback_retry (key, due, attempts, body, problem, "first")
SELECT value, ?1, 0, x'', '', ?1 FROM json_each(?2) WHERE true
ON CONFLICT (key) DO UPDATE SET due = ?1, attempts = 0, "first" = ?1, node = NULL
"""
_UNDO_END = "DELETE FROM callback WHERE key IN (SELECT value FROM json_each(?))"


def claim_callbacks(db: sqlite3.Connection, limit: int, now: int, node: int) -> list[Notice]:
    owed = [notice_of(row) for row in db.execute(_DUE, (now, limit))]
    if owed:
        db.execute(_CLAIM, (node, many(each.key for each in owed)))
    return owed


def notice_of(row: Sequence[Any]) -> Notice:
    """Reads MESSAGE_COLUMNS, then state, err and time of the final, then attempts, body and when it was first owed."""
    state, err, at, attempts, body, first = row[MESSAGE_WIDTH:]
    message = message_of(tuple(row))
    return Notice(message.account, message.key, FinalState(message, Delivery(state), err, at), first, attempts, body)


def next_callback_due(db: sqlite3.Connection) -> int | None:
    due: int | None = db.execute(_NEXT_DUE).fetchone()[0]
    return due


def replay(db: sqlite3.Connection, account: int | None, key: int | None, now: int) -> int:
    keys = [key for (key,) in db.execute(_ENDED, (account, key))]
    if keys:
        db.execute(_OWE_AGAIN, (now, many(keys)))
        db.execute(_UNDO_END, (many(keys),))
    return len(keys)
