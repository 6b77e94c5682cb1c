"""The rows of the in-memory store, and its administration."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from heliograph.app.configuration import (
    ACCOUNT_FIELDS,
    Account,
    ApiKey,
    Connector,
    Exists,
    LedgerEntry,
    Missing,
    Price,
    Route,
    Tables,
)
from heliograph.app.facts import Attempt, CallbackDone, EarlyReceipt, Message, PartReceipt, Submission
from heliograph.app.ports import ConnectorReport, Unavailable
from heliograph.domain.money import EntryKind
from heliograph.domain.receipt import Delivery


@dataclass(slots=True)
class QueueRow:
    connector: int
    due: int
    expires: int
    attempted: bool
    node: int | None = None


@dataclass(slots=True)
class RetryRow:
    due: int | None
    attempts: int
    body: bytes
    problem: str
    first: int
    node: int | None = None


@dataclass(slots=True)
class Batch:
    key: int
    tail: int
    account: int
    reference: str | None
    total: int
    keys: list[int]


@dataclass(slots=True)
class Reference:
    fingerprint: bytes
    key: int
    batch: bool
    scheduled: bool


@dataclass(slots=True)
class End:
    """`state` is None for a cancelled message."""

    state: Delivery | None
    err: str
    at: int
    owed: bool


@dataclass(slots=True)
class Moved:
    key: int
    at: int
    was: int
    time: int


@dataclass(slots=True)
class Rows:
    accounts: dict[int, Account] = field(default_factory=dict)
    keys: list[ApiKey] = field(default_factory=list)
    balances: dict[int, int] = field(default_factory=dict)
    ledger: list[LedgerEntry] = field(default_factory=list)
    last_list: dict[int, int] = field(default_factory=dict)
    connectors: dict[int, Connector] = field(default_factory=dict)
    routes: dict[int, Route] = field(default_factory=dict)
    prices: dict[tuple[str, str], int] = field(default_factory=dict)
    link_states: dict[tuple[int, int], ConnectorReport] = field(default_factory=dict)
    messages: dict[int, Message] = field(default_factory=dict)
    batches: dict[int, Batch] = field(default_factory=dict)
    references: dict[tuple[int, str], Reference] = field(default_factory=dict)
    queue: dict[int, QueueRow] = field(default_factory=dict)
    moved: list[Moved] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    sent: dict[tuple[int, int], Submission] = field(default_factory=dict)
    parts: dict[tuple[int, int], PartReceipt] = field(default_factory=dict)
    progress: list[PartReceipt] = field(default_factory=list)
    finals: dict[int, End] = field(default_factory=dict)
    early: list[EarlyReceipt] = field(default_factory=list)
    awaiting: set[tuple[int, str, int, int]] = field(default_factory=set)
    callbacks: dict[int, CallbackDone] = field(default_factory=dict)
    retries: dict[int, RetryRow] = field(default_factory=dict)
    marks: dict[str, int] = field(default_factory=dict)
    revision: int = 0
    given: dict[str, int] = field(default_factory=dict)
    """The last number given to an account, a connector, a route, a ledger entry."""


def merged(shards: Sequence[Rows]) -> Rows:
    """The rows of several stores as if one had them; but what is administered is the first one's, and a mark is each
    one's own."""
    rows = replace(shards[0], marks={})
    for name in ("messages", "batches", "references", "queue", "sent", "parts", "finals", "callbacks", "retries"):
        setattr(rows, name, {key: row for shard in shards for key, row in getattr(shard, name).items()})
    for name in ("ledger", "moved", "attempts", "progress", "early"):
        setattr(rows, name, [row for shard in shards for row in getattr(shard, name)])
    rows.awaiting = {row for shard in shards for row in shard.awaiting}
    rows.balances = {account: sum(shard.balances[account] for shard in shards) for account in rows.balances}
    return rows


