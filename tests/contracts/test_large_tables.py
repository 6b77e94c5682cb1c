"""Rows of the large tables: those that may decide about a number decide as all rows do, and lists come in parts."""

from contextlib import suppress
from dataclasses import replace
from random import Random

import pytest

from heliograph.adapters.store.shared import lists
from heliograph.app.configuration import Account, Connector, Missing, MobileNetwork, Plan, Price, Route
from heliograph.app.ports import CostQuery, DecidingKeys, DestinationQuery, PriceQuery, RouteQuery, Store
from heliograph.app.resources.coverage import beginnings
from heliograph.app.resources.large_lists import page_of
from heliograph.app.routing.coverage import coverage, destinations
from heliograph.app.routing.explain import deciding_keys, explain
from heliograph.domain.money.costs import in_force as costs_in_force
from heliograph.domain.money.pricing import in_force
from heliograph.domain.numbers.sender_rules import ANY_KIND, REPLACE, SenderRule
from tests.contracts.test_table_changes import NUMBERS, change
from tests.support.memory_large_tables import place_of
from tests.support.use_case_fakes import PortedServer

ACCOUNTS = [Account(1, "a", "", b"", plan="gold"), Account(2, "b", "", b""), Account(0, "", "", b"", plan="gold")]


class OnePorted(PortedServer):
    """Numbers of which one was ported."""

    def find(self, number: str) -> str:
        return "26202" if number == NUMBERS[0] else ""


@pytest.mark.parametrize("seed", range(3))
async def test_the_rows_of_a_number_decide_as_all_rows(
    store: Store, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "FEW", 3)
    chance, ported = Random(seed), OnePorted()
    for name in ("a", "b", "c"):
        await store.network.add_connector(Connector(0, name))
    await store.plans.put(Plan("gold", routing="best", min_margin="1", min_quality=0))
    await store.sender_rules.add(SenderRule(0, "US", ANY_KIND, REPLACE, "ACME"))
    decided = 0
    for step in range(60):
        try:
            await change(store, chance, step)
        except Missing:
            continue
        if step % 4:
            continue
        whole, small = await store.network.tables(), await store.network.tables(large=False)
        for account in ACCOUNTS:
            for number, sender in ((each, chance.choice(["", "Shop", "ACME"])) for each in chance.sample(NUMBERS, 3)):
                now = chance.choice([0, 50, 100])
                keys = deciding_keys(number, account, whole.sender_rules, now, sender, ported.find(number))
                rows = await store.large_tables.deciding(keys)
                found = explain(number, account, rows.joined(small), {9: "test"}, now, sender, ported=ported)
                assert found == explain(number, account, whole, {9: "test"}, now, sender, ported=ported)
                decided += found.connector is not None
        now = chance.choice([0, 50, 100])
        for plan in ("gold", "default"):
            query = DestinationQuery(now, (plan, "default"), are_routed=True)
            found_prefixes = await store.large_tables.destinations(query)
            assert found_prefixes == destinations(whole, plan, now)
            part = chance.sample(found_prefixes, min(4, len(found_prefixes)))
            several = DecidingKeys(beginnings(part), "", 0, plan, ("",), now, are_several=True)
            rows = await store.large_tables.deciding(several)
            assert coverage(part, rows.joined(small), plan, {}, now) == coverage(part, whole, plan, {}, now)
            near, count = chance.choice(NEAR), chance.choice([1, 3])
            listed = await store.large_tables.destinations(replace(query, near=near))
            assert listed == [each for each in found_prefixes if each.startswith(near) or near.startswith(each)]
            if listed:
                after = chance.choice(listed)
                parts = await store.large_tables.destinations(replace(query, near=near, after=after, limit=count))
                assert parts == [each for each in listed if each > after][:count]
        of, prefixes = chance.choice([1, 2, 3]), chance.sample(NEAR, 3)
        of_connector = [each for each in whole.costs if each.connector == of]
        assert await store.routing_lists.count_costs(of) == len(of_connector)
        stored = await store.large_tables.costs_of(of, ["26201"], prefixes)
        wanted = [
            each for each in of_connector if (each.network == "26201" if each.network else each.prefix in prefixes)
        ]
        assert sorted(stored, key=str) == sorted(wanted, key=str)
    assert decided > 20


async def test_rows_of_other_numbers_accounts_plans_and_senders_are_not_read(store: Store) -> None:
    connector = (await store.network.add_connector(Connector(0, "a"))).id
    kept = [Route(0, "49", connector), Route(0, "49", connector, sender="AC*", account=1), Route(0, "", connector)]
    others = [Route(0, "492", connector), Route(0, "4", connector, account=2), Route(0, "4", connector, plan="silver")]
    others += [Route(0, "49", connector, sender="SHOP"), Route(0, "", connector, network="26201")]
    await store.network.change_routes([*kept, *others], [])
    await store.network.set_prices([Price("gold", each, 1) for each in ("49", "33", "44")], [])
    await store.network.set_prices([Price("silver", "49", 1), Price("gold", "", 1, network="26202")], [])
    account = Account(1, "a", "", b"", plan="gold")
    rows = await store.large_tables.deciding(deciding_keys("4911111", account, [], 5, "ACME", ""))
    assert {each.rule for each in rows.routes} == {each.rule for each in kept}
    assert "49" in {each.prefix for each in rows.prices}
    assert len(rows.prices) <= 2, "one more proves that the plan has prices"
    assert {each.plan for each in rows.prices} == {"gold"}


