"""Callbacks, backlogs and usage for those who run the gateway."""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from heliograph.adapters.store.sqlite.statements import many
from heliograph.app.admin.oversight import COUNTED, BacklogCounts, CallbackView, Usage
from heliograph.app.facts import CallbackEnd
from heliograph.domain.ids import first_key_at

ENTRIES = 2_000_000
"""Entries of a ledger that usage is worked out from, the latest."""

_OWED = """
SELECT m.key, m.tail, m.account, m.callback_url, r.attempts, r.problem, r."first", r.due
FROM callback_retry AS r CROSS JOIN message AS m ON m.key = r.key
WHERE r.node IS NULL AND r.due IS NOT NULL AND r.due >= ?1 AND (r.due > ?1 OR r.key > ?2)
ORDER BY r.due, r.key LIMIT ?3
"""
_ENDED = """
SELECT m.key, m.tail, m.account, m.callback_url, c.attempts, coalesce(r.problem, ''), coalesce(r."first", f.at, c.at),
    c."end", c.code, c.at
FROM callback AS c
CROSS JOIN message AS m ON m.key = c.key
LEFT JOIN callback_retry AS r ON r.key = c.key
LEFT JOIN final AS f ON f.key = c.key
WHERE c."end" <> 0 AND c.key < ?1
ORDER BY c.key DESC LIMIT ?2
"""
_DROPPABLE = """
SELECT key, attempts FROM callback_retry
WHERE key IN (SELECT value FROM json_each(?)) AND node IS NULL AND due IS NOT NULL
"""
_END = 'INSERT INTO callback (key, "end", code, attempts, at) VALUES (?, ?, 0, ?, ?) ON CONFLICT DO NOTHING'
_KEEP = "UPDATE callback_retry SET due = NULL WHERE key IN (SELECT value FROM json_each(?))"

_COUNT = f"SELECT count(*) FROM ({{}} LIMIT {COUNTED})"  # noqa: S608 - made of constants
_SCHEDULED = _COUNT.format("SELECT 1 FROM message WHERE state = 0")
_WAITING = _COUNT.format("SELECT 1 FROM queue WHERE node IS NULL AND due <= ?")
_OLDEST = "SELECT min(due) FROM queue WHERE node IS NULL AND due <= ?"
_DEFERRED = f"""
SELECT connector, count(*) FROM (
    SELECT connector FROM queue WHERE put_off = 1 AND node IS NULL AND due > ? LIMIT {COUNTED}
) GROUP BY connector
"""  # noqa: S608 - made of constants
_AWAITING = _COUNT.format("SELECT 1 FROM awaiting")
_OWED_COUNT = _COUNT.format("SELECT 1 FROM callback_retry WHERE due IS NOT NULL")
_ENDED_COUNT = _COUNT.format('SELECT 1 FROM callback WHERE "end" <> 0')
_ORPHANS = _COUNT.format("SELECT 1 FROM early")
# The first condition on the state is the index's, the second is for Delivery.UNKNOWN.
_ENDED_UNKNOWN = "SELECT count(*) FROM final WHERE key >= ? AND state <> 2 AND state = 7"
_USAGE = """
SELECT (key >> 12) / ?4 * ?4 AS span, sum(kind = 0), -sum(amount * (kind = 0)), sum(amount * (kind = 1))
FROM (
    SELECT key, kind, amount FROM ledger
    WHERE account = ?1 AND key >= ?2 AND key < ?3 ORDER BY key DESC LIMIT ?5
)
WHERE kind <> 2
GROUP BY span ORDER BY span
"""
_ANY_KEY = (1 << 63) - 1


def owed_callbacks(db: sqlite3.Connection, limit: int, after: tuple[int, int] | None) -> list[CallbackView]:
    due, key = (-1, -1) if after is None else after
    return [CallbackView(*row) for row in db.execute(_OWED, (due, key, limit))]


def ended_callbacks(db: sqlite3.Connection, limit: int, before: int | None) -> list[CallbackView]:
    rows = db.execute(_ENDED, (_ANY_KEY if before is None else before, limit))
    return [replace(CallbackView(*row[:7]), end=CallbackEnd(row[7]), code=row[8], at=row[9]) for row in rows]


def drop_callbacks(db: sqlite3.Connection, keys: Sequence[int], now: int) -> int:
    rows = db.execute(_DROPPABLE, (many(keys),)).fetchall()
    db.executemany(_END, [(key, int(CallbackEnd.GIVEN_UP), attempts, now) for key, attempts in rows])
    db.execute(_KEEP, (many(key for key, _ in rows),))
    return len(rows)


def standing(db: sqlite3.Connection, now: int) -> BacklogCounts:
    def count(statement: str, *values: int) -> int:
        number: int = db.execute(statement, values).fetchone()[0]
        return number

    return BacklogCounts(
        scheduled=count(_SCHEDULED),
        waiting=count(_WAITING, now),
        oldest=db.execute(_OLDEST, (now,)).fetchone()[0],
        deferred=dict(db.execute(_DEFERRED, (now,)).fetchall()),
        awaiting=count(_AWAITING),
        owed=count(_OWED_COUNT),
        ended=count(_ENDED_COUNT),
        orphans=count(_ORPHANS),
    )


def ended_unknown(db: sqlite3.Connection, since: int) -> int:
    number: int = db.execute(_ENDED_UNKNOWN, (first_key_at(since),)).fetchone()[0]
    return number


def usage(db: sqlite3.Connection, account: int, start: int, end: int, step: int) -> list[Usage]:
    values = (account, first_key_at(start), first_key_at(end), step, ENTRIES)
    return [Usage(*row) for row in db.execute(_USAGE, values)]
