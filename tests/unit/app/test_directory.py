"""The directory: what it keeps, when it reads anew, what it answers."""

import asyncio
from collections.abc import Callable
from typing import TypeVar, cast

import pytest

from heliograph.adapters.store.shared.accounts import StoredAccounts
from heliograph.adapters.store.shared.steps import RunMode, Steps
from heliograph.app.configuration import OFF, ON, Account, ApiKey, MessageTemplate, Price, Route
from heliograph.app.connector_kind import LanePolicy
from heliograph.app.ports import Unavailable
from heliograph.app.routing.candidates import RouteRequest
from heliograph.app.sending import directory as directory_module
from heliograph.app.sending.directory import Directory
from heliograph.domain.money.pricing import BUILT_IN_PRICE
from heliograph.domain.numbers.number_rules import InboundNumber
from heliograph.domain.text.repertoire import PLAIN, Repertoire
from tests.support.connectors import smpp_connector
from tests.support.memory_store import MemoryStore

R = TypeVar("R")


async def add_account(store: MemoryStore, name: str, **fields: object) -> Account:
    account = Account(0, name, "hash", bytes(32), **fields)  # type: ignore[arg-type]
    return await store.accounts.create(account, ApiKey("k", 0, b"digest", 0), 0, [])


async def add_connector(store: MemoryStore, name: str, *prefixes: str, state: str = ON) -> int:
    connector = await store.network.add_connector(smpp_connector(0, name, "h", 1, "id", "pw", state=state))
    for prefix in prefixes:
        await store.network.add_route(Route(0, prefix, connector.id))
    return connector.id


async def test_it_reads_only_what_has_changed() -> None:
    store = MemoryStore()
    directory = Directory(store.table_changes, store.accounts)
    assert await directory.refresh()
    assert not await directory.refresh()
    generation = directory.generation
    connector = await add_connector(store, "a", "")
    assert directory.route(RouteRequest(1, "447700900123", "")) is None
    assert await directory.refresh()
    assert directory.generation > generation
    assert directory.route(RouteRequest(1, "447700900123", "")) == connector


async def test_it_knows_what_operators_take_for_the_default_alphabet() -> None:
    latin1 = Repertoire("latin1")
    store = MemoryStore()
    usual, other = await add_connector(store, "usual", "44"), await add_connector(store, "other", "49")
    directory = Directory(
        store.table_changes,
        store.accounts,
        policy=lambda each: LanePolicy(repertoire=latin1 if each.name == "other" else PLAIN),
    )
    assert directory.repertoire(other) is PLAIN
    await directory.refresh()
    assert [directory.repertoire(each) for each in (usual, other, 99)] == [PLAIN, latin1, PLAIN]


async def test_it_keeps_what_it_has_while_the_store_is_away() -> None:
    store = MemoryStore()
    connector = await add_connector(store, "a", "")
    directory = Directory(store.table_changes, store.accounts)
    await directory.refresh()
    store.broken = True
    with pytest.raises(Unavailable):
        await directory.refresh()
    assert directory.route(RouteRequest(1, "447700900123", "")) == connector


async def test_a_connector_that_is_paused_keeps_its_routes_and_one_that_is_gone_does_not() -> None:
    store = MemoryStore()
    paused = await add_connector(store, "paused", "44", state=OFF)
    await add_connector(store, "gone", "447")
    directory = Directory(store.table_changes, store.accounts, fallback=0)
    await store.network.remove_connector("gone")
    await directory.refresh()
    assert directory.route(RouteRequest(1, "447700900123", "")) == paused
    assert directory.route(RouteRequest(1, "33612345678", "")) == 0
    found = directory.connector(paused)
    assert found is not None
    assert found.name == "paused"
    assert directory.connector(99) is None
    assert [each.id for each in directory.connectors()] == [paused]