NEAR = ["", "1", "12", "121", "2", "9"]


@pytest.mark.parametrize("seed", range(2))
async def test_lists_come_in_parts_and_in_order(store: Store, seed: int) -> None:
    chance, lists = Random(seed), store.routing_lists
    for name in ("a", "b", "c"):
        await store.network.add_connector(Connector(0, name))
    for step in range(50):
        with suppress(Missing):
            await change(store, chance, step)
    tables = await store.network.tables()
    assert await lists.routed_connectors() == {each.connector for each in tables.routes}
    names = {each.plan for each in tables.prices} | {each.plan for each in tables.routes}
    assert await lists.plan_names() == sorted(names - {""})
    for near in NEAR:
        for connector in (0, tables.connectors[0].id):
            query = RouteQuery(near, connector)
            routes = sorted(
                (each for each in tables.routes if is_near(each.prefix, near) and connector in (0, each.connector)),
                key=lambda each: (each.prefix, each.network, -each.priority, each.id),
            )
            found, after = [], None
            while part := await lists.routes(replace(query, after=after, limit=2)):
                found += part
                after = (part[-1].prefix, part[-1].network, part[-1].priority, part[-1].id)
            assert found == routes
            assert await lists.count_routes(query) == len(routes)
            assert await lists.routes(replace(query, first=3, limit=4)) == routes[3:7]
            assert await lists.routes(replace(query, first=3, limit=4, is_from_end=True)) == routes[-7:-3]
            for number in range(5):
                numbered, shown_as = page_of(replace(query, limit=2), number, len(routes))
                assert shown_as == max(1, min(number, -(-len(routes) // 2)))
                assert await lists.routes(numbered) == routes[shown_as * 2 - 2 : shown_as * 2]
        for plan in ("", "gold"):
            for past in (False, True):
                held = {place_of(each)[:3]: each for each in in_force(tables.prices, 50)}
                prices = [
                    each
                    for each in tables.prices
                    if plan in ("", each.plan)
                    and is_near(each.prefix, near)
                    and (past or each.since >= getattr(held.get(place_of(each)[:3]), "since", 0))
                ]
                shown, behind = [], None
                asked = PriceQuery(50, plan, near, past)
                while page := await lists.prices(replace(asked, after=behind, limit=3)):
                    shown += page
                    behind = place_of(page[-1][0])
                assert shown == [(each, held.get(place_of(each)[:3]) == each) for each in prices]
                assert await lists.count_prices(asked) == len(prices)
                assert await lists.prices(replace(asked, first=2, limit=3)) == shown[2:5]
                assert await lists.prices(replace(asked, first=2, limit=3, is_from_end=True)) == shown[-5:-2]
    for connector in (0, tables.connectors[0].id):
        for past in (False, True):
            holding = costs_in_force(tables.costs, 50)
            costs = [
                each
                for each in tables.costs
                if connector in (0, each.connector) and (past or each.since > 50 or each in holding)
            ]
            there, last = [], None
            while some := await lists.costs(CostQuery(50, connector, past, last, 3)):
                there += some
                last = (some[-1].connector, some[-1].network, some[-1].prefix, some[-1].since)
            assert there == costs
    for mccmnc in (None, "26201"):
        of = [each for each in tables.networks if mccmnc in (None, each.mccmnc)]
        first = await lists.networks("", 2, mccmnc)
        assert first + await lists.networks(first[-1].prefix if first else "", 99, mccmnc) == of


async def test_routes_are_found_by_id_and_by_target(store: Store) -> None:
    connector = (await store.network.add_connector(Connector(0, "a"))).id
    added = [await store.network.add_route(Route(0, prefix, connector)) for prefix in ("", "49", "491")]
    added.append(await store.network.add_route(Route(0, "", connector, network="26201")))
    assert await store.routing_lists.route(added[1].id) == added[1]
    assert await store.routing_lists.route(99) is None
    found = await store.routing_lists.routes_to([("", "49"), ("26201", "")])
    assert {each.id for each in found} >= {added[1].id, added[3].id}
    assert added[2] not in found


def is_near(prefix: str, wanted: str) -> bool:
    return prefix.startswith(wanted) or wanted.startswith(prefix)


async def test_the_rows_of_a_list_are_found_by_their_prefixes(store: Store) -> None:
    prices = [Price("gold", "49", 1), Price("gold", "49", 2, since=9), Price("gold", "", 5, network="26201")]
    prices += [
        Price("gold", "44", 3),
        Price("silver", "49", 4),
        Price("gold", "", 6),
        Price("gold", "", 7, network="9"),
    ]
    await store.network.set_prices(prices, [])
    found = await store.large_tables.prices_of("gold", ["26201", ""], ["49", "33"])
    assert sorted(found, key=lambda each: each.price) == [*prices[:2], prices[2]]
    networks = [MobileNetwork("49", "26201"), MobileNetwork("491", "26202"), MobileNetwork("44", "23401")]
    await store.mobile_networks.put(networks)
    assert await store.large_tables.networks_of(["491", "33", "49"]) == networks[:2]
    assert await store.routing_lists.count_networks() == 3
