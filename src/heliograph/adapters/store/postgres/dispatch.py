"""The queue: claims of scheduled, deferred and overflowing messages."""

from collections.abc import Sequence
from typing import Any

from heliograph.adapters.store.postgres.db import Db
from heliograph.adapters.store.postgres.rows import message_of
from heliograph.adapters.store.shared.rows import MESSAGE_COLUMNS, MESSAGE_WIDTH
from heliograph.app.facts import NO_ANSWER, Queued

_CLAIM = "SELECT key, connector, attempted FROM claim_queue($1, $2, $3, $4, $5, $6)"
_CLAIM_OF = "SELECT key, connector, attempted FROM claim_queue_of($1, $2, $3, $4, $5)"
_ACCOUNTS = "SELECT queued_accounts($1, $2, $3, $4)"
_QUEUED = f"""
SELECT {MESSAGE_COLUMNS},
    ARRAY(SELECT s.segment FROM sent AS s WHERE s.key = m.key),
    ARRAY(SELECT s.segment FROM sent AS s WHERE s.key = m.key AND s.status IN (0, {NO_ANSWER}))
FROM unnest($1::bigint[]) WITH ORDINALITY AS wanted (key, n)
JOIN message AS m ON m.key = wanted.key ORDER BY wanted.n
"""  # noqa: S608 - made of constants

# Each connector is found by a jump in the index; a GROUP BY would read the whole of it.
_NEXT_DUE = """
WITH RECURSIVE waiting (connector) AS (
    (SELECT connector FROM queue WHERE node IS NULL ORDER BY connector LIMIT 1)
    UNION ALL
    SELECT (
        SELECT q.connector FROM queue AS q WHERE q.node IS NULL AND q.connector > w.connector
        ORDER BY q.connector LIMIT 1
    )
    FROM waiting AS w WHERE w.connector IS NOT NULL
)
SELECT connector, (
    SELECT q.due FROM queue AS q WHERE q.node IS NULL AND q.connector = w.connector ORDER BY q.due LIMIT 1
)
FROM waiting AS w WHERE connector IS NOT NULL
"""
_RELEASE = "SELECT release_claims($1)"


async def claim(db: Db, connector: int | None, limit: int, now: int, node: int, slots: tuple[int, int]) -> list[Queued]:
    """Those due of one connector, or those expired of any. They come with the connector that they now wait for."""
    return await _claimed(db, await db.fetch(_CLAIM, connector, limit, now, node, *slots))


async def claim_of(db: Db, connector: int, accounts: Sequence[int], limit: int, now: int, node: int) -> list[Queued]:
    return await _claimed(db, await db.fetch(_CLAIM_OF, connector, list(accounts), limit, now, node))


async def queued_accounts(db: Db, connector: int, now: int, slots: tuple[int, int]) -> list[int]:
    return list(await db.fetchval(_ACCOUNTS, connector, now, *slots))


async def _claimed(db: Db, rows: list[Any]) -> list[Queued]:
    if not rows:
        return []
    claimed = await queued_of(db, {row[0]: row[2] for row in rows}, queued=True)
    connectors = {row[0]: row[1] for row in rows}
    for queued in claimed:
        queued.message.connector = connectors[queued.message.key]
    return claimed


async def next_due(db: Db) -> dict[int, int]:
    # between the two looks at a connector somebody may have claimed its last row
    return {row[0]: row[1] for row in await db.fetch(_NEXT_DUE) if row[1] is not None}


async def release(db: Db, node: int) -> int:
    count: int = await db.fetchval(_RELEASE, node)
    return count


async def queued_of(db: Db, attempted: dict[int, bool], *, queued: bool) -> list[Queued]:
    """The messages of these keys with what was answered already; `attempted` says of each whether it may have been
    sent."""
    return [
        Queued(
            message := message_of(row, queued=queued),
            attempted[message.key],
            frozenset(row[MESSAGE_WIDTH]),
            frozenset(row[MESSAGE_WIDTH + 1]),
        )
        for row in await db.fetch(_QUEUED, list(attempted))
    ]
