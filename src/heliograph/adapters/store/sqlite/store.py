"""The store as one object: calls of the event loop, run by the writer's or the reader's thread."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from copy import copy
from pathlib import Path
from typing import Any, Concatenate, Self, cast

from heliograph.adapters.store.shared.schema import Schema
from heliograph.adapters.store.sqlite import (
    accounts,
    browse,
    callbacks,
    dispatch,
    numbers,
    oversight,
    people,
    receipts,
    recovery,
    reschedule,
    routing,
    upkeep,
)
from heliograph.adapters.store.sqlite.audit import audit
from heliograph.adapters.store.sqlite.connection import connect, create_file, is_outage
from heliograph.adapters.store.sqlite.history import history
from heliograph.adapters.store.sqlite.log import lengthen
from heliograph.adapters.store.sqlite.loop_commit import Swift, syncs_quickly
from heliograph.adapters.store.sqlite.record import record
from heliograph.adapters.store.sqlite.replay import replayed
from heliograph.adapters.store.sqlite.schema import migrate, shipped
from heliograph.adapters.store.sqlite.search import identified, of_references, referenced, trace
from heliograph.adapters.store.sqlite.search import search as search_rows
from heliograph.adapters.store.sqlite.worker import Noting, P, R, Session, Worker
from heliograph.app.admin.oversight import (
    AdminSession,
    AdminToken,
    AdminUser,
    AuditEntry,
    AuditQuery,
    BacklogCounts,
    CallbackView,
    Hit,
    MessageRecord,
    RestorePoint,
    Search,
    SearchPage,
    Usage,
)
from heliograph.app.configuration import Account, ApiKey, Connector, LedgerEntry, Price, Route, Tables
from heliograph.app.facts import Accept, EarlyReceipt, Facts, Message, Outstanding, Queued
from heliograph.app.marks import Recovery
from heliograph.app.notices.notice import Notice
from heliograph.app.ports import BatchSlice, ConnectorReport, Event, ListQuery, Unavailable
from heliograph.domain.receipt import Delivery

BUSY_MS = 10_000
"""How long a call waits for another process that writes."""

CALLS = 1_000
"""Calls that may wait for a thread; one more is refused as Unavailable."""


class SqliteStore:
    """`app.ports.Store` and `Leases` on one SQLite file.

    Several processes may have it open, one of them as the engine: the one whose node `recover` was last told, and
    which holds the rows that are recorded as held.
    """

    def __init__(self, path: Path, busy_ms: int, calls: int, swift: bool | None) -> None:
        """The file must be there, with its schema; see `open`."""
        self._may_be_swift = swift is None
        self._swift = Swift(path) if swift else None
        self._path = path
        self._busy_ms = busy_ms
        self._node = 0
        self._writer: Worker | Noting = Worker("store-writer", Session(path, busy_ms, read_only=False), calls)
        self._reader = Worker("store-reader", Session(path, busy_ms, read_only=True), calls)
        # what people look for takes its time: the gateway's own reading does not wait for it
        self._searcher = Worker("store-searcher", Session(path, busy_ms, read_only=True), calls)

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
        swift = self._swift
        if swift is not None:
            done, _ = swift.try_call(lambda session: record(session, facts, node))
            if swift.tired:
                self._swift = None
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
                self._swift = Swift(self._path)
            await self._writer.transact(lengthen, self._path)
        return await self._writer.transact(recovery.recover, node)

    # --- what customers ask

    async def balance(self, account: int) -> int:
        return await self._glance(browse.balance, account)

    async def message(self, account: int, key: int, tail: int) -> Message | None:
        return await self._glance(browse.message, account, key, tail)

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
        return await self._glance(browse.delivery, key)

    async def cancel(self, account: int, key: int, tail: int, now: int) -> list[Message]:
        return await self._writer.transact(reschedule.cancel, account, key, tail, now)

    async def reschedule(self, account: int, key: int, tail: int, time: int, expires: int, now: int) -> list[Message]:
        return await self._writer.transact(reschedule.reschedule, account, key, tail, time, expires, now)

    # --- administration

    async def revision(self) -> int:
        return await self._reader.look(routing.revision)

    async def tables(self) -> Tables:
        return await self._reader.transact(routing.tables)

    async def create_account(self, account: Account, key: ApiKey, credit: int, prices: Sequence[Price]) -> Account:
        return await self._writer.transact(accounts.create_account, account, key, credit, prices)

    async def update_account(self, account: int, changes: dict[str, Any]) -> Account:
        return await self._writer.transact(accounts.update_account, account, changes)

    async def account(self, name: str) -> tuple[Account, list[ApiKey]] | None:
        return await self._reader.transact(accounts.account, name)

    async def account_by_id(self, account: int) -> Account | None:
        return await self._reader.transact(accounts.account_by_id, account)

    async def accounts(self) -> list[tuple[Account, int]]:
        return await self._reader.transact(accounts.accounts)

    async def add_credit(self, account: int, amount: int, note: str, now: int) -> int:
        return await self._writer.transact(accounts.add_credit, account, amount, note, now)

    async def ledger(self, account: int, limit: int, before: int | None = None) -> list[LedgerEntry]:
        return await self._reader.transact(accounts.ledger, account, limit, before)

    async def add_key(self, key: ApiKey) -> None:
        await self._writer.transact(accounts.add_key, key)

    async def revoke_key(self, account: int, key: str, now: int) -> None:
        await self._writer.transact(accounts.revoke_key, account, key, now)

    async def add_connector(self, connector: Connector) -> Connector:
        return await self._writer.transact(routing.add_connector, connector)

    async def update_connector(self, connector: Connector) -> None:
        await self._writer.transact(routing.update_connector, connector)

    async def remove_connector(self, name: str) -> None:
        await self._writer.transact(routing.remove_connector, name)

    async def add_route(self, route: Route) -> Route:
        return await self._writer.transact(routing.add_route, route)

    async def remove_route(self, route: int) -> None:
        await self._writer.transact(routing.remove_route, route)

    async def set_price(self, price: Price) -> None:
        await self._writer.transact(routing.set_price, price)

    async def remove_price(self, plan: str, prefix: str) -> None:
        await self._writer.transact(routing.remove_price, plan, prefix)

    async def save_link_states(self, reports: Sequence[ConnectorReport]) -> None:
        await self._writer.transact(routing.save_link_states, reports)

    async def link_states(self) -> list[ConnectorReport]:
        return await self._reader.transact(routing.link_states)

    # --- operators and what they ask

    async def create_admin(self, user: AdminUser) -> None:
        await self._writer.transact(people.create_admin, user)

    async def admins(self) -> list[AdminUser]:
        return await self._searcher.transact(people.admins)

    async def admin(self, name: str) -> AdminUser | None:
        return await self._searcher.transact(people.admin, name)

    async def update_admin(self, user: AdminUser) -> None:
        await self._writer.transact(people.update_admin, user)

    async def remove_admin(self, name: str) -> None:
        await self._writer.transact(people.remove_admin, name)

    async def open_session(self, session: AdminSession) -> None:
        await self._writer.transact(people.open_session, session)

    async def session(self, digest: bytes, now: int) -> tuple[AdminSession, AdminUser] | None:
        return await self._reader.look(people.session, digest, now)

    async def close_session(self, digest: bytes) -> None:
        await self._writer.transact(people.close_session, digest)

    async def add_token(self, token: AdminToken) -> None:
        await self._writer.transact(people.add_token, token)

    async def tokens(self) -> list[AdminToken]:
        return await self._searcher.transact(people.tokens)

    async def token(self, digest: bytes) -> AdminToken | None:
        return await self._reader.look(people.token, digest)

    async def revoke_token(self, token: str, now: int) -> None:
        await self._writer.transact(people.revoke_token, token, now)

    async def note(self, deed: AuditEntry) -> None:
        await self._writer.transact(people.note, deed)

    def noting(self, describe: Callable[[Any], AuditEntry | None]) -> Self:
        def also(db: sqlite3.Connection, result: Any) -> None:
            deed = describe(result)
            if deed is not None:
                people.note(db, deed)

        assert isinstance(self._writer, Worker)
        noting = copy(self)
        noting._writer = Noting(self._writer, also)  # noqa: SLF001 - another of its kind
        return noting

    async def deeds(self, query: AuditQuery) -> list[AuditEntry]:
        return await self._searcher.transact(people.deeds, query)

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

    async def usage(self, account: int, start: int, end: int, step: int) -> list[Usage]:
        return await self._searcher.transact(oversight.usage, account, start, end, step)

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
        return await self._read_all(upkeep.reach)

    async def audit(self) -> list[str]:
        return await self._read_all(audit)

    async def _glance(
        self, work: Callable[Concatenate[sqlite3.Connection, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """A look at a row or two, which takes less than handing it over does, if the disk is a quick one."""
        if self._swift is not None:
            done, result = self._swift.try_look(work, *args, **kwargs)
            if done:
                return cast("R", result)
        return await self._reader.look(work, *args, **kwargs)

    async def _read_all(self, work: Callable[[sqlite3.Connection], R]) -> R:
        """Takes as long as reading all rows does, on a connection of its own; other calls do not wait for it."""
        session = Session(self._path, self._busy_ms, read_only=True)

        def run() -> R:
            try:
                return session.transact(work)
            finally:
                session.close()

        return await asyncio.to_thread(run)

    async def close(self) -> None:
        """What was asked before is still done; what is asked later raises Unavailable."""
        if self._swift is not None:
            self._swift.close()
            self._swift = None
        await self._searcher.close()
        await self._reader.close()
        await self._writer.close()


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
