"""Retention on a file: deleted octets are overwritten there, and must leave the write-ahead log too."""

import sqlite3

from heliograph.adapters.store.shared.retention import StoredRetention
from heliograph.adapters.store.shared.steps import Runner
from heliograph.adapters.store.sqlite.threads import Threads

PATIENCE_MS = 20
"""Milliseconds that emptying the log waits for readers. Commits wait as long."""


class SqliteRetention(StoredRetention):
    """`app.ports.Retention` on a file."""

    def __init__(self, runner: Runner, threads: Threads) -> None:
        super().__init__(runner)
        self._threads = threads

    async def scrub(self) -> bool:
        return await self._threads.empty_log(_empty_log)


def _empty_log(db: sqlite3.Connection) -> bool:
    """Writes all pages of the log to the file and truncates it; returns False if a reader was in the way."""
    ((patience,),) = db.execute("PRAGMA busy_timeout").fetchall()
    db.execute(f"PRAGMA busy_timeout = {PATIENCE_MS}")
    try:
        ((busy, _, _),) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.OperationalError:
        return False
    finally:
        db.execute(f"PRAGMA busy_timeout = {int(patience)}")
    return not busy
