"""Dispatch, quotes, explanations and coverage agree about any number, whatever the tables."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.app.configuration import Account, Connector, Cost, MobileNetwork, Plan, Price, Route
from heliograph.app.routing.candidates import RouteRequest
from heliograph.app.routing.coverage import coverage, destinations
from heliograph.app.routing.explain import deciding_keys, explain
from heliograph.app.sending.directory import Directory
from tests.properties.app.test_failover_properties import finish
from tests.support.memory_store import MemoryStore
from tests.support.store import Given

NOW = 50
PREFIXES = st.sampled_from(["", "4", "49", "491", "4917", "33", "331"])
NETWORKS = st.sampled_from(["26201", "26202"])
NUMBERS = ["49171234567", "49111234567", "4911111", "33123456789", "33999999999", "15551234567"]
PLANS = st.sampled_from(["gold", "silver", "default"])
SINCE = st.sampled_from([0, 0, 10, 90])
TARGETS = st.one_of(st.tuples(PREFIXES, st.just("")), st.tuples(st.just(""), NETWORKS))
OWNERS = st.sampled_from([(0, ""), (0, ""), (1, ""), (2, ""), (0, "gold"), (0, "silver")])

routes = st.lists(
    st.builds(
        lambda target, connector, priority, owner, sender, share, fallback: Route(
            0, target[0], connector, priority, target[1], owner[0], owner[1], sender, share, fallback
        ),
        TARGETS,
        st.sampled_from([1, 2, 3]),
        st.integers(0, 2),
        OWNERS,
        st.sampled_from(["", "", "ACME", "AC*", "*"]),
        st.integers(0, 2),
        st.booleans(),
    ),
    max_size=14,
)
prices = st.lists(
    st.builds(
        lambda plan, target, price, since: Price(plan, target[0], price, 0, since, target[1]),
        PLANS,
        TARGETS,
        st.integers(0, 9),
        SINCE,
    ),
    max_size=10,
)
costs = st.lists(
    st.builds(
        lambda connector, target, amount, since, length: Cost(
            connector, target[0], target[1], amount, 0, since, since + length if length else 0
        ),
        st.sampled_from([1, 2, 3]),
        TARGETS,
        st.integers(0, 9),
        SINCE,
        st.sampled_from([0, 0, 3, 60]),
    ),
    max_size=10,
)
networks = st.lists(st.builds(MobileNetwork, PREFIXES.filter(bool), NETWORKS), max_size=5)
plans = st.lists(
    st.builds(
        Plan,
        PLANS,
        st.sampled_from(["share", "best"]),
        st.sampled_from(["", "1", "-2", "50%"]),
        st.sampled_from(["allow", "refuse"]),
        st.just(0.0),
    ),
    max_size=2,
)


async def filled(*tables: Any) -> tuple[MemoryStore, list[Account]]:
    store = MemoryStore()
    for name, state in (("op1", "on"), ("op2", "on"), ("op3", "drain")):
        await store.network.add_connector(Connector(0, name, state=state))
    known = Given(store)
    accounts = [await known.account(f"of-{plan}", plan=plan) for plan in ("gold", "silver", "default")]
    of_routes, of_prices, of_costs, of_networks, of_plans = tables
    await store.network.change_routes(of_routes, [])
    await store.network.set_prices(of_prices, [])
    await store.costs.put(of_costs)
    await store.mobile_networks.put(of_networks)
    for plan in of_plans:
        await store.plans.put(plan)
    return store, accounts


async def check(store: MemoryStore, accounts: list[Account], sender: str) -> None:
    directory = Directory(store.table_changes, store.accounts)
    await directory.refresh(NOW)
    whole, small = await store.network.tables(), await store.network.tables(large=False)
    for account in accounts:
        prefixes = destinations(whole, account.plan, NOW)
        covered = {row.prefix: row for row in coverage(prefixes, whole, account.plan, {}, NOW)}
        for number in NUMBERS:
            keys = deciding_keys(number, account, [], NOW, sender, "")
            tables = (await store.large_tables.deciding(keys)).joined(small)
            found = explain(number, account, tables, {}, NOW, sender)
            price = directory.price(account.plan, number, directory.network(number))
            request = RouteRequest(account.id, number, sender, price or 0)
            assert found.price == price
            if price is not None:
                assert found.connector == whole.connector_names().get(directory.route(request) or 0)
            assert [each.connector for each in found.candidates] == [
                whole.connector_names()[each.connector] for each in directory.candidates(request)
            ]
            prefix = next((number[:size] for size in range(len(number), -1, -1) if number[:size] in covered), None)
            stranger = explain(number, Account(0, "", "", b"", plan=account.plan), whole, {}, NOW)
            if prefix is None:
                assert not stranger.candidates
                continue
            row = covered[prefix]
            assert (row.price, row.network) == (stranger.price, stranger.network)
            assert {row.connector, *row.others} - {None} == {each.connector for each in stranger.candidates}


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(routes, prices, costs, networks, plans, st.sampled_from(["", "ACME", "Shop"]))
def test_all_answers_about_a_number_agree(
    of_routes: list[Route],
    of_prices: list[Price],
    of_costs: list[Cost],
    of_networks: list[MobileNetwork],
    of_plans: list[Plan],
    sender: str,
) -> None:
    store, accounts = finish(filled(of_routes, of_prices, of_costs, of_networks, of_plans))
    finish(check(store, accounts, sender))
