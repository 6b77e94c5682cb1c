"""A store of stores: each has the messages and the money of accounts in a range of queue keys, and the first has the
configuration. It implements the sharding of docs/decisions/0004-sharding.md for a single node."""

import asyncio
from bisect import bisect_right
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from heliograph.app.commit.isolate import Bisection, RejectedPiece
from heliograph.app.commit.pieces import NAMED, OWNED, WITHOUT_ACCOUNT
from heliograph.app.configuration import Account, ApiKey, Changes, Price
from heliograph.app.facts import Facts, Outstanding, Queued
from heliograph.app.marks import Recovery
from heliograph.app.notice import Notice
from heliograph.app.ports import EndedPart, Store, StoreRejected, Unavailable, Unreported

Found = TypeVar("Found")

SLOTS = 64
"""Queue keys: which part of the work an account belongs to, and so where its rows are."""

_GOLDEN = 0x9E3779B9
"""2 to the 32nd, divided by the golden ratio: neighbouring accounts come to lie far apart."""

RETRY_S = 0.05
"""Seconds before a shard is asked again that could not be."""


async def _to_its_end(ask: Callable[[], Awaitable[Found]], *, begun: bool) -> Found:
    """Makes the call; if `begun`, repeats it until it succeeds, since another shard has written or claimed its share
    and there is no way back."""
    while True:
        try:
            return await ask()
        except Unavailable:
            if not begun:
                raise
            await asyncio.sleep(RETRY_S)


_PORTS = tuple(Store.__annotations__)
"""The ports of a store. A port without an implementation here is the first shard's."""


def divide(facts: Facts, firsts: Sequence[int]) -> tuple[list[Facts], Facts]:
    """Returns the facts of each shard, in their order, and the facts without an account.

    `firsts` are the shards' first queue keys, ascending from 0. Each shard gets the marks, which describe the rows that
    are written with them. Facts without an account must be written last: an early receipt is deleted once its effects
    are durable.
    """
    shards = [Facts(marks=dict(facts.marks)) for _ in firsts]
    for kind in OWNED:
        for fact in getattr(facts, kind):
            getattr(shards[shard_of(fact.account, firsts)], kind).append(fact)
    for kind in NAMED:
        for name in getattr(facts, kind):
            getattr(shards[shard_of(name[0], firsts)], kind).append(name)
    nobodys = Facts()
    for kind in WITHOUT_ACCOUNT:
        getattr(nobodys, kind).extend(getattr(facts, kind))
    return shards, nobodys


def slot_of(account: int) -> int:
    """Returns the queue key of an account."""
    return (account & 0xFFFFFFFF) * _GOLDEN >> 26 & (SLOTS - 1)


def shard_of(account: int, firsts: Sequence[int]) -> int:
    """Returns the shard, from 0, that has the account's rows."""
    return bisect_right(firsts, slot_of(account)) - 1


class ShardedPort:
    """A port: `queue.claim` is the method `queue_claim` of the shards, or else the first shard's."""

    def __init__(self, shards: "Shards", port: str) -> None:
        self._shards = shards
        self._port = port

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._shards, f"{self._port}_{name}", None)
        return getattr(self._shards.first_port(self._port), name) if found is None else found


