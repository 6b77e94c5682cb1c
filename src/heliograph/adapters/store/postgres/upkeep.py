"""Counts for people, and the proof of the books."""

from heliograph.adapters.store.postgres.db import Db
from heliograph.adapters.store.shared.audit import MOST, checks, findings
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


def _mark(name: str, key: str) -> str:
    """The mark of the worker that made the key."""
    return f"coalesce((SELECT k.value FROM mark AS k WHERE k.worker = {key} & 31 AND k.name = '{name}'), 0)"  # noqa: S608


_GONE = "JOIN node AS n ON n.number = q.node AND n.gone JOIN message AS m ON m.key = q.key"

CHECKS = [
    *checks(_mark),
    (
        "The message {id} is claimed by the node {node}, which is gone.",
        f"SELECT m.key, m.tail, q.node FROM queue AS q {_GONE}",  # noqa: S608 - made of constants
    ),
    (
        "The callback for the message {id} is claimed by the node {node}, which is gone.",
        f"SELECT m.key, m.tail, q.node FROM callback_retry AS q {_GONE}",  # noqa: S608 - made of constants
    ),
]


async def hazards(db: Db) -> list[str]:
    """What a session cannot set for itself."""
    if await db.fetchval("SHOW fsync") == "off":
        return ["the database's server does not sync what it writes (fsync = off): a loss of power may lose it all"]
    return []


async def backlog(db: Db) -> dict[str, int]:
    """`queued` are the rows of the queue that are not scheduled messages."""
    return {name: await db.fetchval(statement) for name, statement in _COUNTS.items()}


async def reach(db: Db) -> RestorePoint:
    times = [await db.fetchval(query) for query in NEWEST]
    counts = {name: await db.fetchval(query) for name, query in COUNTS.items()}
    return RestorePoint(latest(await db.fetchval(NEWEST_KEY), times), **counts)


async def audit(db: Db) -> list[str]:
    """What is wrong, a sentence each; nothing if the books are in order. All checks see the rows of one moment."""
    found: list[str] = []
    for sentence, query in CHECKS:
        rows = await db.fetch(f"{query} LIMIT {MOST}")
        if rows:
            found += findings(sentence, list(rows[0].keys()), [tuple(row) for row in rows])
    return found
