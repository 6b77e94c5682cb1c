"""Notices that are owed by the retry table."""

from collections.abc import Sequence
from typing import Any

from heliograph.adapters.store.postgres.db import Db
from heliograph.adapters.store.postgres.rows import message_of
from heliograph.adapters.store.shared.rows import MESSAGE_COLUMNS, MESSAGE_WIDTH
from heliograph.app.notices.notice import FinalState, Notice
from heliograph.domain.receipt import Delivery

_CLAIM = "SELECT key FROM claim_retries($1, $2, $3, $4, $5)"
_OWED = f"""
SELECT {MESSAGE_COLUMNS}, f.state, f.err, f.at, r.attempts, r.body, r."first"
FROM unnest($1::bigint[]) WITH ORDINALITY AS wanted (key, n)
JOIN callback_retry AS r ON r.key = wanted.key
JOIN final AS f ON f.key = r.key
JOIN message AS m ON m.key = r.key
WHERE f.state IS NOT NULL ORDER BY wanted.n
"""  # noqa: S608 - made of constants
_NEXT_DUE = "SELECT min(due) FROM callback_retry WHERE node IS NULL AND due IS NOT NULL"
_REPLAY = """
WITH ended AS (
    SELECT c.key, slot_of(m.account) AS slot FROM callback AS c
    JOIN message AS m ON m.key = c.key
    WHERE c."end" <> 0 AND ($1::bigint IS NULL OR m.account = $1) AND ($2::bigint IS NULL OR c.key = $2)
    ORDER BY c.key FOR UPDATE OF c
), undone AS (
    DELETE FROM callback WHERE key IN (SELECT key FROM ended) RETURNING key
), owed AS (
    INSERT INTO callback_retry (key, slot, due, attempts, body, problem, "first")
    SELECT key, slot, $3, 0, '', '', $3 FROM ended ORDER BY key
    ON CONFLICT (key) DO UPDATE SET due = $3, attempts = 0, "first" = $3, node = NULL
)
SELECT count(*) FROM undone
"""


async def claim_callbacks(db: Db, limit: int, now: int, node: int, slots: tuple[int, int]) -> list[Notice]:
    rows = await db.fetch(_CLAIM, limit, now, node, *slots)
    return [notice_of(row) for row in await db.fetch(_OWED, [row[0] for row in rows])] if rows else []


def notice_of(row: Sequence[Any]) -> Notice:
    """Reads MESSAGE_COLUMNS, then state, err and time of the final, then attempts, body and when it was first owed."""
    state, err, at, attempts, body, first = tuple(row)[MESSAGE_WIDTH:]
    message = message_of(row)
    return Notice(message.account, message.key, FinalState(message, Delivery(state), err, at), first, attempts, body)


async def next_callback_due(db: Db) -> int | None:
    due: int | None = await db.fetchval(_NEXT_DUE)
    return due


async def replay(db: Db, account: int | None, key: int | None, now: int) -> int:
    count: int = await db.fetchval(_REPLAY, account, key, now)
    return count
