"""Proof of the books of one database."""

from heliograph.adapters.store.postgres.database import Database
from heliograph.adapters.store.postgres.db import Db
from heliograph.adapters.store.shared.audit import MOST, checks, findings
from heliograph.adapters.store.shared.upkeep import StoredUpkeep


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


class PostgresUpkeep(StoredUpkeep):
    """`app.ports.Upkeep` on one database."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._database = database

    async def audit(self) -> list[str]:
        return await self._database.scan(_audit)


async def _audit(db: Db) -> list[str]:
    """What is wrong, a sentence each; nothing if the books are in order. All checks see the rows of one moment."""
    found: list[str] = []
    for sentence, query in CHECKS:
        rows = await db.fetch(f"{query} LIMIT {MOST}")
        if rows:
            found += findings(sentence, list(rows[0].keys()), [tuple(row) for row in rows])
    return found
