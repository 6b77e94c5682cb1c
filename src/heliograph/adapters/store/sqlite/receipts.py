"""Receipts: what is awaited, what came too early, what matches nothing."""

import sqlite3
from collections.abc import Iterable, Sequence

from heliograph.adapters.store.sqlite.rows import messages_of
from heliograph.adapters.store.sqlite.statements import many
from heliograph.app.facts import EarlyReceipt, Outstanding
from heliograph.domain.ids import first_key_at
from heliograph.domain.receipt import Delivery

_AWAITED = """
SELECT DISTINCT a.key FROM json_each(?) AS wanted
JOIN awaiting AS a ON a.connector = ? AND a.operator_id = wanted.value
WHERE NOT EXISTS (SELECT 1 FROM final WHERE final.key = a.key)
ORDER BY a.key
"""
_OPEN = """
SELECT key FROM message WHERE key = ? AND NOT EXISTS (SELECT 1 FROM final WHERE final.key = message.key)
"""
_OVERDUE = """
SELECT a.key, m.expires < ?2 AND NOT EXISTS (SELECT 1 FROM final WHERE final.key = a.key)
FROM (SELECT DISTINCT key FROM awaiting WHERE key > ?3 AND key < ?1 ORDER BY key LIMIT ?4) AS a
JOIN message AS m ON m.key = a.key
"""
_PART_STATES = """
SELECT key, segment, state, err FROM part_receipt WHERE key IN (SELECT value FROM json_each(?))
ORDER BY key, segment
"""
_TAKEN = """
SELECT key, segment, connector, operator_id FROM sent
WHERE key IN (SELECT value FROM json_each(?)) AND status = 0
ORDER BY key, segment
"""
_ORPHANS = "SELECT connector, operator_id, destination, state, err, at FROM early ORDER BY id DESC LIMIT ?"
_FORGET = """
DELETE FROM early WHERE id IN (
    SELECT id FROM (SELECT id, at FROM early ORDER BY id LIMIT ?3)
    WHERE at < ?1 OR id <= (SELECT max(id) FROM early) - ?2
)
"""


def find_outstanding(db: sqlite3.Connection, connector: int, operator_ids: Sequence[str]) -> list[Outstanding]:
    return outstanding_of(db, [key for (key,) in db.execute(_AWAITED, (many(operator_ids), connector))])


def outstanding(db: sqlite3.Connection, key: int) -> Outstanding | None:
    found = outstanding_of(db, [key for (key,) in db.execute(_OPEN, (key,))])
    return found[0] if found else None


def overdue(db: sqlite3.Connection, expired: int, beyond: int, limit: int) -> tuple[list[Outstanding], int | None]:
    rows = sorted(db.execute(_OVERDUE, (first_key_at(expired), expired, beyond, limit)))
    found = outstanding_of(db, [key for key, is_overdue in rows if is_overdue])
    return found, rows[-1][0] if len(rows) == limit else None


def outstanding_of(db: sqlite3.Connection, keys: Iterable[int]) -> list[Outstanding]:
    """What is known of the parts of these messages; the keys are of messages without a final."""
    keys = list(keys)
    if not keys:
        return []
    states: dict[int, dict[int, tuple[Delivery, str]]] = {}
    for key, segment, state, err in db.execute(_PART_STATES, (many(keys),)):
        states.setdefault(key, {})[segment] = (Delivery(state), err)
    operator_ids: dict[int, dict[tuple[int, str], tuple[int, ...]]] = {}
    for key, segment, connector, operator_id in db.execute(_TAKEN, (many(keys),)):
        if segment not in states.get(key, {}):
            of = operator_ids.setdefault(key, {})
            of[connector, operator_id] = (*of.get((connector, operator_id), ()), segment)
    return [
        Outstanding(message, operator_ids.get(message.key, {}), states.get(message.key, {}))
        for message in messages_of(db, keys)
    ]


def orphans(db: sqlite3.Connection, limit: int) -> list[EarlyReceipt]:
    return [
        EarlyReceipt(connector, operator_id, destination, Delivery(state), err, at)
        for connector, operator_id, destination, state, err, at in db.execute(_ORPHANS, (limit,))
    ]


def forget(db: sqlite3.Connection, before: int, most: int, limit: int) -> int:
    return db.execute(_FORGET, (before, most, limit)).rowcount
