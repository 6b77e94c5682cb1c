"""Costs of connectors, and what a plan covers."""

import asyncio
import threading
from random import Random
from typing import Any

import pytest

from heliograph.app.configuration import Connector, Cost, MobileNetwork, Price, Route, Tables
from heliograph.app.resources import costs, routes
from heliograph.app.resources import coverage as coverage_resource
from heliograph.app.resources.desk import Desk, Invalid, NoSuch
from heliograph.app.routing.coverage import Covered, coverage, destinations
from heliograph.domain.money.costs import CostTable
from heliograph.domain.money.pricing import in_force, price_table
from heliograph.domain.numbers.phone import PrefixTable
from tests.support.gateway import open_gateway
from tests.support.timeouts import PATIENCE_S

TABLES = Tables(
    1,
    [Connector(1, "op1"), Connector(2, "op2")],
    [Route(1, "49", 1), Route(2, "49", 2, -1), Route(3, "", 2, plan="gold", network="26202"), Route(4, "33", 1)],
    [Price("default", "49", 50), Price("default", "44", 50), Price("gold", "4917", 20), Price("gold", "33", 10)],
    networks=[MobileNetwork("49172", "26202")],
    costs=[Cost(1, "49", "", 30, 5), Cost(2, "49", "", 25), Cost(2, "", "26202", 40)],
)


def covered(plan: str) -> dict[str, tuple[Any, ...]]:
    return {
        row.prefix: (row.connector, row.others, row.price, row.cost, row.best_cost, row.margin, row.problem)
        for row in coverage(destinations(TABLES, plan, 0), TABLES, plan, {}, 0)
    }


def test_each_destination_has_its_connector_price_cost_and_fault() -> None:
    assert covered("gold") == {
        "33": ("op1", [], 10, None, None, None, ""),
        "44": (None, [], 50, None, None, None, "no route"),
        "49": ("op1", ["op2"], 50, 35, 25, 15, ""),
        "4917": ("op1", ["op2"], 20, 35, 25, -15, "loss"),
        "49172": ("op2", [], 20, 40, 40, -20, "loss"),
    }


def test_a_route_without_a_price_is_marked() -> None:
    tables = Tables(1, TABLES.connectors, [Route(1, "33", 1)], [Price("gold", "49", 1)])
    rows = {row.prefix: row.problem for row in coverage(destinations(tables, "gold", 0), tables, "gold", {}, 0)}
    assert rows == {"33": "no price", "49": "no route"}


# --- the resource


async def opened() -> Desk:
    gateway = await open_gateway()
    return Desk(gateway.store, gateway.clock)


def row(prefix: str, submitted: int, **rest: Any) -> dict[str, Any]:
    return {"prefix": prefix, "network": "", "submitted": submitted, **rest}


async def test_a_list_of_costs_says_what_rises() -> None:
    desk = await opened()
    await costs.put(desk, "operator", 100, prefix="49")
    await costs.put(desk, "operator", 100, prefix="44")
    wanted = [row("49", 111), row("44", 110), row("33", 5, delivered=2)]
    tried = await costs.put_all(desk, "operator", wanted, replace=True, dry_run=True)
    assert tried == {
        "added": 1, "changed": 2, "removed": 0, "rises": [{"destination": "49", "was": 100, "cost": 111}], "losses": [],
    }  # fmt: skip
    assert [each["submitted"] for each in await costs.find(desk)] == [100, 100]
    assert await costs.put_all(desk, "operator", wanted) == tried
    assert await costs.put_all(desk, "operator", wanted[:1], replace=True) == {
        "added": 0, "changed": 0, "removed": 2, "rises": [], "losses": [],
    }  # fmt: skip
    assert [(each["prefix"], each["submitted"]) for each in await costs.find(desk)] == [("49", 111)]


async def test_a_list_of_costs_says_what_falls_below_its_price() -> None:
    desk = await opened()
    network = desk.store.network
    for price in (Price("default", "49", 100), Price("gold", "4917", 90), Price("gold", "49", 200, since=desk.now + 9)):
        await network.set_price(price)
    await desk.store.mobile_networks.put([MobileNetwork("49151", "26201"), MobileNetwork("49172", "26202")])
    await costs.put(desk, "operator", 85, prefix="49")
    await costs.put(desk, "operator", 95, prefix="49174")
    await network.set_price(Price("gold", "49174", 94))
    wanted = [row("49", 99, since=desk.now + 5), {"prefix": "", "network": "26202", "submitted": 80, "delivered": 21}]
    tried = await costs.put_all(desk, "operator", wanted, dry_run=True)
    assert tried["losses"] == [
        {"destination": "49172", "plan": "default", "price": 100, "cost": 101},
        {"destination": "4917", "plan": "gold", "price": 90, "cost": 99},
        {"destination": "49172", "plan": "gold", "price": 90, "cost": 101},
    ], "49174 of gold was dearer before"
    assert await costs.put_all(desk, "operator", wanted) == tried
    assert (await costs.put_all(desk, "operator", wanted))["losses"] == [], "nothing new"


