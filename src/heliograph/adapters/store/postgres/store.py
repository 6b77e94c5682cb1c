"""The store as one object: what is recorded on one connection, everything else on a pool."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Self

from heliograph.adapters.store.postgres import (
    browse,
    callbacks,
    dispatch,
    nodes,
    numbers,
    oversight,
    receipts,
    recovery,
    replay,
    reschedule,
    upkeep,
)
from heliograph.adapters.store.postgres import search as searching
from heliograph.adapters.store.postgres.connections import Noting, Pool
from heliograph.adapters.store.postgres.database import Database
from heliograph.adapters.store.postgres.db import Db
from heliograph.adapters.store.postgres.driver import drive
from heliograph.adapters.store.postgres.limits import DatabaseLimits
from heliograph.adapters.store.postgres.record import Recorder
from heliograph.adapters.store.postgres.schema import migrate, shipped
from heliograph.adapters.store.postgres.servers import Servers
from heliograph.adapters.store.shared.audit_log import append
from heliograph.adapters.store.shared.bundle import Bundle
from heliograph.adapters.store.shared.schema import Schema
from heliograph.adapters.store.shared.steps import Steps
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
from heliograph.domain.slot import SLOTS

SILENT = 3
"""So many heartbeats in a row without an answer, and what is under way is broken off. Fewer happen where a machine has
too much to do, which this would make worse."""

ALL_SLOTS = (0, SLOTS - 1)
"""The queue keys, both inclusive: which part of the accounts a claim is about."""


class PostgresStore(Bundle):
    """`app.ports.Store` and `Leases` on one PostgreSQL database, which any number of processes may have open."""

    def __init__(self, servers: Servers, slots: tuple[int, int]) -> None:
        """The schema must be there; see `open`."""
        self._database = Database(servers, slots)
        super().__init__(self._database)
        self._servers = servers
        self._slots = slots
        self._pool: Pool | Noting = self._database.pool
        self._recorder = Recorder(servers)
        self._silent = 0
        """How many heartbeats in a row had no answer."""

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        limits: DatabaseLimits | None = None,
        slots: tuple[int, int] = ALL_SLOTS,
        schema: Schema | None = None,
    ) -> Self:
        """Brings the schema up to date and opens the store; connections are made when they are needed.

        `slots` narrows what this store claims to accounts of some queue keys. Raises Unavailable when the database
        cannot be used, SchemaTooNew or SchemaChanged when it is not for this version of the program.
        """
        servers = Servers(url, limits or DatabaseLimits())
        await migrate(servers, schema or shipped())
        return cls(servers, slots)

    # --- the hot path

    async def record(self, facts: Facts) -> None:
        for accept in await self._recorder.record(facts):
            await self._replay(accept)

    async def _replay(self, accept: Accept) -> None:
        """The commit is over: what cannot be looked up now stays UNAVAILABLE, and can be asked again."""
        assert accept.reference is not None
        try:
            found = await self.replayed(accept.account, accept.reference)
        except Unavailable:
            return
        if found is not None:
            first = found[1]
            accept.verdict = first.verdict
            accept.key, accept.tail, accept.total = first.key, first.tail, first.total
            accept.scheduled, accept.messages = first.scheduled, first.messages

    # --- the queue

    async def claim_queued(
        self, connector: int, limit: int, now: int, node: int, accounts: Sequence[int] = ()
    ) -> list[Queued]:
        if accounts:
            return await self._pool.write(lambda db: dispatch.claim_of(db, connector, accounts, limit, now, node))
        return await self._pool.write(lambda db: dispatch.claim(db, connector, limit, now, node, self._slots))

    async def queued_accounts(self, connector: int, now: int) -> list[int]:
        return await self._pool.read(lambda db: dispatch.queued_accounts(db, connector, now, self._slots))

    async def claim_expired(self, limit: int, now: int, node: int) -> list[Queued]:
        return await self._pool.write(lambda db: dispatch.claim(db, None, limit, now, node, self._slots))

    async def next_due(self) -> dict[int, int]:
        return await self._pool.read(dispatch.next_due)

    async def claim_callbacks(self, limit: int, now: int, node: int) -> list[Notice]:
        return await self._pool.write(lambda db: callbacks.claim_callbacks(db, limit, now, node, self._slots))

    # --- after a crash

    async def recover(self, worker: int, node: int) -> Recovery:
        """On this store only the claims of the node that had this worker number before are given up; those of dead
        nodes by `release_dead`."""
        recovery_ = await self._pool.write(lambda db: recovery.recover(db, worker, node))
        await self._recorder.become(node, worker)
        return recovery_

    # --- leases

    async def heartbeat(self, node: int, lasts: int) -> bool:
        try:
            renewed = await self._pool.write(lambda db: nodes.heartbeat(db, node, lasts))
        except asyncio.CancelledError:
            # The answer was waited for long enough. A machine that is gone says nothing, and neither does the way to
            # it: so other connections are tried next, and in the end nothing is waited for any longer.
            self._pool.forget()
            self._silent += 1
            if self._silent >= SILENT:
                self._cut()
            raise
        self._silent = 0
        # another server took over: whatever still waits for the old one waits for nothing
        self._cut(self._servers.timeline)
        return renewed

    def _cut(self, below: int | None = None) -> None:
        self._pool.cut(below)
        self._recorder.cut(below)

    async def release_dead(self, ago: int = 0) -> list[int]:
        return await self._pool.write(lambda db: nodes.release_dead(db, ago))

    async def lease_worker(self, node: int) -> int | None:
        return await self._pool.write(lambda db: nodes.lease_worker(db, node))

    async def gathered(self, start: int, end: int) -> tuple[list[int], int]:
        return await self._pool.look(lambda db: receipts.gathered(db, start, end))

    async def lease_binds(self, connector: int, node: int, binds: int, want: int) -> list[int]:
        return await self._pool.write(lambda db: nodes.lease_binds(db, connector, node, binds, want))

    async def release(self, node: int) -> int:
        return await self._pool.write(lambda db: dispatch.release(db, node))

    # --- receipts

    async def find_outstanding(self, connector: int, operator_ids: Sequence[str]) -> list[Outstanding]:
        return await self._pool.look(lambda db: receipts.find_outstanding(db, connector, operator_ids))

    async def outstanding(self, key: int) -> Outstanding | None:
        return await self._pool.look(lambda db: receipts.outstanding(db, key))

    async def overdue(self, expired: int, beyond: int, limit: int) -> tuple[list[Outstanding], int | None]:
        return await self._pool.look(lambda db: receipts.overdue(db, expired, beyond, limit))

    async def orphans(self, limit: int) -> list[EarlyReceipt]:
        return await self._pool.read(lambda db: receipts.orphans(db, limit))

    async def forget(self, before: int, most: int, limit: int) -> int:
        return await self._pool.write(lambda db: receipts.forget(db, before, most, limit))

    # --- callbacks

    async def next_callback_due(self) -> int | None:
        return await self._pool.read(callbacks.next_callback_due)

    async def replay(self, account: int | None, key: int | None, now: int) -> int:
        return await self._pool.write(lambda db: callbacks.replay(db, account, key, now))

    # --- what customers ask

    async def balance(self, account: int) -> int:
        return await self._pool.read(lambda db: browse.balance(db, account))

    async def message(self, account: int, key: int, tail: int) -> Message | None:
        return await self._pool.read(lambda db: browse.message(db, account, key, tail))

    async def batch(self, account: int, key: int, tail: int, index: int, limit: int) -> BatchSlice | None:
        return await self._pool.look(lambda db: browse.batch(db, account, key, tail, index, limit))

    async def replayed(self, account: int, reference: str) -> tuple[bytes, Accept] | None:
        return await self._pool.read(lambda db: replay.replayed(db, account, reference))

    async def messages(self, account: int, query: ListQuery) -> list[Message]:
        return await self._pool.look(lambda db: browse.messages(db, account, query))

    async def admit_list(self, account: int, now: int, interval: int, unanswered: int | None = None) -> int:
        return await self._pool.write(lambda db: browse.admit_list(db, account, now, interval, unanswered))

    async def history(self, account: int, key: int, tail: int) -> list[Event] | None:
        return await self._pool.look(lambda db: browse.history(db, account, key, tail))

    async def delivery(self, key: int) -> tuple[Delivery, str, int] | None:
        return await self._pool.read(lambda db: browse.delivery(db, key))

    async def cancel(self, account: int, key: int, tail: int, now: int) -> list[Message]:
        return await self._pool.write(lambda db: reschedule.cancel(db, account, key, tail, now))

    async def reschedule(self, account: int, key: int, tail: int, time: int, expires: int, now: int) -> list[Message]:
        return await self._pool.write(lambda db: reschedule.reschedule(db, account, key, tail, time, expires, now))

    # --- operators and what they ask

    def noting(self, describe: Callable[[Any], AuditEntry | None]) -> Self:
        async def also(db: Db, result: Any) -> None:
            deed = describe(result)
            if deed is not None:
                await drive(db, lambda: self._line(deed), {})

        noting = super().noting(describe)
        assert isinstance(self._pool, Pool)
        noting._pool = Noting(self._pool, also)  # noqa: SLF001 - another of its kind
        return noting

    def _line(self, deed: AuditEntry) -> Steps[None]:
        yield append(deed)

    async def search(self, search: Search) -> SearchPage:
        return await self._pool.look(lambda db: searching.search(db, search))

    async def identified(self, key: int, tail: int, limit: int) -> list[Hit]:
        return await self._pool.look(lambda db: searching.identified(db, key, tail, limit))

    async def referenced(self, reference: str, account: int | None, limit: int) -> list[Hit]:
        return await self._pool.look(lambda db: searching.referenced(db, reference, account, limit))

    async def of_references(self, account: int, references: Sequence[str]) -> list[Hit]:
        return await self._pool.read(lambda db: searching.of_references(db, account, references))

    async def trace(self, key: int) -> MessageRecord | None:
        return await self._pool.look(lambda db: searching.trace(db, key))

    async def owed_callbacks(self, limit: int, after: tuple[int, int] | None = None) -> list[CallbackView]:
        return await self._pool.read(lambda db: oversight.owed_callbacks(db, limit, after))

    async def ended_callbacks(self, limit: int, before: int | None = None) -> list[CallbackView]:
        return await self._pool.read(lambda db: oversight.ended_callbacks(db, limit, before))

    async def drop_callbacks(self, keys: Sequence[int], now: int) -> int:
        return await self._pool.write(lambda db: oversight.drop_callbacks(db, keys, now))

    async def standing(self, now: int) -> BacklogCounts:
        return await self._pool.look(lambda db: oversight.standing(db, now))

    async def ended_unknown(self, since: int) -> int:
        return await self._pool.read(lambda db: oversight.ended_unknown(db, since))

    # --- keeping house

    async def index_numbers(self, now: int, size: int) -> int:
        if await self._pool.look(lambda db: numbers.next_block(db, now, size)) is None:
            return 0  # and nothing was written
        return await self._pool.write(lambda db: numbers.index_numbers(db, now, size))

    async def hazards(self) -> list[str]:
        return await self._pool.read(upkeep.hazards)

    async def backlog(self) -> dict[str, int]:
        return await self._pool.look(upkeep.backlog)

    async def probe(self) -> None:
        async def nothing(_db: Db) -> None:
            """Beginning to write is writing something: the writer's own row."""

        await self._pool.write(nothing)

    async def reach(self) -> RestorePoint:
        return await self._database.scan(upkeep.reach)

    async def audit(self) -> list[str]:
        return await self._database.scan(upkeep.audit)

    async def close(self) -> None:
        """What is asked later raises Unavailable."""
        await asyncio.gather(self._recorder.close(), self._database.close())
