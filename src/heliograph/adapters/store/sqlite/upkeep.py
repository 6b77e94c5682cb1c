"""Counts for people, and a write to see whether writing works."""

import sqlite3
from typing import Any

from heliograph.adapters.store.shared.reach import COUNTS, NEWEST, NEWEST_KEY, latest
from heliograph.app.admin.oversight import RestorePoint

_COUNTS = {
    "scheduled": "SELECT count(*) FROM message WHERE state = 0",
    "queued": "SELECT (SELECT count(*) FROM queue) - (SELECT count(*) FROM message WHERE state = 0)",
    "callbacks": "SELECT count(*) FROM callback_retry WHERE due IS NOT NULL",
    "callbacks_failed": 'SELECT count(*) FROM callback WHERE "end" <> 0',
    "orphans": "SELECT count(*) FROM early",
    "awaiting": "SELECT count(*) FROM awaiting",
}
_PROBE = "UPDATE probe SET count = count + 1"


def probe(db: sqlite3.Connection) -> None:
    db.execute(_PROBE)


def backlog(db: sqlite3.Connection) -> dict[str, int]:
    """`queued` are the rows of the queue that are not scheduled messages."""
    return {name: db.execute(statement).fetchone()[0] for name, statement in _COUNTS.items()}


def reach(db: sqlite3.Connection) -> RestorePoint:
    def one(query: str) -> Any:
        return db.execute(query).fetchone()[0]

    counts = {name: one(query) for name, query in COUNTS.items()}
    return RestorePoint(latest(one(NEWEST_KEY), [one(query) for query in NEWEST]), **counts)
