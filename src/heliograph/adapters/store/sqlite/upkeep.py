"""Counts for people, and a write to see whether writing works."""

import sqlite3

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