class MemoryAdministration:
    """The half of `app.ports.Store` that the operator uses, and what both halves stand on."""

    def __init__(self, rows: Rows | None = None) -> None:
        self.broken = False
        self._closed = False
        self._rows = Rows() if rows is None else rows
        self._node = 0

    async def revision(self) -> int:
        return self._open().revision

    async def tables(self) -> Tables:
        rows = self._open()
        return Tables(
            rows.revision,
            [replace(each) for each in rows.connectors.values()],
            [replace(each) for each in sorted(rows.routes.values(), key=lambda each: (each.prefix, each.priority))],
            [Price(plan, prefix, price) for (plan, prefix), price in sorted(rows.prices.items())],
        )

    async def create_account(self, account: Account, key: ApiKey, credit: int, prices: Sequence[Price]) -> Account:
        rows = self._open()
        if any(each.name == account.name for each in rows.accounts.values()):
            raise Exists(account.name)
        created = replace(account, id=self._next("account"))
        rows.accounts[created.id] = created
        rows.balances[created.id] = 0
        rows.keys.append(replace(key, account=created.id))
        rows.prices.update({(price.plan, price.prefix): price.price for price in prices})
        self._enter(rows, created.id, EntryKind.TOP_UP, credit, 0, account.created, "opening credit")
        rows.revision += 1
        return replace(created)

    async def update_account(self, account: int, changes: dict[str, Any]) -> Account:
        rows = self._open()
        if account not in rows.accounts:
            raise Missing("no such account")
        if not changes.keys() <= set(ACCOUNT_FIELDS):
            raise ValueError(f"not all of {', '.join(changes)} can be changed")
        rows.accounts[account] = replace(rows.accounts[account], **changes)
        rows.revision += 1
        return replace(rows.accounts[account])

    async def account(self, name: str) -> tuple[Account, list[ApiKey]] | None:
        rows = self._open()
        for account in rows.accounts.values():
            if account.name == name:
                return replace(account), [replace(key) for key in rows.keys if key.account == account.id]
        return None

    async def account_by_id(self, account: int) -> Account | None:
        found = self._open().accounts.get(account)
        return None if found is None else replace(found)

    async def accounts(self) -> list[tuple[Account, int]]:
        rows = self._open()
        by_name = sorted(rows.accounts.values(), key=lambda account: account.name)
        return [(replace(account), rows.balances[account.id]) for account in by_name]

    async def add_credit(self, account: int, amount: int, note: str, now: int) -> int:
        rows = self._open()
        if account not in rows.accounts:
            raise Missing("no such account")
        self._enter(rows, account, EntryKind.TOP_UP, amount, 0, now, note)
        rows.revision += 1
        return rows.balances[account]

    async def ledger(self, account: int, limit: int, before: int | None = None) -> list[LedgerEntry]:
        entries = [
            entry
            for entry in self._open().ledger
            if entry.account == account and (before is None or entry.key < before)
        ]
        entries.sort(key=lambda entry: entry.key, reverse=True)
        return [replace(entry) for entry in entries[:limit]]

    async def add_key(self, key: ApiKey) -> None:
        rows = self._open()
        if key.account not in rows.accounts:
            raise Missing("no such account")
        if any((each.account, each.id) == (key.account, key.id) for each in rows.keys):
            raise Exists(key.id)
        rows.keys.append(replace(key))
        rows.revision += 1

    async def revoke_key(self, account: int, key: str, now: int) -> None:
        rows = self._open()
        for each in rows.keys:
            if (each.account, each.id, each.revoked) == (account, key, None):
                each.revoked = now
                rows.revision += 1
                return
        raise Missing("no such key, or it is revoked already")

    async def add_connector(self, connector: Connector) -> Connector:
        rows = self._open()
        if any(each.name == connector.name for each in rows.connectors.values()):
            raise Exists(connector.name)
        added = replace(connector, id=self._next("connector"))
        rows.connectors[added.id] = added
        rows.revision += 1
        return replace(added)

    async def update_connector(self, connector: Connector) -> None:
        rows = self._open()
        if connector.id not in rows.connectors:
            raise Missing("no such connector")
        if any(each.name == connector.name and each.id != connector.id for each in rows.connectors.values()):
            raise Exists(connector.name)
        rows.connectors[connector.id] = replace(connector)
        rows.revision += 1

    async def remove_connector(self, name: str) -> None:
        rows = self._open()
        gone = next((each.id for each in rows.connectors.values() if each.name == name), None)
        if gone is None:
            raise Missing("no such connector")
        del rows.connectors[gone]
        rows.routes = {of: route for of, route in rows.routes.items() if route.connector != gone}
        rows.link_states = {key: state for key, state in rows.link_states.items() if state.connector != gone}
        rows.revision += 1

    async def add_route(self, route: Route) -> Route:
        rows = self._open()
        if route.connector not in rows.connectors:
            raise Missing("no such connector")
        same = (route.prefix, route.connector, route.priority)
        if any((each.prefix, each.connector, each.priority) == same for each in rows.routes.values()):
            raise Exists(route.prefix)
        added = replace(route, id=self._next("route"))
        rows.routes[added.id] = added
        rows.revision += 1
        return replace(added)

    async def remove_route(self, route: int) -> None:
        rows = self._open()
        if rows.routes.pop(route, None) is None:
            raise Missing("no such route")
        rows.revision += 1

    async def set_price(self, price: Price) -> None:
        rows = self._open()
        rows.prices[price.plan, price.prefix] = price.price
        rows.revision += 1

    async def remove_price(self, plan: str, prefix: str) -> None:
        rows = self._open()
        if rows.prices.pop((plan, prefix), None) is None:
            raise Missing("no such price")
        rows.revision += 1

    async def save_link_states(self, states: Sequence[ConnectorReport]) -> None:
        self._open().link_states.update({(each.connector, each.node): replace(each) for each in states})

    async def link_states(self) -> list[ConnectorReport]:
        return [replace(state) for _, state in sorted(self._open().link_states.items())]

    # --- within

    def _open(self) -> Rows:
        if self.broken or self._closed:
            raise Unavailable("the store is broken or closed")
        return self._rows

    def _next(self, what: str) -> int:
        given = self._rows.given
        given[what] = given.get(what, 0) + 1
        return given[what]

    def _enter(
        self,
        rows: Rows,
        account: int,
        kind: EntryKind,
        amount: int,
        message: int,
        at: int,
        note: str = "",
        key: int = 0,
    ) -> None:
        """An entry of 0 is not written. One that is not a charge has a key of its own, by its time."""
        if amount == 0:
            return
        rows.ledger.append(
            LedgerEntry(key or (at << 12) + self._next("ledger"), account, kind, amount, message, at, note)
        )
        rows.balances[account] += amount