async def test_coverage_does_not_block_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = await opened()
    desk.in_thread = asyncio.to_thread
    begun, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def slow(*_: object) -> list[Covered]:
        loop.call_soon_threadsafe(begun.set)
        assert go_on.wait(PATIENCE_S)
        return []

    monkeypatch.setattr(coverage_resource, "coverage", slow)
    asked = asyncio.create_task(coverage_resource.find(desk))
    await asyncio.wait_for(begun.wait(), PATIENCE_S)
    go_on.set()
    assert await asked == []


def _without_end(cost: Cost) -> Cost:
    return Cost(cost.connector, cost.prefix, cost.network, cost.submitted, cost.delivered, cost.since)


def losses_of(tables: Tables, wanted: list[Cost], at: int, *, replace: bool) -> list[dict[str, Any]]:
    """The losses of a list of costs of connector 1, found by reading whole tables."""
    found: list[dict[str, Any]] = []
    was = {(each.network, each.prefix, each.since): each for each in tables.costs if each.connector == 1}
    new = {(each.network, each.prefix, each.since): each if each.until <= at else _without_end(each) for each in wanted}
    before, after = CostTable(was.values(), at), CostTable((new if replace else was | new).values(), at)
    prices, known = in_force(tables.prices, at), PrefixTable({each.prefix: each.mccmnc for each in tables.networks})
    prefixes = (
        {each.prefix for each in prices if not each.network}
        | {each.prefix for each in tables.networks}
        | {each.prefix for each in wanted if not each.network}
    )
    for plan in sorted({each.plan for each in prices} | {"default"}):
        tariff = price_table(prices, at).tariff(plan)
        for prefix in sorted(prefixes):
            network = known.find(prefix) or ""
            price = tariff.price(prefix, network)
            old, cost = before.cost(1, prefix, network), after.cost(1, prefix, network)
            if price is not None and cost is not None and cost > price and (old is None or old <= price):
                found.append({"destination": prefix, "plan": plan, "price": price, "cost": cost})
    return found


