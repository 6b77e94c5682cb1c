"""What was in the air when the last process with a worker number ended, from what the rows lack above its marks."""

from heliograph.adapters.store.postgres.callbacks import notice_of
from heliograph.adapters.store.postgres.db import Db
from heliograph.adapters.store.postgres.dispatch import queued_of
from heliograph.adapters.store.postgres.driver import DIALECT
from heliograph.adapters.store.postgres.receipts import orphans, outstanding_of
from heliograph.adapters.store.shared.sql import fill
from heliograph.app.marks import AWAITING, CALLBACK, DISPATCH, Recovery, attempted
from heliograph.app.ports import Fenced

EARLY_LIMIT = 20_000
"""Early receipts given back, the newest ones."""

# Plans are for the marks as they are: few rows are above them, or many.
_PATIENCE = "SET LOCAL statement_timeout = 0; SET LOCAL plan_cache_mode = force_custom_plan"
_LIVES = "SELECT node_lives($1)"
_JOIN = "INSERT INTO node (number) VALUES ($1) ON CONFLICT DO NOTHING"
_PREDECESSOR = "SELECT node FROM worker WHERE number = $1 FOR UPDATE"
_FENCE = "SELECT fence_node($1)"
_TAKE = """
INSERT INTO worker (number, node) VALUES ($1, $2) ON CONFLICT (number) DO UPDATE SET node = excluded.node
"""
_MARKS = "SELECT name, value FROM mark WHERE worker = $1"
_LAST_KEY = """
SELECT greatest(coalesce((SELECT max(key) FROM message), 0), coalesce((SELECT max(key) FROM batch), 0))
"""
_UNSENT = fill("""
SELECT m.key, m.connector FROM message AS m
WHERE m.key > $1 AND m.key & 31 = $2 AND m.state = {State.SENT}
  AND (SELECT count(*) FROM sent AS s WHERE s.key = m.key) < m.segments
  AND NOT EXISTS (SELECT 1 FROM queue AS q WHERE q.key = m.key)
  AND NOT EXISTS (SELECT 1 FROM final AS f WHERE f.key = m.key)
ORDER BY m.key
""")
_OUTSTANDING = """
SELECT m.key FROM message AS m
WHERE m.key > $1 AND m.key & 31 = $2 AND m.wants_receipt
  AND NOT EXISTS (SELECT 1 FROM final AS f WHERE f.key = m.key)
  AND EXISTS (
    SELECT 1 FROM sent AS s
    WHERE s.key = m.key AND s.status = 0
      AND NOT EXISTS (SELECT 1 FROM part_receipt AS p WHERE p.key = s.key AND p.segment = s.segment)
      AND NOT EXISTS (SELECT 1 FROM awaiting AS a WHERE a.key = s.key AND a.segment = s.segment)
  )
ORDER BY m.key
"""
_OWED = fill(
    """
SELECT {message}, f.state, f.err, f.at, 0, ''::bytea, f.at
FROM final AS f
JOIN message AS m ON m.key = f.key
WHERE f.key > $1 AND f.key & 31 = $2 AND f.owed AND f.state IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM callback AS c WHERE c.key = f.key)
  AND NOT EXISTS (SELECT 1 FROM callback_retry AS r WHERE r.key = f.key)
ORDER BY f.key
""",
    DIALECT,
)


async def recover(db: Db, worker: int, node: int) -> Recovery:
    """The node becomes the one of this worker number. Another node that still was it is fenced: it is an earlier run,
    or a mistake."""
    await db.execute(_PATIENCE)
    await db.execute(_JOIN, node)
    if not await db.fetchval(_LIVES, node):
        raise Fenced("the work of this node was given to others")
    predecessor = await db.fetchval(_PREDECESSOR, worker)
    if predecessor is not None and predecessor != node:
        await db.execute(_FENCE, predecessor)
    await db.execute(_TAKE, worker, node)
    marks: dict[str, int] = {row[0]: row[1] for row in await db.fetch(_MARKS, worker)}
    unsent = {
        row[0]: row[0] <= marks.get(attempted(row[1]), 0)
        for row in await db.fetch(_UNSENT, marks.get(DISPATCH, 0), worker)
    }
    outstanding = await db.fetch(_OUTSTANDING, marks.get(AWAITING, 0), worker)
    owed = await db.fetch(_OWED, marks.get(CALLBACK, 0), worker)
    return Recovery(
        last_key=await db.fetchval(_LAST_KEY),
        marks=marks,
        unsent=await queued_of(db, unsent, queued=False),
        outstanding=await outstanding_of(db, [row[0] for row in outstanding]),
        owed=[notice_of(row) for row in owed],
        early=(await orphans(db, EARLY_LIMIT))[::-1],
    )
