"""What was in the air when the last process ended, from what the rows lack above the marks."""

import sqlite3

from heliograph.adapters.store.shared.sql import fill
from heliograph.adapters.store.sqlite.callbacks import notice_of
from heliograph.adapters.store.sqlite.dispatch import queued_of
from heliograph.adapters.store.sqlite.driver import DIALECT
from heliograph.adapters.store.sqlite.receipts import orphans, outstanding_of
from heliograph.app.facts import Outstanding, Queued
from heliograph.app.marks import AWAITING, CALLBACK, DISPATCH, Recovery, attempted
from heliograph.app.notices.notice import Notice

EARLY_LIMIT = 20_000
"""Early receipts given back, the newest ones."""

_RELEASE = (
    "UPDATE queue SET node = NULL WHERE node <> ?",
    "UPDATE callback_retry SET node = NULL WHERE node <> ?",
    "DELETE FROM link_state WHERE node <> ?",
)
_LAST_KEY = "SELECT max(coalesce((SELECT max(key) FROM message), 0), coalesce((SELECT max(key) FROM batch), 0))"
_UNSENT = fill("""
SELECT m.key, m.connector FROM message AS m
WHERE m.key > ? AND m.state = {State.SENT}
  AND (SELECT count(*) FROM sent WHERE sent.key = m.key) < m.segments
  AND NOT EXISTS (SELECT 1 FROM queue WHERE queue.key = m.key)
  AND NOT EXISTS (SELECT 1 FROM final WHERE final.key = m.key)
ORDER BY m.key
""")
_OUTSTANDING = """
SELECT m.key FROM message AS m
WHERE m.key > ? AND m.wants_receipt = 1
  AND NOT EXISTS (SELECT 1 FROM final WHERE final.key = m.key)
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
SELECT {message}, f.state, f.err, f.at, 0, x'', f.at
FROM final AS f
JOIN message AS m ON m.key = f.key
WHERE f.key > ? AND f.owed = 1 AND f.state IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM callback WHERE callback.key = f.key)
  AND NOT EXISTS (SELECT 1 FROM callback_retry AS r WHERE r.key = f.key)
ORDER BY f.key
""",
    DIALECT,
)


def recover(db: sqlite3.Connection, node: int) -> Recovery:
    """`last_key` is the highest of any worker: nothing that comes later may go below it.

    Nobody else can hold a claim: one engine at a time runs on an embedded store.
    """
    for statement in _RELEASE:
        db.execute(statement, (node,))
    marks: dict[str, int] = dict(db.execute("SELECT name, value FROM mark"))
    return Recovery(
        last_key=db.execute(_LAST_KEY).fetchone()[0],
        marks=marks,
        unsent=_unsent(db, marks),
        outstanding=_outstanding(db, marks.get(AWAITING, 0)),
        owed=_owed(db, marks.get(CALLBACK, 0)),
        early=orphans(db, EARLY_LIMIT)[::-1],
    )


def _unsent(db: sqlite3.Connection, marks: dict[str, int]) -> list[Queued]:
    rows = db.execute(_UNSENT, (marks.get(DISPATCH, 0),))
    return queued_of(db, {key: key <= marks.get(attempted(connector), 0) for key, connector in rows}, queued=False)


def _outstanding(db: sqlite3.Connection, mark: int) -> list[Outstanding]:
    return outstanding_of(db, [key for (key,) in db.execute(_OUTSTANDING, (mark,))])


def _owed(db: sqlite3.Connection, mark: int) -> list[Notice]:
    return [notice_of(row) for row in db.execute(_OWED, (mark,))]