@pytest.mark.parametrize("seed", range(4))
async def test_losses_are_found_part_by_part(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance, desk = Random(seed), await opened()
    monkeypatch.setattr(costs, "AT_ONCE", 3)
    monkeypatch.setattr(costs, "MOST_SPANS", 2)
    digits = [str(each) for each in (4, 49, 491, 492, 4911, 4912, 33, 331, 3312, 44)] + [""]
    found = 0
    for _ in range(12):
        prices = [
            Price(
                chance.choice(["default", "gold", "late"]), prefix, chance.randrange(5, 30), since=chance.choice([0, 9])
            )
            for prefix in chance.sample(digits, 6)
        ]
        prices += [
            Price(each.plan, "", each.price + 5, network=chance.choice(["26201", "26202"])) for each in prices[:1]
        ]
        await desk.store.network.set_prices(prices, ["default", "gold", "late"])
        networks = [MobileNetwork(each, chance.choice(["26201", "26202"])) for each in chance.sample(digits[:-1], 3)]
        await desk.store.mobile_networks.put(networks, replace_all=True)
        targets = [(each, "") for each in chance.sample(digits, chance.choice([1, 2, 5]))]
        targets += [("", "26201")] if chance.random() < 0.3 else []
        wanted = [
            Cost(1, *of, chance.randrange(5, 30), 0, chance.choice([0, 0, 7]), chance.choice([0, 0, 8, 1 << 50]))
            for of in targets
        ]
        tables, only = await desk.store.network.tables(), chance.random() < 0.3
        rows = [
            {
                "prefix": each.prefix,
                "network": each.network,
                "submitted": each.submitted,
                "since": each.since,
                "until": each.until,
            }
            for each in wanted
        ]
        changes = await costs.put_all(desk, "operator", rows, replace=only)
        assert changes["losses"] == losses_of(tables, wanted, desk.now, replace=only)
        found += len(changes["losses"])
        held = await desk.store.network.tables()
        known = {(each.network, each.prefix, each.since): each for each in tables.costs}
        new = {(each.network, each.prefix, each.since): each for each in wanted}
        assert changes["added"] == len(new.keys() - known.keys())
        assert changes["changed"] == sum(known.get(key, each) != each for key, each in new.items())
        assert changes["removed"] == (len(known.keys() - new.keys()) if only else 0)
        assert len(held.costs) == len(new if only else known | new)
    assert found > 2


async def test_coverage_comes_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = await opened()
    for each in ("4", "49", "491", "4917", "44", "33"):
        await desk.store.network.set_price(Price("gold", each, 5))
    whole = await coverage_resource.find(desk, "gold")
    assert [each["prefix"] for each in whole] == ["", "33", "4", "44", "49", "491", "4917"]
    monkeypatch.setattr(coverage_resource, "COVERED_AT_ONCE", 2)
    assert await coverage_resource.find(desk, "gold") == whole
    assert await coverage_resource.find(desk, "gold", after=("4",), limit=3) == whole[3:6]
    near = await coverage_resource.find(desk, "gold", "491")
    assert [each["prefix"] for each in near] == ["", "4", "49", "491", "4917"]
    assert await coverage_resource.find(desk, "gold", "491", after=("49",), limit=1) == near[3:4]


async def test_costs_hold_from_their_date_and_are_explained() -> None:
    desk = await opened()
    await costs.put(desk, "operator", 300_000, prefix="49")
    await costs.put(desk, "operator", 200_000, prefix="49", delivered=50_000, since=desk.now)
    await costs.put(desk, "operator", 900_000, prefix="49", since=desk.now + 1)
    assert [each["submitted"] for each in await costs.find(desk)] == [200_000, 900_000]
    assert len(await costs.find(desk, past=True)) == 3
    (candidate,) = (await routes.decide(desk, "491701234567", "acme")).candidates
    assert (candidate.price, candidate.cost, candidate.margin) == (1_000_000, 250_000, 750_000)
    await costs.remove(desk, "operator", prefix="49", since=desk.now)
    assert [each["submitted"] for each in await costs.find(desk)] == [300_000, 900_000]
    await costs.remove(desk, "operator", prefix="49")
    assert await costs.find(desk, past=True) == []


async def test_costs_hold_before_their_end() -> None:
    desk = await opened()
    await costs.put(desk, "operator", 300_000, prefix="4")
    await costs.put(desk, "operator", 250_000, prefix="49")
    await costs.put(desk, "operator", 200_000, prefix="49", since=desk.now - 9, until=desk.now + 1)
    (first, second) = await costs.find(desk)
    assert [first["until"], second["until"]] == [None, desk.now + 1]
    (candidate,) = (await routes.decide(desk, "491701234567", "acme")).candidates
    assert candidate.cost == 200_000
    await costs.put(desk, "operator", 200_000, prefix="49", since=desk.now - 9, until=desk.now)
    assert await costs.find(desk) == [first], "neither the cost that has ended nor the one it replaced"
    assert len(await costs.find(desk, past=True)) == 3
    (candidate,) = (await routes.decide(desk, "491701234567", "acme")).candidates
    assert candidate.cost == 300_000


async def test_a_list_changes_the_end_of_a_cost() -> None:
    desk = await opened()
    until = desk.now + 60_000
    assert (await costs.put_all(desk, "operator", [row("49", 5)]))["added"] == 1
    assert (await costs.put_all(desk, "operator", [row("49", 5, until=until)]))["changed"] == 1
    again = await costs.put_all(desk, "operator", [row("49", 5, until=until)])
    assert (again["added"], again["changed"], again["removed"]) == (0, 0, 0)
    assert [each["until"] for each in await costs.find(desk)] == [until]


async def test_a_cost_that_ended_is_no_cost_to_compare_with() -> None:
    desk = await opened()
    await costs.put(desk, "operator", 1, prefix="49", until=desk.now)
    assert (await costs.put_all(desk, "operator", [row("49", 5)]))["rises"] == []


@pytest.mark.parametrize(("since", "until"), [(9, 9), (9, 8), (1, 1)])
async def test_a_cost_does_not_end_before_it_holds(since: int, until: int) -> None:
    desk = await opened()
    with pytest.raises(Invalid, match="until: the cost would end before it holds"):
        await costs.put(desk, "operator", 1, since=since, until=until)
    with pytest.raises(Invalid, match=r"costs\[1\].until: the cost would end before it holds"):
        await costs.put_all(desk, "operator", [row("44", 1), row("49", 1, since=since, until=until)])
    assert await costs.find(desk) == []


async def test_costs_that_cannot_be_used_change_nothing() -> None:
    desk = await opened()
    with pytest.raises(Invalid):
        await costs.put(desk, "operator", 1, prefix="49", network="26201")
    with pytest.raises(Invalid):
        await costs.put_all(desk, "operator", [row("49", 1), row("49", 2)])
    with pytest.raises(NoSuch):
        await costs.put(desk, "nobody", 1)
    with pytest.raises(NoSuch):
        await costs.remove(desk, "operator", prefix="49")
    assert await costs.find(desk) == []
