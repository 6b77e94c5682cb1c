"""The store as one object: calls of the event loop, run by the writer's or the reader's thread."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

from heliograph.adapters.store.shared.audit_log import append
from heliograph.adapters.store.shared.bundle import Bundle
from heliograph.adapters.store.shared.schema import Schema
from heliograph.adapters.store.shared.steps import Steps
from heliograph.adapters.store.sqlite import (
    browse,
    callbacks,
    dispatch,
    numbers,
    oversight,
    receipts,
    recovery,
    reschedule,
    upkeep,
)
from heliograph.adapters.store.sqlite.audit import audit
from heliograph.adapters.store.sqlite.connection import connect, create_file, is_outage
from heliograph.adapters.store.sqlite.driver import drive
from heliograph.adapters.store.sqlite.history import history
from heliograph.adapters.store.sqlite.log import lengthen
from heliograph.adapters.store.sqlite.loop_commit import Swift, syncs_quickly
from heliograph.adapters.store.sqlite.record import record
from heliograph.adapters.store.sqlite.replay import replayed
from heliograph.adapters.store.sqlite.schema import migrate, shipped
from heliograph.adapters.store.sqlite.search import identified, of_references, referenced, trace
from heliograph.adapters.store.sqlite.search import search as search_rows
from heliograph.adapters.store.sqlite.threads import Threads
from heliograph.adapters.store.sqlite.worker import Noting, Worker
from heliograph.app.admin.oversight import (
    AuditEntry,
    BacklogCounts,
    CallbackView,
    Hit,
    MessageRecord,
    RestorePoint,
    Search,
    SearchPage,
)
from heliograph.app.facts import Accept, EarlyReceipt, Facts, Message, Outstanding, Queued
from heliograph.app.marks import Recovery
from heliograph.app.notices.notice import Notice
from heliograph.app.ports import BatchSlice, Event, ListQuery, Unavailable
from heliograph.domain.receipt import Delivery

BUSY_MS = 10_000
"""How long a call waits for another process that writes."""

CALLS = 1_000
"""Calls that may wait for a thread; one more is refused as Unavailable."""


class SqliteStore(Bundle):
    """`app.ports.Store` and `Leases` on one SQLite file.

    Several processes may have it open, one of them as the engine: the one whose node `recover` was last told, and
    which holds the rows that are recorded as held.
    """

    def __init__(self, path: Path, busy_ms: int, calls: int, swift: bool | None) -> None:
        """The file must be there, with its schema; see `open`."""
        self._threads = threads = Threads(path, busy_ms, calls, Swift(path) if swift else None)
        super().__init__(threads)
        self._may_be_swift = swift is None
        self._path = path
        self._node = 0
        self._writer: Worker | Noting = threads.writer
        self._reader = threads.reader
        self._searcher = threads.searcher

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        busy_ms: int = BUSY_MS,
        calls: int = CALLS,
        schema: Schema | None = None,
        swift: bool | None = None,
    ) -> Self:
        """Opens the file, makes it if need be (its folder must be there), and brings its schema up to date.

        `swift` says whether the loop commits by itself (see there); None finds out when an engine recovers, and then
        prepares the disk for its commits, too.
        Raises Unavailable when the file cannot be used, SchemaTooNew or SchemaChanged when it is not for this
        version of the program.
        """
        await asyncio.to_thread(_prepare, path, busy_ms, schema or shipped())
        return cls(path, busy_ms, calls, swift)

    # --- the hot path

    async def record(self, facts: Facts) -> None:
        node = self._node
        swift = self._threads.swift
        if swift is not None:
            done, _ = swift.try_call(lambda session: record(session, facts, node))
            if swift.tired:
                self._threads.swift = None
                swift.close()
            if done:
                return
        await self._writer.call(lambda session: record(session, facts, node))

    # --- the queue

    async def claim_queued(
        self, connector: int, limit: int, now: int, node: int, accounts: Sequence[int] = ()
    ) -> list[Queued]:
        return await self._writer.transact(dispatch.claim_queued, connector, limit, now, node, accounts)

    async def queued_accounts(self, connector: int, now: int) -> list[int]:
        return await self._reader.transact(dispatch.queued_accounts, connector, now)

    async def claim_expired(self, limit: int, now: int, node: int) -> list[Queued]:
        return await self._writer.transact(dispatch.claim_expired, limit, now, node)

    async def next_due(self) -> dict[int, int]:
        return await self._reader.look(dispatch.next_due)

    async def release(self, node: int) -> int:
        return await self._writer.transact(dispatch.release, node)

    # --- receipts

    async def find_outstanding(self, connector: int, operator_ids: Sequence[str]) -> list[Outstanding]:
        return await self._reader.transact(receipts.find_outstanding, connector, operator_ids)

    async def outstanding(self, key: int) -> Outstanding | None:
        return await self._reader.transact(receipts.outstanding, key)

    async def overdue(self, expired: int, beyond: int, limit: int) -> tuple[list[Outstanding], int | None]:
        return await self._reader.transact(receipts.overdue, expired, beyond, limit)

    async def orphans(self, limit: int) -> list[EarlyReceipt]:
        return await self._reader.transact(receipts.orphans, limit)

    async def forget(self, before: int, most: int, limit: int) -> int:
        return await self._writer.transact(receipts.forget, before, most, limit)

    # --- callbacks

    async def claim_callbacks(self, limit: int, now: int, node: int) -> list[Notice]:
        return await self._writer.transact(callbacks.claim_callbacks, limit, now, node)

    async def next_callback_due(self) -> int | None:
        return await self._reader.look(callbacks.next_callback_due)

    async def replay(self, account: int | None, key: int | None, now: int) -> int:
        return await self._writer.transact(callbacks.replay, account, key, now)

    # --- after a crash

    async def recover(self, worker: int, node: int) -> Recovery:  # noqa: ARG002 - all workers alike, see there
        self._node = node
        if self._may_be_swift:
            if await asyncio.to_thread(syncs_quickly, self._path.parent):
                self._threads.swift = Swift(self._path)
            await self._writer.transact(lengthen, self._path)
        return await self._writer.transact(recovery.recover, node)

    # --- what customers ask

    async def balance(self, account: int) -> int:
        return await self._threads.glance(browse.balance, account)

    async def message(self, account: int, key: int, tail: int) -> Message | None:
        return await self._threads.glance(browse.message, account, key, tail)

    async def batch(self, account: int, key: int, tail: int, index: int, limit: int) -> BatchSlice | None:
        return await self._reader.transact(browse.batch, account, key, tail, index, limit)

    async def replayed(self, account: int, reference: str) -> tuple[bytes, Accept] | None:
        return await self._reader.transact(replayed, account, reference)

    async def messages(self, account: int, query: ListQuery) -> list[Message]:
        return await self._reader.transact(browse.messages, account, query)

    async def admit_list(self, account: int, now: int, interval: int, unanswered: int | None = None) -> int:
        return await self._writer.transact(browse.admit_list, account, now, interval, unanswered)

    async def history(self, account: int, key: int, tail: int) -> list[Event] | None:
        return await self._reader.transact(history, account, key, tail)

    async def delivery(self, key: int) -> tuple[Delivery, str, int] | None:
        return await self._threads.glance(browse.delivery, key)

    async def cancel(self, account: int, key: int, tail: int, now: int) -> list[Message]:
        return await self._writer.transact(reschedule.cancel, account, key, tail, now)

    async def reschedule(self, account: int, key: int, tail: int, time: int, expires: int, now: int) -> list[Message]:
        return await self._writer.transact(reschedule.reschedule, account, key, tail, time, expires, now)

    # --- operators and what they ask

    def noting(self, describe: Callable[[Any], AuditEntry | None]) -> Self:
        def also(db: sqlite3.Connection, result: Any) -> None:
            deed = describe(result)
            if deed is not None:
                drive(db, lambda: self._line(deed))

        noting = super().noting(describe)
        assert isinstance(self._writer, Worker)
        noting._writer = Noting(self._writer, also)  # noqa: SLF001 - another of its kind
        return noting

    def _line(self, deed: AuditEntry) -> Steps[None]:
        yield append(deed)

    async def search(self, search: Search) -> SearchPage:
        return await self._searcher.transact(search_rows, search)

    async def identified(self, key: int, tail: int, limit: int) -> list[Hit]:
        return await self._searcher.transact(identified, key, tail, limit)

    async def referenced(self, reference: str, account: int | None, limit: int) -> list[Hit]:
        return await self._searcher.transact(referenced, reference, account, limit)

    async def of_references(self, account: int, references: Sequence[str]) -> list[Hit]:
        return await self._searcher.transact(of_references, account, references)

    async def trace(self, key: int) -> MessageRecord | None:
        return await self._searcher.transact(trace, key)

    async def owed_callbacks(self, limit: int, after: tuple[int, int] | None = None) -> list[CallbackView]:
        return await self._searcher.transact(oversight.owed_callbacks, limit, after)

    async def ended_callbacks(self, limit: int, before: int | None = None) -> list[CallbackView]:
        return await self._searcher.transact(oversight.ended_callbacks, limit, before)

    async def drop_callbacks(self, keys: Sequence[int], now: int) -> int:
        return await self._writer.transact(oversight.drop_callbacks, keys, now)

    async def standing(self, now: int) -> BacklogCounts:
        return await self._searcher.transact(oversight.standing, now)

    async def ended_unknown(self, since: int) -> int:
        return await self._searcher.transact(oversight.ended_unknown, since)

    # --- leases: one node, one engine

    async def heartbeat(self, node: int, lasts: int) -> bool:  # noqa: ARG002 - as in `Leases`
        return True

    async def release_dead(self, ago: int = 0) -> list[int]:  # noqa: ARG002 - as in `Leases`
        return []

    async def lease_worker(self, node: int) -> int | None:  # noqa: ARG002 - as in `Leases`
        return 0

    async def gathered(self, start: int, end: int) -> tuple[list[int], int]:  # noqa: ARG002 - as in `Leases`
        return [], 0

    async def lease_binds(self, connector: int, node: int, binds: int, want: int) -> list[int]:  # noqa: ARG002 - as in `Leases`
        return list(range(min(binds, want)))

    # --- keeping house

    async def index_numbers(self, now: int, size: int) -> int:  # noqa: ARG002 - ids come in the order of commits
        if await self._searcher.transact(numbers.next_block, size) is None:
            return 0  # and nobody waited
        return await self._writer.transact(numbers.index_numbers, size)

    async def probe(self) -> None:
        await self._writer.transact(upkeep.probe)

    async def hazards(self) -> list[str]:
        return []  # each connection sets for itself what it relies on

    async def backlog(self) -> dict[str, int]:
        return await self._reader.transact(upkeep.backlog)

    async def reach(self) -> RestorePoint:
        return await self._threads.scan(upkeep.reach)

    async def audit(self) -> list[str]:
        return await self._threads.scan(audit)

    async def close(self) -> None:
        """What was asked before is still done; what is asked later raises Unavailable."""
        await self._threads.close()


def _prepare(path: Path, busy_ms: int, schema: Schema) -> None:
    create_file(path)
    try:
        db = connect(path, busy_ms, read_only=False)
        try:
            migrate(db, schema, busy_ms)
        finally:
            db.close()
    except Exception as fault:
        if is_outage(fault):
            raise Unavailable(f"{path} cannot be used: {fault}") from fault
        raise
