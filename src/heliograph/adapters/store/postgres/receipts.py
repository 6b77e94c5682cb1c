"""Receipts: what is awaited, what came too early, what matches nothing."""

from collections.abc import Iterable, Sequence
from typing import Any

from heliograph.adapters.store.postgres.db import Db
from heliograph.adapters.store.postgres.rows import messages_of
from heliograph.app.facts import EarlyReceipt, Outstanding
from heliograph.domain.ids import first_key_at
from heliograph.domain.receipt import Delivery

_AWAITED = """
SELECT DISTINCT a.key FROM unnest($2::text[]) AS w (operator_id)
CROSS JOIN LATERAL (
    SELECT key FROM awaiting AS a WHERE a.connector = $1 AND a.operator_id = w.operator_id OFFSET 0
) AS a
WHERE NOT EXISTS (SELECT 1 FROM final AS f WHERE f.key = a.key)
ORDER BY a.key
"""
_OPEN = "SELECT key FROM message WHERE key = $1 AND NOT EXISTS (SELECT 1 FROM final WHERE final.key = message.key)"
_OVERDUE = """
SELECT a.key, m.expires < $2 AND NOT EXISTS (SELECT 1 FROM final AS f WHERE f.key = a.key)
FROM (SELECT DISTINCT key FROM awaiting WHERE key > $3 AND key < $1 ORDER BY key LIMIT $4) AS a
JOIN message AS m ON m.key = a.key
ORDER BY a.key
"""
_ENDS = "SELECT key FROM part_receipt WHERE at >= $1 AND at < $2"
_GATHERED = """
SELECT k.key FROM unnest($1::bigint[]) AS k (key)
WHERE NOT EXISTS (SELECT 1 FROM final AS f WHERE f.key = k.key)
  AND (SELECT count(*) FROM part_receipt AS p WHERE p.key = k.key AND p.at < $2)
      = (SELECT m.segments FROM message AS m WHERE m.key = k.key)
ORDER BY k.key
"""
_PART_STATES = "SELECT key, segment, state, err FROM part_receipt WHERE key = ANY ($1::bigint[]) ORDER BY key, segment"
_TAKEN = """
SELECT key, segment, connector, operator_id FROM sent
WHERE key = ANY ($1::bigint[]) AND status = 0 ORDER BY key, segment
"""
_ORPHANS = "SELECT connector, operator_id, destination, state, err, at FROM early ORDER BY id DESC LIMIT $1"
# MATERIALIZED, or a plan that asks for the old ones once a row finds others each time, and deletes more than so many.
_FORGET = """
WITH oldest AS MATERIALIZED (
    SELECT id, at FROM early ORDER BY id LIMIT $3
), old AS MATERIALIZED (
    SELECT id FROM early
    WHERE id IN (SELECT id FROM oldest WHERE at < $1 OR id <= (SELECT max(id) FROM early) - $2)
    ORDER BY id FOR UPDATE
), gone AS (
    DELETE FROM early WHERE id IN (SELECT id FROM old) RETURNING 1
)
SELECT count(*) FROM gone
"""


async def find_outstanding(db: Db, connector: int, operator_ids: Sequence[str]) -> list[Outstanding]:
    return await outstanding_of(db, await _keys(db, _AWAITED, connector, list(operator_ids)))


async def outstanding(db: Db, key: int) -> Outstanding | None:
    found = await outstanding_of(db, await _keys(db, _OPEN, key))
    return found[0] if found else None


async def overdue(db: Db, expired: int, beyond: int, limit: int) -> tuple[list[Outstanding], int | None]:
    rows = await db.fetch(_OVERDUE, first_key_at(expired), expired, beyond, limit)
    found = await outstanding_of(db, [key for key, is_overdue in rows if is_overdue])
    return found, rows[-1][0] if len(rows) == limit else None


async def gathered(db: Db, start: int, end: int) -> tuple[list[int], int]:
    ends = await _keys(db, _ENDS, start, end)
    return await _keys(db, _GATHERED, list(dict.fromkeys(ends)), end), len(ends)


async def _keys(db: Db, query: str, *values: Any) -> list[int]:
    return [row[0] for row in await db.fetch(query, *values)]


async def outstanding_of(db: Db, keys: Iterable[int]) -> list[Outstanding]:
    """What is known of the parts of these messages; the keys are of messages without a final."""
    keys = list(keys)
    if not keys:
        return []
    states: dict[int, dict[int, tuple[Delivery, str]]] = {}
    for key, segment, state, err in await db.fetch(_PART_STATES, keys):
        states.setdefault(key, {})[segment] = (Delivery(state), err)
    operator_ids: dict[int, dict[tuple[int, str], tuple[int, ...]]] = {}
    for key, segment, connector, operator_id in await db.fetch(_TAKEN, keys):
        if segment not in states.get(key, {}):
            of = operator_ids.setdefault(key, {})
            of[connector, operator_id] = (*of.get((connector, operator_id), ()), segment)
    return [
        Outstanding(message, operator_ids.get(message.key, {}), states.get(message.key, {}))
        for message in await messages_of(db, keys)
    ]


async def orphans(db: Db, limit: int) -> list[EarlyReceipt]:
    return [
        EarlyReceipt(connector, operator_id, destination, Delivery(state), err, at)
        for connector, operator_id, destination, state, err, at in await db.fetch(_ORPHANS, limit)
    ]


async def forget(db: Db, before: int, most: int, limit: int) -> int:
    count: int = await db.fetchval(_FORGET, before, most, limit)
    return count