async def test_an_account_comes_from_memory_until_something_changes() -> None:
    store = MemoryStore()
    account = await add_account(store, "acme", networks=("10.0.0.1/8",))
    directory = Directory(store.table_changes, store.accounts)
    await directory.refresh()
    view = await directory.account("acme")
    assert view is not None
    assert view.keys == (b"digest",)
    await store.accounts.update(account.id, {"timezone": "Europe/Berlin"})
    assert await directory.account("acme") is view
    fresh = await directory.fresh_account("acme")
    assert fresh is not None
    assert fresh.zone.key == "Europe/Berlin"
    await store.accounts.revoke_key(account.id, "k", 1)
    await directory.refresh()
    changed = await directory.account("acme")
    assert changed is not None
    assert changed.keys == ()
    assert await directory.account("nobody") is None


async def test_a_plan_made_with_its_account_is_known_with_it() -> None:
    store = MemoryStore()
    await store.network.set_price(Price("default", "", 5))
    directory = Directory(store.table_changes, store.accounts)
    await directory.refresh()
    await store.accounts.create(
        Account(0, "acme", "hash", bytes(32), plan="own"), ApiKey("k", 0, b"digest", 0), 0, [Price("own", "", 7)]
    )
    view = await directory.account("acme")
    assert view is not None
    assert view.tariff.price("447700900123", "") == 7
    generation = directory.generation
    assert await directory.account("acme") == view
    assert directory.generation == generation


async def test_an_account_read_before_a_refresh_is_not_kept_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    account = await add_account(store, "acme")
    directory = Directory(store.table_changes, store.accounts)
    await directory.refresh()
    found = await store.accounts.find("acme")
    go = asyncio.Event()

    async def late(name: str) -> object:
        await go.wait()
        return found

    with monkeypatch.context() as patch:
        patch.setattr(store.accounts, "find", late)
        reading = asyncio.create_task(directory.account("acme"))
        await asyncio.sleep(0)
        await store.accounts.update(account.id, {"suspended": True})
        await directory.refresh()
        go.set()
        await reading
    view = await directory.account("acme")
    assert view is not None
    assert view.account.suspended


async def test_it_keeps_so_many_accounts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_module, "ACCOUNTS_KEPT", 2)
    store = MemoryStore()
    for name in "abc":
        await add_account(store, name)
    directory = Directory(store.table_changes, store.accounts)
    await directory.refresh()
    first = await directory.account("a")
    await directory.account("b")
    kept = await directory.account("c")
    assert await directory.account("c") is kept
    assert await directory.account("a") is not first


@pytest.mark.parametrize(
    ("plan", "destination", "price"),
    [
        ("default", "447700900123", 5),
        ("default", "33612345678", BUILT_IN_PRICE),
        ("empty", "447700900123", 5),
        ("empty", "33612345678", BUILT_IN_PRICE),
        ("narrow", "447700900123", 7),
        ("narrow", "441234567890", 5),
        ("narrow", "33612345678", None),
        ("free", "33612345678", 0),
    ],
)
async def test_prices_by_plan(plan: str, destination: str, price: int | None) -> None:
    store = MemoryStore()
    for row in (Price("default", "44", 5), Price("narrow", "447", 7), Price("free", "", 0)):
        await store.network.set_price(row)
    await add_account(store, "acme", plan=plan)
    directory = Directory(store.table_changes, store.accounts)
    await directory.refresh()
    view = await directory.account("acme")
    assert view is not None
    assert view.tariff.price(destination, "") == price


@pytest.mark.parametrize(
    ("plan", "sender", "price"),
    [
        ("default", "447700900123", 5),
        ("default", "+447700900123", 5),
        ("default", "33612345678", 0),
        ("empty", "447700900123", 5),
        ("narrow", "447700900123", 7),
        ("narrow", "441234567890", 5),
        ("narrow", "33612345678", 0),
        ("free", "447700900123", 0),
        ("default", "Bank", 0),
    ],
)
async def test_prices_of_inbound_messages_by_plan(plan: str, sender: str, price: int) -> None:
    store = MemoryStore()
    for row in (Price("default", "44", 1, 5), Price("narrow", "447", 1, 7), Price("free", "", 1, 0)):
        await store.network.set_price(row)
    account = await add_account(store, "acme", plan=plan)
    await store.inbound.add_number(InboundNumber(0, "3388", account.id))
    directory = Directory(store.table_changes, store.accounts)
    assert directory.inbound_price(account.id, sender) == 0
    await directory.refresh()
    assert directory.inbound_price(account.id, sender) == price