class Shards:
    """The needed part of `app.ports.Store`. Other calls go to the first shard."""

    def __init__(self, stores: Sequence[Store], firsts: Sequence[int]) -> None:
        """`firsts` are the first queue keys of the stores, ascending from 0."""
        self._stores = stores
        self._firsts = firsts
        for port in _PORTS:
            setattr(self, port, ShardedPort(self, port))
        self.leases = None
        self._turn = 0
        self.misfits: list[RejectedPiece] = []
        """Pieces that a shard rejected."""

    def of(self, account: int) -> Store:
        """The store with the account's rows."""
        return self._stores[shard_of(account, self._firsts)]

    def first_port(self, port: str) -> Any:
        return getattr(self._stores[0], port)

    def _in_turn(self) -> list[Store]:
        """Returns all shards, starting with another shard each time."""
        self._turn = (self._turn + 1) % len(self._stores)
        return [*self._stores[self._turn :], *self._stores[: self._turn]]

    async def _each(self, ask: Callable[[Store], Awaitable[Found]]) -> list[Found]:
        return [await ask(store) for store in self._stores]

    async def _all(self, ask: Callable[[Store], Awaitable[list[Found]]]) -> list[Found]:
        return list(chain.from_iterable(await self._each(ask)))

    async def _up_to(self, limit: int, ask: Callable[[Store, int], Awaitable[list[Found]]]) -> list[Found]:
        found: list[Found] = []
        for store in self._in_turn():
            if len(found) < limit:
                found += await _to_its_end(partial(ask, store, limit - len(found)), begun=bool(found))
        return found

    # --- the hot path

    async def commits_record(self, facts: Facts) -> None:
        """Records in a transaction for each shard, in turn."""
        divided, nobodys = divide(facts, self._firsts)
        pieces = [(store, divided[self._stores.index(store)]) for store in self._in_turn()]
        pieces = [(store, piece) for store, piece in [*pieces, (self._stores[0], nobodys)] if piece]
        for number, (store, piece) in enumerate(pieces):
            await self._record(store, piece, begun=number > 0)

    async def _record(self, store: Store, piece: Facts, *, begun: bool) -> None:
        try:
            await _to_its_end(partial(store.commits.record, piece), begun=begun)
        except StoreRejected:
            # A failed attempt leaves the facts that must still be recorded in `piece`.
            await _to_its_end(lambda: Bisection(store.commits, piece, self.misfits.append).record(), begun=True)

    # --- the queue

    async def queue_claim(
        self, connector: int, limit: int, now: int, node: int, accounts: Sequence[int] = ()
    ) -> list[Queued]:
        if not accounts:
            return await self._up_to(limit, lambda store, n: store.queue.claim(connector, n, now, node))
        claimed: list[Queued] = []
        for store in self._stores:
            own = [account for account in accounts if self.of(account) is store]
            ask = partial(store.queue.claim, connector, limit, now, node, own)
            claimed += await _to_its_end(ask, begun=bool(claimed)) if own else []
        return claimed

    async def queue_accounts(self, connector: int, now: int) -> list[int]:
        return sorted(await self._all(lambda store: store.queue.accounts(connector, now)))

    async def queue_claim_expired(self, limit: int, now: int, node: int) -> list[Queued]:
        return await self._up_to(limit, lambda store, n: store.queue.claim_expired(n, now, node))

    async def queue_next_due(self) -> dict[int, int]:
        earliest: dict[int, int] = {}
        for due in await self._each(lambda store: store.queue.next_due()):
            for connector, at in due.items():
                earliest[connector] = min(at, earliest.get(connector, at))
        return earliest

    async def queue_release(self, node: int) -> int:
        return sum(await self._each(lambda store: store.queue.release(node)))

    async def queue_resume(self, now: int, limit: int) -> int:
        return max(await self._each(lambda store: store.queue.resume(now, limit)))

    # --- receipts: the operator's id does not identify the account

    async def receipts_find(self, connector: int, operator_ids: Sequence[str]) -> list[Outstanding]:
        found = await self._all(lambda store: store.receipts.find(connector, operator_ids))
        return sorted(found, key=lambda each: each.message.key)

    async def receipts_ended(
        self, connector: int, operator_ids: Sequence[str], since: int, before: int
    ) -> list[EndedPart]:
        return await self._all(lambda store: store.receipts.ended(connector, operator_ids, since, before))

    async def receipts_outstanding(self, key: int) -> Outstanding | None:
        found = await self._each(lambda store: store.receipts.outstanding(key))
        return next((each for each in found if each is not None), None)

    async def receipts_overdue(
        self, expired: int, beyond: int, limit: int
    ) -> tuple[list[Outstanding], list[int], int | None]:
        """Each shard is looked through at once: as many as there are of them times `limit`."""
        found: list[Outstanding] = []
        ended: list[int] = []
        goes_on = None
        for store in self._stores:
            of_one, ended_of_one, last = await store.receipts.overdue(expired, beyond, limit)
            found += of_one
            ended += ended_of_one
            goes_on = last if goes_on is None else min(goes_on, last or goes_on)
        return found, ended, goes_on

    async def receipts_forget_awaited(self, keys: Sequence[int]) -> None:
        await self._each(lambda store: store.receipts.forget_awaited(keys))

    async def receipts_unreported(self, before: int, beyond: int, limit: int) -> tuple[list[Unreported], int | None]:
        """Each shard is looked through at once: as many as there are of them times `limit`."""
        found: list[Unreported] = []
        ends = []
        for store in self._stores:
            of_one, last = await store.receipts.unreported(before, beyond, limit)
            found += of_one
            ends += [last] if last is not None else []
        found = [each for each in found if not ends or each.key <= min(ends)]
        return sorted(found, key=lambda each: each.key), min(ends, default=None)

    # --- callbacks

    async def notices_claim(self, limit: int, now: int, node: int, accounts: Sequence[int] = ()) -> list[Notice]:
        if not accounts:
            return await self._up_to(limit, lambda store, n: store.notices.claim(n, now, node))
        found: list[Notice] = []
        for store in self._in_turn():
            found += await _to_its_end(partial(store.notices.claim, limit, now, node, accounts), begun=bool(found))
        return found

    async def notices_accounts(self, beyond: int, limit: int) -> list[tuple[int, int]]:
        each = await self._each(lambda store: store.notices.accounts(beyond, limit))
        return sorted(found for one in each for found in one)[:limit]

    async def notices_next_due(self) -> int | None:
        found = await self._each(lambda store: store.notices.next_due())
        return min((at for at in found if at is not None), default=None)

    async def notices_replay(self, keys: Sequence[int], now: int) -> int:
        return sum(await self._each(lambda store: store.notices.replay(keys, now)))

    # --- after a crash

    async def commits_recover(self, worker: int, node: int) -> Recovery:
        each = await self._each(lambda store: store.commits.recover(worker, node))
        names = {name for recovery in each for name in recovery.marks}
        marks = {name: self.mark(name, [recovery.marks.get(name, 0) for recovery in each]) for name in names}
        return Recovery(
            last_key=max(recovery.last_key for recovery in each),
            marks=marks,
            unsent=sorted((queued for one in each for queued in one.unsent), key=lambda queued: queued.message.key),
            outstanding=[outstanding for one in each for outstanding in one.outstanding],
            owed=[owed for one in each for owed in one.owed],
            early=each[0].early,
        )

    @staticmethod
    def mark(name: str, values: Sequence[int]) -> int:
        """A commit may have reached only some shards. Nothing was sent then, so the lowest attempt mark is true. Of the
        other marks the highest counts: new facts below it get their row at once, even if their own shard is behind."""
        return min(values) if name.startswith("attempted") else max(values)

    # --- queries by customers, each of its own shard

    async def customers_balance(self, account: int) -> int:
        return await self.of(account).customers.balance(account)

    async def customers_message(self, account: int, key: int, tail: int) -> Any:
        return await self.of(account).customers.message(account, key, tail)

    async def customers_messages(self, account: int, query: Any) -> Any:
        return await self.of(account).customers.messages(account, query)

    async def customers_cancel(self, account: int, key: int, tail: int, now: int) -> Any:
        return await self.of(account).customers.cancel(account, key, tail, now)

    async def customers_reschedule(self, account: int, key: int, tail: int, time: int, expires: int, now: int) -> Any:
        return await self.of(account).customers.reschedule(account, key, tail, time, expires, now)

    async def suppressions_suppress(self, account: int, numbers: Sequence[str], source: str, now: int) -> int:
        return await self.of(account).suppressions.suppress(account, numbers, source, now)

    async def suppressions_lift(self, account: int, number: str) -> None:
        await self.of(account).suppressions.lift(account, number)

    async def suppressions_among(self, account: int, numbers: Sequence[str]) -> set[str]:
        return await self.of(account).suppressions.among(account, numbers)

    async def suppressions_made_since(self, since: int) -> list[tuple[int, str, int]]:
        return await self._all(lambda store: store.suppressions.made_since(since))

    # --- administration: an account is known to all, and its credit is its own shard's

    async def accounts_ledger(self, account: int, limit: int, before: int | None = None) -> Any:
        return await self.of(account).accounts.ledger(account, limit, before)

    async def accounts_statement(self, account: int, query: Any) -> Any:
        return await self.of(account).accounts.statement(account, query)

    async def accounts_create(self, account: Account, key: ApiKey, credit: int, prices: Sequence[Price]) -> Account:
        """All shards are given the same accounts in the same order, and so number them alike."""
        numbers = [each.id for each, _ in await self._stores[0].accounts.all()]
        own = self.of(max(numbers, default=0) + 1)
        created = [
            await store.accounts.create(account, key, credit if store is own else 0, prices) for store in self._stores
        ]
        assert {each.id for each in created} == {max(numbers, default=0) + 1}
        return created[0]

    async def accounts_update(self, account: int, changes: dict[str, Any]) -> Account:
        """Changes it in all shards: each judges the limits of its own accounts."""
        (changed, *_) = [await store.accounts.update(account, changes) for store in self._stores]
        return changed

    async def table_changes_revision(self) -> int:
        return sum([await store.table_changes.revision() for store in self._stores])

    async def table_changes_changes(self, since: int | None, was: int, now: int) -> Changes:
        revision = await self.table_changes_revision()  # first, so that later changes are read again
        changes = await self._stores[0].table_changes.changes(None, was, now)
        return replace(changes, tables=replace(changes.tables, revision=revision))

    # --- keeping house

    async def upkeep_index_numbers(self, now: int, size: int) -> int:
        return sum(await self._each(lambda store: store.upkeep.index_numbers(now, size)))

    async def upkeep_backlog(self) -> dict[str, int]:
        counts: Counter[str] = Counter()
        for each in await self._each(lambda store: store.upkeep.backlog()):
            counts.update(each)
        return dict(counts)

    async def upkeep_audit(self) -> list[str]:
        return await self._all(lambda store: store.upkeep.audit())

    async def close(self) -> None:
        await self._each(lambda store: store.close())
