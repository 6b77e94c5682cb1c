"""Proof of the books of one file."""

import sqlite3

from heliograph.adapters.store.shared.audit import MOST, checks, findings
from heliograph.adapters.store.shared.upkeep import StoredUpkeep
from heliograph.adapters.store.sqlite.threads import Threads


def _mark(name: str, key: str) -> str:  # noqa: ARG001 - one writer, hence one mark of a name
    return f"(SELECT coalesce(max(value), 0) FROM mark WHERE name = '{name}')"  # noqa: S608 - a constant


_CHECKS = checks(_mark)


def _audit(db: sqlite3.Connection) -> list[str]:
    """What is wrong, a sentence each; nothing if the books are in order."""
    found: list[str] = []
    for sentence, query in _CHECKS:
        cursor = db.execute(query)
        names = [column[0] for column in cursor.description]
        found += findings(sentence, names, cursor.fetchmany(MOST))
        cursor.close()
    return found


class SqliteUpkeep(StoredUpkeep):
    """`app.ports.Upkeep` on one file."""

    def __init__(self, threads: Threads) -> None:
        super().__init__(threads)
        self._threads = threads

    async def audit(self) -> list[str]:
        return await self._threads.scan(_audit)
