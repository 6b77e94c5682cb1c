"""Accounts, keys, credit, connectors, routes, prices; and the revision that tells everybody of changes."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import fields, replace
from typing import Any

import pytest

from heliograph.adapters.store.shared import lists
from heliograph.app.configuration import (
    ACCOUNT_FIELDS,
    OFF,
    Account,
    ApiKey,
    BalanceOutOfBounds,
    Connector,
    Cost,
    Exists,
    MessageTemplate,
    Missing,
    MobileNetwork,
    NameTaken,
    Plan,
    Price,
    Route,
    SmppTerms,
    SystemIdTaken,
    TopUp,
)
from heliograph.app.ports import ConnectorReport, ConnectorState, NodeReport, Store
from heliograph.app.ports.carrier_state import BindState
from heliograph.app.ports.series import DAY_MS
from heliograph.app.records import AuditEntry, AuditQuery
from heliograph.domain.money.amounts import EntryKind
from heliograph.domain.pace.pace import LearntPace
from tests.support.cases import for_each
from tests.support.connectors import smpp_connector
from tests.support.sharing import NO_DEADLINE
from tests.support.store import CREDIT, NODE, START, Given, Opener

BOUND = ConnectorState(summary="It is bound.", bound=1, binds=[BindState(1, "transceiver", "bound", answer_ms=0.5)])

FULL = Account(
    id=0,
    name="Müller & Söhne",
    password_hash="$argon2id$...",
    signing_secret=b"\x00\xff" * 16,
    timezone="Europe/Berlin",
    plan="gold",
    credit_limit=5 * CREDIT,
    low_balance=3 * CREDIT,
    suspended=True,
    list_interval=2.5,
    rate=12.5,
    callback_url="https://customer.example/r",
    callback_format="json",
    receipt_fields="full",
    content_decoding="never",
    networks=("10.0.0.0/8", "2001:db8::/32"),
    senders=("Heliograph",),
    created=START,
    inbound_url="https://customer.example/mo",
    inbound_reply="body",
    smart="on",
    relaxed="on",
    opt_out="off",
    stop_text="You are out.",
    help_text="Ask us.",
    request_rate=2.5,
    request_burst=9,
    daily_messages=10_000,
    daily_spend=25 * CREDIT,
    max_waiting=50,
    prefixes=("49", "43"),
    guard="off",
    retain_text_days=0.5,
    retain_number_days=0.0,
    retain_days=730.0,
    inbound_way="bind",
    smpp_system_id="mueller",
    smpp=SmppTerms("$argon2id$...", 2, 10, "hex16", "always", "latin1", "49", "0x1402", 600, (("credit", 0x401),)),
)


def connector(name: str = "north", **values: object) -> Connector:
    given: dict[str, Any] = {"host": "smsc.example", "port": 2775, "system_id": "us", "password": "secret"}
    return smpp_connector(0, name, **(given | values))


# --- accounts


async def test_accounts_are_found_by_a_part_of_the_name(store: Store, given: Given) -> None:
    for name in ("big-acme", "acme-2", "acme", "other", "z_acme%"):
        await given.account(name)
    found = await store.account_names.containing("ACME", 10)
    assert found == ["acme", "acme-2", "big-acme", "z_acme%"]
    assert await store.account_names.containing("me%", 10) == ["z_acme%"]
    assert await store.account_names.containing("_", 10) == ["z_acme%"]
    assert await store.account_names.containing("acme", 2) == ["acme", "acme-2"]
    assert await store.account_names.containing("nobody", 10) == []


async def test_accounts_are_counted_by_their_plans(store: Store, given: Given) -> None:
    for name, plan in (("acme", "gold"), ("beta", "gold"), ("gamma", "default")):
        await given.account(name, plan=plan)
    assert await store.account_names.by_plan() == {"gold": 2, "default": 1}


async def test_clients_bind_by_the_name_of_the_account_or_one_that_it_chose(store: Store, given: Given) -> None:
    long, short = await given.account("a-rather-long-name"), await given.account("acme")
    await store.accounts.update(long.id, {"smpp_system_id": "long"})
    for system_id, expected in (("long", long), ("a-rather-long-name", long), ("acme", short)):
        found = await store.accounts.find(system_id, to_bind=True)
        assert found is not None
        assert found[0].id == expected.id
    assert await store.accounts.find("", to_bind=True) is None
    assert await store.accounts.find("long") is None
    for taken in ("acme", "long"):
        with pytest.raises(Exists):
            await store.accounts.update(short.id if taken == "long" else long.id, {"smpp_system_id": taken})
    await store.accounts.update(long.id, {"smpp_system_id": "long", "rate": 5.0})
    for name, system_id in (("long", ""), ("third", "long"), ("third", "acme")):
        wanted = replace(FULL, name=name, smpp_system_id=system_id)
        with pytest.raises(SystemIdTaken):
            await store.accounts.create(wanted, ApiKey("k1", 0, b"\x01" * 32, START), 0, [])
    assert [account.name for account, _ in await store.accounts.all()] == ["a-rather-long-name", "acme"]


async def test_names_of_accounts_differ_in_more_than_case(store: Store, given: Given) -> None:
    there = await given.account("Acme.Co")
    key = ApiKey("k1", 0, b"\x01" * 32, START)
    with pytest.raises(NameTaken) as taken:
        await store.accounts.create(replace(FULL, name="acme.co"), key, 0, [Price("gold", "", 5)])
    assert taken.value.name == "Acme.Co"
    with pytest.raises(Exists) as exists:
        await store.accounts.create(replace(FULL, name="Acme.Co"), key, 0, [])
    assert not isinstance(exists.value, NameTaken)
    assert [account.id for account, _ in await store.accounts.all()] == [there.id]
    await given.account("acme-co")


async def test_an_account_is_created_with_key_credit_and_prices(store: Store) -> None:
    key = ApiKey("k1", 0, b"\x01" * 32, START)
    created = await store.accounts.create(FULL, key, 7 * CREDIT, [Price("gold", "49", 5), Price("gold", "", 9)])
    assert created == replace(FULL, id=created.id)
    assert created.id > 0
    assert await store.accounts.find(FULL.name) == (created, [replace(key, account=created.id)])
    assert await store.accounts.by_id(created.id) == created
    assert await store.accounts.all() == [(created, 7 * CREDIT)]
    assert await store.customers.balance(created.id) == 7 * CREDIT
    (entry,) = await store.accounts.ledger(created.id, 10)
    assert (entry.kind, entry.amount, entry.message, entry.at) == (EntryKind.TOP_UP, 7 * CREDIT, 0, START)
    assert (await store.network.tables()).prices == [Price("gold", "", 9), Price("gold", "49", 5)]
    assert await store.upkeep.audit() == []


async def test_an_account_without_credit_has_no_entry(store: Store, given: Given) -> None:
    account = await given.account(credit=0)
    assert await store.accounts.ledger(account.id, 10) == []


async def test_a_name_is_given_once(store: Store, given: Given, account: Account) -> None:
    revision = await store.table_changes.revision()
    with pytest.raises(Exists):
        await given.account(account.name, prices=[Price("new", "", 1)])
    assert await store.accounts.all() == [(account, 100 * CREDIT)]
    assert (await store.network.tables()).prices == []
    assert await store.table_changes.revision() == revision


async def test_accounts_are_listed_by_name(store: Store, given: Given) -> None:
    for name in ("c", "a", "b"):
        await given.account(name)
    assert [account.name for account, _ in await store.accounts.all()] == ["a", "b", "c"]


async def test_accounts_that_can_pay_for_nothing_are_told(store: Store, given: Given) -> None:
    for name in ("rich", "owing", "empty", "trusted", "closed"):
        account = await given.account(name)
        balance = await store.customers.balance(account.id)
        taken = {"owing": balance + 1, "empty": balance, "trusted": balance, "closed": balance}.get(name, 0)
        if taken:
            await store.accounts.add_credit(account.id, -taken, "", START)
        if name == "trusted":
            await store.accounts.update(account.id, {"credit_limit": 1})
        if name == "closed":
            await store.accounts.update(account.id, {"suspended": True})
    assert await store.accounts.without_credit(9) == ["empty", "owing"]
    assert await store.accounts.without_credit(1) == ["empty"]


async def test_nobody(store: Store) -> None:
    assert await store.accounts.find("nobody") is None
    assert await store.accounts.by_id(4_711) is None
    assert await store.accounts.ledger(4_711, 10) == []
    with pytest.raises(Missing):
        await store.accounts.update(4_711, {"plan": "x"})
    with pytest.raises(Missing):
        await store.accounts.add_credit(4_711, 1, "", START)
    with pytest.raises(Missing):
        await store.accounts.add_key(ApiKey("k", 4_711, b"", START))


@for_each("name", ACCOUNT_FIELDS)
async def test_each_field_can_be_changed_alone(store: Store, given: Given, account: Account, name: str) -> None:
    other = await given.account(f"other-{name}")
    changes = {name: getattr(FULL, name)}
    updated = await store.accounts.update(account.id, changes)
    assert updated == replace(account, **changes)
    assert updated != account
    assert await store.accounts.by_id(account.id) == updated
    assert await store.accounts.by_id(other.id) == other
    await store.accounts.update(account.id, {name: getattr(account, name)})
    assert await store.accounts.by_id(account.id) == account


@pytest.mark.parametrize("name", sorted({field.name for field in fields(Account)} - set(ACCOUNT_FIELDS)))
async def test_no_other_field_can_be_changed(store: Store, account: Account, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        await store.accounts.update(account.id, {"plan": "x", name: getattr(FULL, name)})
    assert await store.accounts.by_id(account.id) == account


async def test_changing_an_account_does_not_touch_its_balance(store: Store, given: Given, account: Account) -> None:
    await given.sent(account.id)
    await store.accounts.update(account.id, {"credit_limit": 5})
    assert await store.customers.balance(account.id) == 99 * CREDIT


# --- keys


async def test_keys_are_added_and_revoked(store: Store, account: Account) -> None:
    key = ApiKey("k2", account.id, b"\x02" * 32, START + 1)
    await store.accounts.add_key(key)
    with pytest.raises(Exists):
        await store.accounts.add_key(key)
    await store.accounts.revoke_key(account.id, "k2", START + 5)
    found = await store.accounts.find(account.name)
    assert found is not None
    assert found[1][1] == replace(key, revoked=START + 5)
    for name in ("k2", "unknown"):
        with pytest.raises(Missing):
            await store.accounts.revoke_key(account.id, name, START + 6)
    with pytest.raises(Missing):
        await store.accounts.revoke_key(account.id + 1, f"key-{account.name}", START + 6)


# --- credit


async def test_credit_is_added_and_taken_back(store: Store, account: Account) -> None:
    assert await store.accounts.add_credit(account.id, 5, "paid", START + 1) == TopUp(100 * CREDIT + 5)
    assert await store.accounts.add_credit(account.id, -200 * CREDIT, "chargeback", START + 1) == TopUp(
        -100 * CREDIT + 5
    )
    entries = await store.accounts.ledger(account.id, 10)
    assert [(entry.amount, entry.note, entry.kind) for entry in entries[:2]] == [
        (-200 * CREDIT, "chargeback", EntryKind.TOP_UP),
        (5, "paid", EntryKind.TOP_UP),
    ]
    assert len({entry.key for entry in entries}) == 3
    assert await store.upkeep.audit() == []


async def test_a_repeated_top_up_adds_its_credit_once(store: Store, account: Account) -> None:
    noting = store.noting(lambda done: None if done.replayed else AuditEntry(START, "user:ada", "top-up", "acme", {}))
    first = await noting.accounts.add_credit(account.id, 5, "paid", START + 1, "inv-1")
    assert first == TopUp(100 * CREDIT + 5)
    assert await store.accounts.add_credit(account.id, 7, "", START + 2, "inv-2") == TopUp(100 * CREDIT + 12)
    assert await noting.accounts.add_credit(account.id, 5, "paid", START + 3, "inv-1") == TopUp(first.balance, True)
    with pytest.raises(Exists):
        await noting.accounts.add_credit(account.id, 6, "paid", START + 4, "inv-1")
    assert await store.customers.balance(account.id) == 100 * CREDIT + 12
    assert len(await store.accounts.ledger(account.id, 10)) == 3
    assert len(await store.audit_log.find(AuditQuery())) == 1
    assert await store.upkeep.audit() == []


async def test_a_top_up_keeps_the_balance_within_its_bounds(store: Store, account: Account) -> None:
    within = (90 * CREDIT, 110 * CREDIT)
    for amount in (-11 * CREDIT, 11 * CREDIT):
        with pytest.raises(BalanceOutOfBounds) as refused:
            await store.accounts.add_credit(account.id, amount, "", START, "inv-1", within)
        assert refused.value.balance == 100 * CREDIT
    back = await store.accounts.add_credit(account.id, -10 * CREDIT, "", START, "inv-1", within)
    assert await store.accounts.add_credit(account.id, -10 * CREDIT, "", START, "inv-1", within) == TopUp(
        back.balance, replayed=True
    )


async def test_the_ledger_is_read_page_by_page(store: Store, given: Given, account: Account) -> None:
    for number in range(9):
        given.now += 1
        await given.sent(account.id, price=number + 1)
        await store.accounts.add_credit(account.id, 1, str(number), given.now)
    whole = await store.accounts.ledger(account.id, 100)
    assert len(whole) == 19
    assert [entry.at for entry in whole] == sorted((entry.at for entry in whole), reverse=True)
    assert sum(entry.amount for entry in whole) == await store.customers.balance(account.id)
    pages, before = [], None
    while page := await store.accounts.ledger(account.id, 4, before):
        pages += page
        before = page[-1].key
    assert pages == whole


async def test_credit_added_by_many_at_once_is_all_there(store: Store, account: Account) -> None:
    await asyncio.gather(*(store.accounts.add_credit(account.id, 1, "", START) for _ in range(50)))
    assert await store.customers.balance(account.id) == 100 * CREDIT + 50
    assert len(await store.accounts.ledger(account.id, 100)) == 51
    assert await store.upkeep.audit() == []


# --- connectors, routes, prices


async def test_a_connector_is_kept_as_it_was_given(store: Store) -> None:
    given = connector(
        bind="transmitter+receiver",
        binds=3,
        window=50,
        rate=12.5,
        tls=True,
        state=OFF,
        max_day=10**11,
        max_month=10**12,
        ton=1,
        charset=["latin1"],
        deep={"x": None},
        created=START,
    )
    added = await store.network.add_connector(given)
    assert added == replace(given, id=added.id)
    assert (await store.network.tables()).connectors == [added]
    assert added.settings["password"] not in repr(added)


async def test_a_connectors_id_is_never_given_again(store: Store) -> None:
    assert (await store.network.add_connector(connector("a"))).id == 1
    assert (await store.network.add_connector(connector("b"))).id == 2
    await store.network.remove_connector("b")
    assert (await store.network.add_connector(connector("c"))).id == 3


async def test_a_connectors_name_is_given_once(store: Store) -> None:
    first = await store.network.add_connector(connector("a"))
    second = await store.network.add_connector(connector("b"))
    with pytest.raises(Exists):
        await store.network.add_connector(connector("a", port=1))
    with pytest.raises(Exists):
        await store.network.update_connector(replace(second, name="a"))
    assert (await store.network.tables()).connectors == [first, second]


async def test_a_connector_is_changed(store: Store) -> None:
    added = await store.network.add_connector(connector())
    changed = replace(added, name="south", window=99, state=OFF, settings={"host": "other.example", "a": 1})
    await store.network.update_connector(changed)
    assert (await store.network.tables()).connectors == [changed]
    with pytest.raises(Missing):
        await store.network.update_connector(replace(added, id=99))


async def test_routes_go_with_their_connector(store: Store, given: Given, account: Account) -> None:
    one, two = await store.network.add_connector(connector("a")), await store.network.add_connector(connector("b"))
    await store.network.add_route(Route(0, "49", one.id))
    kept = await store.network.add_route(Route(0, "", two.id))
    await store.network.save_link_states(
        [ConnectorReport(one.id, 1, ConnectorState(), START), ConnectorReport(two.id, 1, ConnectorState(), START)]
    )
    message = await given.scheduled(account.id, connector=one.id)
    await store.network.remove_connector("a")
    assert (await store.network.tables()).routes == [kept]
    assert [state.connector for state in await store.network.link_states()] == [two.id]
    with pytest.raises(Missing):
        await store.network.remove_connector("a")
    # what waits for it is still found under its number
    assert await store.queue.next_due() == {one.id: message.time}
    assert len(await store.queue.claim(one.id, 10, message.time, 1)) == 1


async def test_routes(store: Store) -> None:
    connectors = [await store.network.add_connector(connector(name)) for name in "ab"]
    first = await store.network.add_route(Route(0, "49", connectors[0].id, 1))
    for same in (replace(first, connector=connectors[1].id), replace(first, priority=2), replace(first, prefix="")):
        assert (await store.network.add_route(replace(same, id=0))).id != first.id
    with pytest.raises(Exists):
        await store.network.add_route(replace(first, id=0))
    with pytest.raises(Missing):
        await store.network.add_route(Route(0, "1", 99))
    assert len((await store.network.tables()).routes) == 4
    await store.network.change_routes((), [first.id])
    assert first not in (await store.network.tables()).routes
    with pytest.raises(Missing):
        await store.network.change_routes((), [first.id])


async def test_routes_change_all_or_none(store: Store) -> None:
    ids = [(await store.network.add_connector(connector(name))).id for name in "ab"]
    first = await store.network.add_route(Route(0, "49", ids[0], 1))
    wanted = [Route(0, "49", ids[0], 1), Route(0, "49", ids[1], 1), Route(0, "44", ids[1]), Route(0, "44", ids[1])]
    assert await store.network.change_routes(wanted, ()) == 2
    before = await store.network.tables()
    for added, removed in (([Route(0, "1", 99)], [first.id]), ([Route(0, "1", ids[0])], [first.id, 99])):
        with pytest.raises(Missing):
            await store.network.change_routes(added, removed)
        assert await store.network.tables() == before
    # the same one in the place of itself
    assert await store.network.change_routes([Route(0, "49", ids[0], 1)], [first.id]) == 1
    places = [(each.prefix, each.connector, each.priority) for each in (await store.network.tables()).routes]
    assert sorted(places) == [("44", ids[1], 0), ("49", ids[0], 1), ("49", ids[1], 1)]
    assert (await store.network.tables()).revision > before.revision


async def test_prices(store: Store) -> None:
    await store.network.set_price(Price("default", "49", 35_000))
    await store.network.set_price(Price("default", "49", 36_000))
    await store.network.set_price(Price("gold", "49", 1))
    assert (await store.network.tables()).prices == [Price("default", "49", 36_000), Price("gold", "49", 1)]
    kept = await store.network.set_price(Price("gold", "49", 2, 7))
    assert kept == await store.network.set_price(Price("gold", "49", 2, None)) == Price("gold", "49", 2, 7)
    await store.network.remove_price("default", "", "49")
    assert (await store.network.tables()).prices == [Price("gold", "49", 2, 7)]
    assert await store.network.set_price(Price("new", "", 1, None)) == Price("new", "", 1, 0)
    with pytest.raises(Missing):
        await store.network.remove_price("default", "", "49")


async def test_prices_with_dates(store: Store) -> None:
    for price in (Price("default", "49", 3, 9, 20), Price("default", "49", 1, 5), Price("default", "49", 2, None, 10)):
        await store.network.set_price(price)
    first, second, third = (await store.network.tables()).prices
    assert [first, second, third] == [
        Price("default", "49", 1, 5), Price("default", "49", 2, 5, 10), Price("default", "49", 3, 9, 20),
    ]  # fmt: skip
    assert await store.network.set_price(Price("default", "49", 4, None, 30)) == Price("default", "49", 4, 9, 30)
    await store.network.remove_price("default", "", "49", 10)
    with pytest.raises(Missing):
        await store.network.remove_price("default", "", "49", 10)
    assert [price.since for price in (await store.network.tables()).prices] == [0, 20, 30]
    await store.network.remove_price("default", "", "49")
    assert (await store.network.tables()).prices == []


@pytest.mark.parametrize("few", [lists.FEW, 0], ids=["at once", "in batches"])
async def test_prices_of_networks_stand_beside_those_of_prefixes(
    store: Store, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "FEW", few)
    rows = [
        Price("gold", "", 1), Price("gold", "", 2, network="26201"), Price("gold", "", 3, 0, 9, "26201"),
        Price("gold", "", 4, network="26202"), Price("gold", "49", 5, 6),
    ]  # fmt: skip
    for price in reversed(rows):
        assert await store.network.set_price(price) == price
    assert (await store.network.tables()).prices == rows
    await store.network.set_prices([Price("gold", "", 7, None, 0, "26202"), Price("gold", "", 8, None)], [])
    rows[0], rows[3] = Price("gold", "", 8), Price("gold", "", 7, network="26202")
    assert (await store.network.tables()).prices == rows
    await store.network.remove_price("gold", "26201", "", 9)
    await store.network.remove_price("gold", "", "")
    with pytest.raises(Missing):
        await store.network.remove_price("gold", "26203", "")
    assert (await store.network.tables()).prices == [rows[1], rows[3], rows[4]]
    await store.network.remove_price("gold", "26201", "")
    await store.network.set_prices([Price("gold", "", 9, network="26203")], ["gold"])
    assert (await store.network.tables()).prices == [Price("gold", "", 9, network="26203")]


@pytest.mark.parametrize("few", [lists.FEW, 0], ids=["at once", "in batches"])
async def test_lists_of_prices(store: Store, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "FEW", few)
    monkeypatch.setattr(lists, "BATCH", 2)
    await store.network.set_price(Price("default", "49", 1, 7))
    await store.network.set_price(Price("gold", "1", 1, 7))
    await store.network.set_prices(
        [
            Price("default", "49", 3, None, 20), Price("default", "49", 2, 8, 10), Price("default", "44", 4, None),
            Price("gold", "1", 5, None), Price("silver", "", 6, None, 5), Price("silver", "", 7, None, 9),
        ],
        [],
    )  # fmt: skip
    assert (await store.network.tables()).prices == [
        Price("default", "44", 4, 0), Price("default", "49", 1, 7), Price("default", "49", 2, 8, 10),
        Price("default", "49", 3, 8, 20), Price("gold", "1", 5, 7), Price("silver", "", 6, 0, 5),
        Price("silver", "", 7, 0, 9),
    ]  # fmt: skip
    await store.network.set_prices([Price("default", "1", 9, None)], ["default", "silver", "none"])
    assert (await store.network.tables()).prices == [Price("default", "1", 9, 0), Price("gold", "1", 5, 7)]


# --- the revision

CHANGES: dict[str, Callable[[Store, Account], Awaitable[object]]] = {
    "create": lambda store, _: Given(store).account("new"),
    "update": lambda store, account: store.accounts.update(account.id, {"plan": "x"}),
    "credit": lambda store, account: store.accounts.add_credit(account.id, 1, "", START),
    "add key": lambda store, account: store.accounts.add_key(ApiKey("k", account.id, b"", START)),
    "revoke key": lambda store, account: store.accounts.revoke_key(account.id, f"key-{account.name}", START),
    "add connector": lambda store, _: store.network.add_connector(connector("new")),
    "update connector": lambda store, _: store.network.update_connector(replace(connector("first"), id=1, binds=3)),
    "remove connector": lambda store, _: store.network.remove_connector("first"),
    "add route": lambda store, _: store.network.add_route(Route(0, "1", 1)),
    "remove route": lambda store, _: store.network.change_routes((), [1]),
    "set price": lambda store, _: store.network.set_price(Price("default", "1", 1)),
    "set prices": lambda store, _: store.network.set_prices([Price("default", str(n), 1) for n in (1, 2)], ["default"]),
    "remove price": lambda store, _: store.network.remove_price("default", "", ""),
    "put plan": lambda store, _: store.plans.put(Plan("gold")),
    "add template": lambda store, _: store.templates.add(MessageTemplate(0, "new", "Hi")),
    "update template": lambda store, _: store.templates.update(MessageTemplate(1, "first", "Hi")),
    "put templates": lambda store, _: store.templates.put([MessageTemplate(0, name, "Hi") for name in ("first", "x")]),
    "remove template": lambda store, _: store.templates.remove("first"),
}


@pytest.mark.parametrize("name", CHANGES)
async def test_each_change_adds_one_to_the_revision(store: Store, account: Account, name: str) -> None:
    await store.network.add_connector(connector("first"))
    await store.network.add_route(Route(0, "", 1))
    await store.network.set_price(Price("default", "", 1))
    await store.templates.add(MessageTemplate(0, "first", "Hello"))
    before = await store.table_changes.revision()
    await CHANGES[name](store, account)
    assert await store.table_changes.revision() == before + 1
    assert (await store.network.tables()).revision == before + 1


async def test_nothing_else_changes_the_revision(store: Store, given: Given, account: Account) -> None:
    before = await store.table_changes.revision()
    message = await given.scheduled(account.id)
    await given.sent(account.id)
    await store.customers.cancel(account.id, message.key, message.tail, START)
    await store.network.save_link_states([ConnectorReport(1, 1, ConnectorState(), START)])
    await store.customers.admit_list(account.id, START, 5)
    await store.upkeep.probe()
    await store.commits.recover(0, 1)
    assert await store.table_changes.revision() == before


async def test_parts_of_operators_add_up_by_day(store: Store) -> None:
    one = await store.network.add_connector(connector("one"))
    two = await store.network.add_connector(connector("two"))
    revision = await store.table_changes.revision()
    today, yesterday = START - START % DAY_MS, START - START % DAY_MS - DAY_MS
    measured = store.measurements
    await measured.add_parts(yesterday, {one.id: 7})
    await asyncio.gather(*(measured.add_parts(today, {one.id: 1, two.id: 10**10}) for _ in range(5)))
    assert await measured.parts(today) == {(one.id, today): 5, (two.id, today): 5 * 10**10}
    assert (await measured.parts(yesterday))[one.id, yesterday] == 7
    await measured.add_parts(today + 62 * DAY_MS, {one.id: 1})
    assert await measured.parts(0) == {
        (one.id, today): 5, (two.id, today): 5 * 10**10, (one.id, today + 62 * DAY_MS): 1,
    }  # fmt: skip
    assert await store.table_changes.revision() == revision
    await store.network.remove_connector("two")
    assert {of for of, _ in await measured.parts(0)} == {one.id}


async def test_learnt_paces_are_kept_with_their_connector(store: Store) -> None:
    one = await store.network.add_connector(connector("one"))
    two = await store.network.add_connector(connector("two"))
    measured = store.measurements
    assert await measured.paces() == {}
    await measured.keep_paces({two.id: LearntPace(12.5, is_limit=True), one.id: LearntPace(900.0, is_limit=False)})
    await measured.keep_paces({one.id: LearntPace(0.2, is_limit=True)})
    assert await measured.paces() == {one.id: LearntPace(0.2, is_limit=True), two.id: LearntPace(12.5, is_limit=True)}
    await store.network.remove_connector("two")
    assert list(await measured.paces()) == [one.id]


async def test_link_states_are_the_last_that_each_node_said(store: Store) -> None:
    await store.network.save_link_states(
        [ConnectorReport(2, 1, ConnectorState(), START), ConnectorReport(1, 2, ConnectorState(), START)]
    )
    await store.network.save_link_states(
        [ConnectorReport(1, 2, BOUND, START + 1), ConnectorReport(1, 1, ConnectorState(), START)]
    )
    assert await store.network.link_states() == [
        ConnectorReport(1, 1, ConnectorState(), START),
        ConnectorReport(1, 2, BOUND, START + 1),
        ConnectorReport(2, 1, ConnectorState(), START),
    ]


async def test_a_node_reports_itself_until_it_ends_or_is_given_up(store: Store) -> None:
    one = NodeReport(1, "gateway1", "0.1.0", ("api", "dispatch"), 7, START, START)
    two = NodeReport(2, "Gateway2", "0.1.0", (), 8, START, START)
    for report in (one, two, replace(one, at=START + 5)):
        await store.nodes.report(report)
    assert await store.nodes.reports() == [two, replace(one, at=START + 5)]
    await store.nodes.remove(2)
    assert [each.node for each in await store.nodes.reports()] == [1]
    if store.leases is not None:
        assert await store.leases.heartbeat(1, -1)
        (report,) = await store.nodes.reports()
        assert report.lease_until is not None
        assert await store.leases.release_dead(NO_DEADLINE) == [1]
    else:
        await store.commits.recover(0, NODE)
    assert await store.nodes.reports() == []


async def test_administration_survives_a_restart(opener: Opener) -> None:
    store = await opener()
    account = await Given(store).account()
    await store.network.add_connector(connector())
    await store.network.add_route(Route(0, "", 1))
    await store.network.set_price(Price("default", "", 1))
    await store.templates.add(MessageTemplate(0, "first", "Hello", "Helio", account.id, {"entity": "1101"}))
    tables = await store.network.tables()
    await store.close()
    store = await opener()
    try:
        assert await store.network.tables() == tables
        assert await store.accounts.by_id(account.id) == account
    finally:
        await store.close()


async def test_routes_are_kept_with_all_their_conditions(store: Store, account: Account) -> None:
    await store.network.add_connector(connector())
    route = Route(0, "", 1, 5, "26201", account.id, "", "ACME*", 30, True)
    added = await store.network.add_route(route)
    assert (await store.network.tables()).routes == [replace(route, id=added.id)]
    with pytest.raises(Exists):
        await store.network.add_route(replace(route, share=10, fallback=False))
    await store.network.add_route(replace(route, account=0, plan=account.plan))
    assert (await store.network.tables()).plan_of == {account.id: account.plan}


async def test_networks_of_prefixes(store: Store) -> None:
    network = store.network
    rows = [MobileNetwork("49151", "26201", "Telekom"), MobileNetwork("49172", "26202", "Vodafone")]
    revision = await store.table_changes.revision()
    await store.mobile_networks.put(rows[::-1])
    assert await store.table_changes.revision() > revision
    assert (await network.tables()).networks == rows
    await store.mobile_networks.put([MobileNetwork("49172", "26203", "O2")])
    await store.mobile_networks.remove("49151")
    assert (await network.tables()).networks == [MobileNetwork("49172", "26203", "O2")]
    with pytest.raises(Missing):
        await store.mobile_networks.remove("49151")
    await store.mobile_networks.put(rows[:1], replace_all=True)
    assert (await network.tables()).networks == rows[:1]


async def test_costs_of_connectors(store: Store) -> None:
    op = (await store.network.add_connector(connector())).id
    rows = [Cost(op, "", "26201", 20, 2), Cost(op, "49", "", 30), Cost(op, "49", "", 31, 1, 5_000, 9_000)]
    revision = await store.table_changes.revision()
    await store.costs.put(rows[::-1])
    assert await store.table_changes.revision() > revision
    assert (await store.network.tables()).costs == [rows[1], rows[2], rows[0]]
    await store.costs.remove(op, "", "49", 5_000)
    with pytest.raises(Missing):
        await store.costs.remove(op, "", "49", 5_000)
    with pytest.raises(Missing):
        await store.costs.put([Cost(op + 9, "49", "", 1)])
    await store.costs.put(rows[2:], [op])
    assert (await store.network.tables()).costs == rows[2:]
    await store.costs.put([replace(rows[2], until=0)])
    assert (await store.network.tables()).costs == [replace(rows[2], until=0)]
    await store.network.remove_connector("north")
    assert (await store.network.tables()).costs == []


async def test_rules_of_plans(store: Store, given: Given) -> None:
    account = await given.account("reseller")
    assert (await store.network.tables()).plan_of == {}
    await store.accounts.update(account.id, {"plan": "gold"})
    revision = await store.table_changes.revision()
    await store.plans.put(Plan("silver"))
    await store.plans.put(Plan("gold", "best", "10%", "refuse", 0.9))
    assert await store.table_changes.revision() > revision
    tables = await store.network.tables()
    assert tables.plans == [Plan("gold", "best", "10%", "refuse", 0.9), Plan("silver")]
    assert tables.plan_of == {account.id: "gold"}
    await store.plans.put(Plan("gold", min_margin="-0.5"))
    await store.plans.remove("silver")
    with pytest.raises(Missing):
        await store.plans.remove("silver")
    assert (await store.network.tables()).plans == [Plan("gold", min_margin="-0.5")]
