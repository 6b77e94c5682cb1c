"""Callbacks, backlogs and usage for those who run the gateway."""

from collections.abc import Sequence
from dataclasses import replace

from heliograph.adapters.store.postgres.db import Db
from heliograph.app.admin.oversight import COUNTED, BacklogCounts, CallbackView, Usage
from heliograph.app.facts import CallbackEnd
from heliograph.domain.ids import first_key_at

ENTRIES = 2_000_000
"""Entries of a ledger that usage is worked out from, the latest."""

_OWED = """
SELECT m.key, m.tail, m.account, m.callback_url, r.attempts, r.problem, r."first", r.due
FROM callback_retry AS r JOIN message AS m ON m.key = r.key
WHERE r.node IS NULL AND r.due IS NOT NULL AND (r.due, r.key) > ($1, $2)
ORDER BY r.due, r.key LIMIT $3
"""
_ENDED = """
SELECT m.key, m.tail, m.account, m.callback_url, c.attempts, coalesce(r.problem, ''), coalesce(r."first", f.at, c.at),
    c."end", c.code, c.at
FROM callback AS c
JOIN message AS m ON m.key = c.key
LEFT JOIN callback_retry AS r ON r.key = c.key
LEFT JOIN final AS f ON f.key = c.key
WHERE c."end" <> 0 AND c.key < $1
ORDER BY c.key DESC LIMIT $2
"""
_DROP = f"""
WITH dropped AS (
    UPDATE callback_retry SET due = NULL
    WHERE key IN (
        SELECT key FROM callback_retry WHERE key = ANY ($1::bigint[]) AND node IS NULL AND due IS NOT NULL
        ORDER BY key FOR UPDATE
    )
    RETURNING key, attempts
), ended AS (
    INSERT INTO callback (key, "end", code, attempts, at)
    SELECT key, {int(CallbackEnd.GIVEN_UP)}, 0, attempts, $2 FROM dropped ON CONFLICT DO NOTHING
)
SELECT count(*) FROM dropped
"""  # noqa: S608 - made of constants

_COUNT = f"SELECT count(*) FROM ({{}} LIMIT {COUNTED}) AS counted"  # noqa: S608 - made of constants
_SCHEDULED = _COUNT.format("SELECT 1 FROM message WHERE state = 0")
_WAITING = _COUNT.format("SELECT 1 FROM queue WHERE node IS NULL AND due <= $1")
_OLDEST = "SELECT min(due) FROM queue WHERE node IS NULL AND due <= $1"
_DEFERRED = f"""
SELECT connector, count(*) FROM (
    SELECT connector FROM queue WHERE put_off AND node IS NULL AND due > $1 LIMIT {COUNTED}
) AS later GROUP BY connector
"""  # noqa: S608 - made of constants
_AWAITING = _COUNT.format("SELECT 1 FROM awaiting")
_OWED_COUNT = _COUNT.format("SELECT 1 FROM callback_retry WHERE due IS NOT NULL")
_ENDED_COUNT = _COUNT.format('SELECT 1 FROM callback WHERE "end" <> 0')
_ORPHANS = _COUNT.format("SELECT 1 FROM early")
# The first condition on the state is the index's, the second is for Delivery.UNKNOWN.
_ENDED_UNKNOWN = "SELECT count(*) FROM final WHERE key >= $1 AND state <> 2 AND state = 7"
_USAGE = """
SELECT (key >> 12) / $4 * $4 AS span, count(*) FILTER (WHERE kind = 0),
    (-coalesce(sum(amount) FILTER (WHERE kind = 0), 0))::bigint,
    coalesce(sum(amount) FILTER (WHERE kind = 1), 0)::bigint
FROM (
    SELECT key, kind, amount FROM ledger
    WHERE account = $1 AND key >= $2 AND key < $3 ORDER BY key DESC LIMIT $5
) AS latest
WHERE kind <> 2
GROUP BY span ORDER BY span
"""
_ANY_KEY = (1 << 63) - 1


async def owed_callbacks(db: Db, limit: int, after: tuple[int, int] | None) -> list[CallbackView]:
    due, key = (-1, -1) if after is None else after
    return [CallbackView(*row) for row in await db.fetch(_OWED, due, key, limit)]


async def ended_callbacks(db: Db, limit: int, before: int | None) -> list[CallbackView]:
    rows = map(tuple, await db.fetch(_ENDED, _ANY_KEY if before is None else before, limit))
    return [replace(CallbackView(*row[:7]), end=CallbackEnd(row[7]), code=row[8], at=row[9]) for row in rows]


async def drop_callbacks(db: Db, keys: Sequence[int], now: int) -> int:
    count: int = await db.fetchval(_DROP, list(keys), now)
    return count


async def standing(db: Db, now: int) -> BacklogCounts:
    return BacklogCounts(
        scheduled=await db.fetchval(_SCHEDULED),
        waiting=await db.fetchval(_WAITING, now),
        oldest=await db.fetchval(_OLDEST, now),
        deferred={row[0]: row[1] for row in await db.fetch(_DEFERRED, now)},
        awaiting=await db.fetchval(_AWAITING),
        owed=await db.fetchval(_OWED_COUNT),
        ended=await db.fetchval(_ENDED_COUNT),
        orphans=await db.fetchval(_ORPHANS),
    )


async def ended_unknown(db: Db, since: int) -> int:
    number: int = await db.fetchval(_ENDED_UNKNOWN, first_key_at(since))
    return number


async def usage(db: Db, account: int, start: int, end: int, step: int) -> list[Usage]:
    rows = await db.fetch(_USAGE, account, first_key_at(start), first_key_at(end), step, ENTRIES)
    return [Usage(*row) for row in rows]
