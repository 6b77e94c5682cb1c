"""The queue: claims of scheduled, deferred and overflowing messages."""

import sqlite3
from collections.abc import Sequence

from heliograph.adapters.store.sqlite.rows import messages_of
from heliograph.adapters.store.sqlite.statements import many
from heliograph.app.facts import NO_ANSWER, Queued

_DUE = """
SELECT key, attempted, connector FROM queue WHERE node IS NULL AND connector = ? AND due <= ? ORDER BY due, key LIMIT ?
"""
_DUE_OF = """
SELECT key, attempted, connector FROM queue WHERE node IS NULL AND connector = ? AND account = ? AND due <= ?
ORDER BY due, key LIMIT ?
"""
_EXPIRED = (
    "SELECT key, attempted, connector FROM queue WHERE node IS NULL AND expires <= ? ORDER BY expires, key LIMIT ?"
)
_CLAIM = "UPDATE queue SET node = ? WHERE key IN (SELECT value FROM json_each(?))"
_BECOME_SENT = "UPDATE message SET state = 1 WHERE state = 0 AND key IN (SELECT value FROM json_each(?))"
_ANSWERED = "SELECT key, segment, status FROM sent WHERE key IN (SELECT value FROM json_each(?))"

# Each connector is found by a jump in the index, since SQLite would read the whole of it for a GROUP BY.
_NEXT_DUE = """
WITH RECURSIVE waiting (connector) AS (
    SELECT min(connector) FROM queue WHERE node IS NULL
    UNION ALL
    SELECT (SELECT min(connector) FROM queue WHERE node IS NULL AND connector > waiting.connector)
    FROM waiting WHERE waiting.connector IS NOT NULL
)
SELECT connector, (SELECT min(due) FROM queue WHERE node IS NULL AND connector = waiting.connector)
FROM waiting WHERE connector IS NOT NULL
"""

# The same for the accounts of one connector.
_ACCOUNTS = """
WITH RECURSIVE holder (account) AS (
    SELECT min(account) FROM queue WHERE node IS NULL AND connector = ?1
    UNION ALL
    SELECT (SELECT min(account) FROM queue WHERE node IS NULL AND connector = ?1 AND account > holder.account)
    FROM holder WHERE holder.account IS NOT NULL
)
SELECT account FROM holder WHERE account IS NOT NULL AND EXISTS (
    SELECT 1 FROM queue WHERE node IS NULL AND connector = ?1 AND account = holder.account AND due <= ?2
)
"""

_RELEASE = "UPDATE queue SET node = NULL WHERE node = ?"
_RELEASE_CALLBACKS = "UPDATE callback_retry SET node = NULL WHERE node = ?"


def claim_queued(
    db: sqlite3.Connection, connector: int, limit: int, now: int, node: int, accounts: Sequence[int]
) -> list[Queued]:
    if not accounts:
        return _claim(db, db.execute(_DUE, (connector, now, limit)).fetchall(), node)
    rows: list[tuple[int, int, int]] = []
    for account in accounts:
        rows += db.execute(_DUE_OF, (connector, account, now, limit))
    return _claim(db, rows, node)


def queued_accounts(db: sqlite3.Connection, connector: int, now: int) -> list[int]:
    return [account for (account,) in db.execute(_ACCOUNTS, (connector, now))]


def claim_expired(db: sqlite3.Connection, limit: int, now: int, node: int) -> list[Queued]:
    return _claim(db, db.execute(_EXPIRED, (now, limit)).fetchall(), node)


def next_due(db: sqlite3.Connection) -> dict[int, int]:
    return dict(db.execute(_NEXT_DUE))


def release(db: sqlite3.Connection, node: int) -> int:
    return db.execute(_RELEASE, (node,)).rowcount + db.execute(_RELEASE_CALLBACKS, (node,)).rowcount


def _claim(db: sqlite3.Connection, rows: list[tuple[int, int, int]], node: int) -> list[Queued]:
    """The messages come with the connector that they now wait for."""
    if not rows:
        return []
    keys = many(key for key, _, _ in rows)
    db.execute(_CLAIM, (node, keys))
    db.execute(_BECOME_SENT, (keys,))
    claimed = queued_of(db, {key: attempted for key, attempted, _ in rows}, queued=True)
    connectors = {key: connector for key, _, connector in rows}
    for queued in claimed:
        queued.message.connector = connectors[queued.message.key]
    return claimed


def queued_of(db: sqlite3.Connection, attempted: dict[int, int], *, queued: bool) -> list[Queued]:
    """The messages of these keys with what was answered already; `attempted` says of each whether it may have been
    sent."""
    answered: dict[int, set[int]] = {}
    taken: dict[int, set[int]] = {}
    for key, segment, status in db.execute(_ANSWERED, (many(attempted),)):
        answered.setdefault(key, set()).add(segment)
        if status in {0, NO_ANSWER}:
            taken.setdefault(key, set()).add(segment)
    return [
        Queued(
            message,
            bool(attempted[message.key]),
            frozenset(answered.get(message.key, ())),
            frozenset(taken.get(message.key, ())),
        )
        for message in messages_of(db, attempted, queued=queued)
    ]
