"""The store as one object: its ports, over the threads that run their operations."""

import asyncio
import sqlite3
from functools import partial
from pathlib import Path
from typing import Self

from heliograph.adapters.store.shared.bundle import Bundle
from heliograph.adapters.store.shared.past import StoredPast, find_past
from heliograph.adapters.store.shared.retention import StoredRetention
from heliograph.adapters.store.shared.schema import Schema
from heliograph.adapters.store.shared.steps import Runner
from heliograph.adapters.store.sqlite.commits import SqliteCommits
from heliograph.adapters.store.sqlite.connection import create_file, opened
from heliograph.adapters.store.sqlite.driver import drive
from heliograph.adapters.store.sqlite.loop_commit import LoopConnection
from heliograph.adapters.store.sqlite.moving import refuse_moved
from heliograph.adapters.store.sqlite.schema import has_table, migrate, shipped
from heliograph.adapters.store.sqlite.threads import Threads
from heliograph.app import ports
from heliograph.app.ports import PastGuard
from heliograph.domain.past import FoundPast, KnownPast

BUSY_MS = 10_000
"""Milliseconds that a call waits for another process that writes."""

PATIENCE_MS = 20
"""Milliseconds that emptying the log waits for readers. Commits wait as long."""

CALLS = 1_000
"""Calls that may wait for a thread. A further call raises Unavailable."""


class SqliteStore(Bundle):
    """`app.ports.Store` on a SQLite file.

    Several processes may have it open. A single process is the engine: `recover` was last called with its node, and it
    has the claimed rows.
    """

    def __init__(self, path: Path, busy_ms: int, calls: int, on_loop: bool | None, guard: PastGuard | None) -> None:
        """The file must exist with its schema; see `open`."""
        self._threads = threads = Threads(path, busy_ms, calls, LoopConnection(path) if on_loop else None, guard)
        self.retention_of = partial(SqliteRetention, threads=threads)
        self.past_of = partial(SqlitePast, threads=threads)
        super().__init__(threads)
        self.commits: ports.Commits = SqliteCommits(threads, path, finds_out=on_loop is None, runner=self._runner)
        self.leases = None

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        busy_ms: int = BUSY_MS,
        calls: int = CALLS,
        schema: Schema | None = None,
        on_loop: bool | None = None,
        guard: PastGuard | None = None,
    ) -> Self:
        """Opens the file, creates it if it is missing (in an existing folder), and brings its schema up to date.

        `on_loop` says whether the loop commits by itself (see there); None finds out when an engine recovers, and then
        prepares the disk for its commits, too. `guard`: for a gateway, which must not run on an older past. Raises
        Unavailable when the file cannot be used, SchemaTooNew or SchemaChanged when it is not for this version of the
        program.
        """
        await asyncio.to_thread(_prepare, path, busy_ms, schema or shipped(), guard)
        return cls(path, busy_ms, calls, on_loop, guard)

    async def close(self) -> None:
        """Finishes the calls made before, then closes the file. Later calls raise Unavailable."""
        await self._threads.close()


def _prepare(path: Path, busy_ms: int, schema: Schema, guard: PastGuard | None) -> None:
    if guard is not None and not path.exists():
        guard.judge(FoundPast())
    create_file(path)
    with opened(path, busy_ms) as db:
        refuse_moved(db, path)
        if guard is not None:  # before the migration: nothing is written to a file that is refused
            guard.judge(drive(db, partial(find_past, guard.known)) if has_table(db, "past_mark") else FoundPast())
        migrate(db, schema, busy_ms)


class SqlitePast(StoredPast):
    """`app.ports.Past` on a file, which is read even while the guard refuses it."""

    def __init__(self, runner: Runner, threads: Threads) -> None:
        super().__init__(runner)
        self._threads = threads

    async def find(self, known: KnownPast) -> FoundPast:
        return await self._threads.reader.transact(drive, partial(find_past, known))


class SqliteRetention(StoredRetention):
    """`app.ports.Retention` on a file: overwritten octets must leave the write-ahead log, too."""

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