async def test_templates_are_there_where_a_connector_requires_them() -> None:
    store = MemoryStore()
    await add_connector(store, "usual")
    await store.templates.add(MessageTemplate(0, "code", "Hi"))
    policy = lambda each: LanePolicy(needs_templates=each.name == "india")  # noqa: E731
    directory = Directory(store.table_changes, store.accounts, policy=policy)

    async def read() -> list[str] | None:
        await directory.refresh()
        book = directory.templates
        return None if book is None else [each.template.name for each in book.of(1, "Any")]

    assert await read() is None
    await add_connector(store, "india")
    assert await read() == ["code"]
    await store.templates.remove("code")
    assert await read() == []


async def test_prices_hold_from_their_dates_on() -> None:
    store = MemoryStore()
    for row in (
        Price("default", "44", 5, 1),
        Price("default", "44", 6, 2, 1_000),
        Price("default", "447", 7, 3, 2_000),
    ):
        await store.network.set_price(row)
    account = await add_account(store, "acme")
    await store.inbound.add_number(InboundNumber(0, "3388", account.id))
    directory = Directory(store.table_changes, store.accounts)
    found: list[tuple[bool, int | None, int | None, int]] = []
    for now in (999, 1_000, 1_001, 2_500, None):
        before = directory.generation
        changed = await directory.refresh(now)
        assert (directory.generation > before) == changed
        view = await directory.account("acme")
        assert view is not None
        charged, inbound = view.tariff.price("447700900123", ""), directory.inbound_price(account.id, "447700900123")
        found.append((changed, charged, directory.price("default", "447700900123", ""), inbound))
    assert found == [(True, 5, 5, 1), (True, 6, 6, 2), (False, 6, 6, 2), (True, 7, 7, 3), (False, 7, 7, 3)]


async def test_prices_hold_no_more_once_the_clock_is_set_right() -> None:
    store = MemoryStore()
    for row in (Price("default", "44", 5), Price("default", "44", 6, since=1_000)):
        await store.network.set_price(row)
    directory = Directory(store.table_changes, store.accounts)
    found = [
        (await directory.refresh(now), directory.price("default", "447700900123", ""))
        for now in (999, 5_000, 998, 997, 1_000)
    ]
    assert found == [(True, 5), (True, 6), (True, 5), (True, 5), (True, 6)]


class EmptyDatabase:
    """Runs operations, and finds nothing."""

    def __init__(self) -> None:
        self.statements: list[str] = []

    async def run(self, _: RunMode, operation: Callable[[], Steps[R]]) -> R:
        steps = operation()
        try:
            query = next(steps)
            while True:
                self.statements.append(query.name)
                query = steps.send([])
        except StopIteration as end:
            return cast("R", end.value)


async def test_an_unknown_name_takes_the_steps_of_an_account() -> None:
    """Otherwise the time tells which accounts exist: on PostgreSQL each statement is a round trip."""
    database = EmptyDatabase()
    directory = Directory(MemoryStore().table_changes, StoredAccounts(database))
    assert await directory.fresh_account("nobody") is None
    assert database.statements == ["account_by_name", "keys"]
    assert await directory.account_to_bind("nobody") is None
    assert database.statements[2:] == ["account_by_system_id", "keys", "account_by_name", "keys"]


async def test_what_waits_of_suspended_accounts_is_judged_until_they_are_resumed() -> None:
    store = MemoryStore()
    account, other = await add_account(store, "acme"), await add_account(store, "other")
    directory = Directory(store.table_changes, store.accounts)
    await store.accounts.update(account.id, {"suspended": True})
    await directory.refresh()
    policy = directory.claim_policy(account.id)
    assert policy is not None
    assert len(policy.at_claim) == 1
    assert directory.claim_policy(other.id) is None
    await store.accounts.update(account.id, {"suspended": False})
    await directory.refresh()
    assert directory.claim_policy(account.id) is None
