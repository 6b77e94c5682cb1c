"""Long lists of the large tables: written in batches, they hold as a whole from a moment on, or never."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pytest

from heliograph.adapters.store.shared import lists
from heliograph.adapters.store.shared.lists import LongList
from heliograph.adapters.store.shared.steps import Steps
from heliograph.app.configuration import Connector, Cost, Exists, Missing, MobileNetwork, Price, Route
from heliograph.app.facts import Facts, InboundMessage
from heliograph.app.ports import RouteQuery, Store, Unavailable
from tests.support.memory_store import MemoryStore
from tests.support.store import START, Given


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of list. `new` is written over `old`, of which others than those of the list may be replaced."""

    read: Callable[[Store], Awaitable[Sequence[Any]]]
    put: Callable[[Store, Sequence[Any], bool], Awaitable[Any]]
    """Writes rows; the last argument is whether they replace all others."""
    old: Sequence[Any]
    new: Sequence[Any]
    merged: Sequence[Any]
    replaced: Sequence[Any]


OLD = [
    Price("gold", "", 1, network="26201"),
    *(Price("gold", str(each), 1, 5) for each in range(10, 20)),
    Price("default", "49", 7, 0),
]
NEW = [*(Price("gold", str(each), 2, None) for each in range(15, 25)), Price("gold", "", 2, None, network="26202")]

OF_NETWORK = Price("gold", "", 2, network="26202")
MERGED = OLD[:1] + [OF_NETWORK] + OLD[1:6] + [Price("gold", str(n), 2, 5 if n < 20 else 0) for n in range(15, 25)]
REPLACED = [OF_NETWORK] + [Price("gold", str(each), 2, 0) for each in range(15, 25)]


@pytest.fixture(autouse=True)
def small_batches(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    if isinstance(store, MemoryStore):
        pytest.skip("the store of tests writes a list at once")
    monkeypatch.setattr(lists, "FEW", 1)
    monkeypatch.setattr(lists, "BATCH", 3)


async def prices(store: Store) -> list[Price]:
    """The prices, with the prices of the plan `default` at the end."""
    found = (await store.network.tables()).prices
    return sorted(found, key=lambda each: (each.plan == "default", each.prefix, each.since))


async def costs(store: Store) -> list[Cost]:
    return (await store.network.tables()).costs


async def networks(store: Store) -> list[MobileNetwork]:
    return (await store.network.tables()).networks


async def routes(store: Store) -> list[Route]:
    """The routes by prefix, without their ids."""
    return [replace(each, id=0) for each in (await store.network.tables()).routes]


def rows(make: Callable[[str, int], Any]) -> tuple[list[Any], list[Any]]:
    """Rows of the prefixes 10 to 19 and 15 to 24, which differ in their number."""
    return [make(str(each), 1) for each in range(10, 20)], [make(str(each), 2) for each in range(15, 25)]


OLD_COSTS, NEW_COSTS = rows(lambda prefix, number: Cost(1, prefix, "", number, until=number * 90))
OLD_NETWORKS, NEW_NETWORKS = rows(lambda prefix, number: MobileNetwork(prefix, f"2620{number}"))
OLD_ROUTES, NEW_ROUTES = rows(lambda prefix, number: Route(0, prefix, 1, share=number))


async def put_routes(store: Store, rows: Sequence[Route], only: bool) -> None:
    gone = [each.id for each in (await store.network.tables()).routes] if only else []
    await store.network.change_routes(rows, gone)


KINDS = {
    "price": Kind(
        prices,
        lambda store, rows, only: store.network.set_prices(rows, ["gold"] if only else []),
        OLD, NEW, [*MERGED, OLD[-1]], [*REPLACED, OLD[-1]],
    ),
    "cost": Kind(
        costs, lambda store, rows, only: store.costs.put(rows, [1] if only else []),
        OLD_COSTS, NEW_COSTS, OLD_COSTS[:5] + NEW_COSTS, NEW_COSTS,
    ),
    "network": Kind(
        networks, lambda store, rows, only: store.mobile_networks.put(rows, replace_all=only),
        OLD_NETWORKS, NEW_NETWORKS, OLD_NETWORKS[:5] + NEW_NETWORKS, NEW_NETWORKS,
    ),
    "route": Kind(
        routes, put_routes, OLD_ROUTES, NEW_ROUTES, OLD_ROUTES + NEW_ROUTES[5:], NEW_ROUTES,
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "only"),
    [("price", False), ("price", True), ("cost", True), ("network", True), ("route", False), ("route", True)],
)
async def test_an_interrupted_import_leaves_the_old_list_or_the_new(
    store: Store, name: str, only: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = KINDS[name]
    await store.network.add_connector(Connector(1, "one"))
    await kind.put(store, kind.old, False)
    hold, step = LongList._hold, 0
    revision = await store.table_changes.revision()
    monkeypatch.setattr(lists, "LEASE_MS", -1)  # a lease ends at once

    def interrupted_at(calls: int) -> Callable[..., Steps[int]]:
        left = iter(range(calls))

        def held(self: LongList, ticket: int) -> Steps[int]:
            if next(left, None) is None:
                raise Unavailable("the power is off")
            return (yield from hold(self, ticket))

        return held

    while await kind.read(store) == kind.old:
        step += 1
        monkeypatch.setattr(LongList, "_hold", interrupted_at(step))
        try:
            await kind.put(store, kind.new, only)
        except Unavailable:
            assert await kind.read(store) == kind.old
            assert await store.table_changes.revision() == revision
        monkeypatch.setattr(LongList, "_hold", hold)
        found = await kind.read(store)
        if step % 2:
            await store.upkeep.tidy_lists()
            assert await kind.read(store) == found, "only hidden rows are removed"
    assert step >= 5
    assert await kind.read(store) == (kind.replaced if only else kind.merged)
    changes = await store.table_changes.changes(revision, 0, 0)
    assert changes.whole == {name} or changes.price_keys or changes.cost_keys
    await store.upkeep.tidy_lists()
    await kind.put(store, kind.old, True)
    assert await kind.read(store) == kind.old


@pytest.mark.parametrize("is_swapped", [False, True])
async def test_an_inbound_message_costs_the_price_that_holds_during_an_import(
    store: Store, given: Given, is_swapped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    dated, undated = Price("gold", "49", 1, 5, START), Price("gold", "49", 1, 9)
    old, new = (dated, undated) if is_swapped else (undated, dated)
    account = await given.account("acme", plan="gold", prices=[old])
    unrouted = InboundMessage(0, 1, "4917012345678", "3388", "Hi", b"Hi", 0, START, key=given.key())
    await store.commits.record(Facts(inbound=[unrouted]))
    tidy = LongList._tidy_all

    async def interrupted(self: LongList, ticket: int, *, is_last: bool = False) -> None:
        if is_last:
            raise Unavailable("the power is off")
        await tidy(self, ticket)

    def unswapped(*_: object) -> Steps[int]:
        raise Unavailable("the power is off")

    monkeypatch.setattr(LongList, "_tidy_all", interrupted)
    if not is_swapped:
        monkeypatch.setattr(LongList, "_swap", unswapped)
    with suppress(Unavailable):
        await store.network.set_prices([new, Price("gold", "48", 1, 1)], ["gold"])
    routed = await store.inbound.route(unrouted.key, 0, account.id, START + 1)
    assert routed.message.price == (new if is_swapped else old).inbound


async def test_a_list_of_routes_counts_the_missing_routes(store: Store) -> None:
    one = await store.network.add_connector(Connector(0, "one"))
    route = Route(0, "49", one.id)
    kept = await store.network.add_route(replace(route, share=5))
    wanted = [route, *(Route(0, str(each), one.id) for each in (31, 32, 33, 34, 31))]
    assert await store.network.change_routes(wanted, ()) == 4
    assert await store.network.change_routes(wanted, ()) == 0
    assert await store.routing_lists.routes_to([("", "49")]) == [kept]
    assert await store.routing_lists.count_routes(RouteQuery()) == 5


async def test_a_long_list_of_routes_removes_others(store: Store) -> None:
    one = await store.network.add_connector(Connector(0, "one"))
    old = [await store.network.add_route(Route(0, str(each), one.id)) for each in range(10, 20)]
    new = [replace(each, id=0, share=2) for each in old[:3]]
    assert await store.network.change_routes(new, [each.id for each in old[:7]]) == 3
    assert await routes(store) == [*new, *(replace(each, id=0) for each in old[7:])]
    with pytest.raises(Missing, match="no such route"):
        await store.network.change_routes([Route(0, "44", one.id)], [old[8].id, old[0].id])
    await store.upkeep.tidy_lists()
    assert await routes(store) == [*new, *(replace(each, id=0) for each in old[7:])]


async def test_routes_and_networks_change_during_an_import_of_them(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "FEW", 2)  # a route that replaces another is no long list
    one, add = await store.network.add_connector(Connector(0, "one")), LongList._add
    listed = [Route(0, str(each), one.id) for each in range(10, 14)]
    there = await store.network.add_route(Route(0, "9", one.id))

    async def added_meanwhile(*arguments: Any) -> int:
        found: int = await add(*arguments)
        monkeypatch.setattr(LongList, "_add", add)
        new = await store.network.add_route(listed[0])
        with pytest.raises(Exists):
            await store.network.add_route(listed[0])
        assert await store.routing_lists.route(new.id) == new
        await store.network.change_routes([replace(listed[1], share=7)], [there.id])
        hidden = new.id - 1
        with pytest.raises(Missing):
            await store.network.change_routes((), [hidden])
        assert [each.prefix for each in await routes(store)] == ["10", "11"]
        return found

    monkeypatch.setattr(LongList, "_add", added_meanwhile)
    assert await store.network.change_routes(listed, ()) == 4
    assert await routes(store) == listed

    async def set_meanwhile(*arguments: Any) -> int:
        found: int = await add(*arguments)
        monkeypatch.setattr(LongList, "_add", add)
        for each in ("10", "11", "30"):
            await store.mobile_networks.put([MobileNetwork(each, "1")])
        await store.mobile_networks.remove("10")
        with pytest.raises(Missing):
            await store.mobile_networks.remove("12")
        assert [each.prefix for each in await store.routing_lists.networks("", 9)] == ["11", "30"]
        assert await store.routing_lists.count_networks() == 2
        return found

    monkeypatch.setattr(LongList, "_add", set_meanwhile)
    wanted = [MobileNetwork(str(each), "2") for each in range(10, 14)]
    await store.mobile_networks.put(wanted)
    assert await networks(store) == [*wanted, MobileNetwork("30", "1")]


@pytest.mark.parametrize("seed", range(3))
async def test_other_changes_go_on_during_an_import(store: Store, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance, holding = Random(seed), {each.prefix: each.price for each in OLD}

    async def change() -> None:
        """Sets or removes a price, and compares the list that holds."""
        prefix = str(chance.randrange(10, 28))
        if chance.random() < 0.5:
            holding[prefix] = chance.randrange(100, 200)
            await store.network.set_price(Price("gold" if prefix != "49" else "default", prefix, holding[prefix]))
        else:
            try:
                await store.network.remove_price("gold", "", prefix)
                del holding[prefix]
            except Missing:
                assert prefix not in holding
        assert {each.prefix: each.price for each in await prices(store)} == holding

    def disturbed(method: Callable[..., Any], then: Callable[[], object] = dict) -> Callable[..., Any]:
        async def run(*arguments: Any) -> Any:
            for _ in range(3):
                await change()
            result = await method(*arguments)
            then()
            return result

        return run

    await store.network.set_prices(OLD, [])
    for name in ("_add", "_tidy"):
        monkeypatch.setattr(LongList, name, disturbed(getattr(LongList, name)))
    swap = disturbed(LongList._swap, lambda: holding.update((each.prefix, each.price) for each in NEW))
    monkeypatch.setattr(LongList, "_swap", swap)
    await store.network.set_prices(NEW, [])
    await change()


async def test_a_second_import_waits_for_the_end_of_the_first_or_of_its_lease(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = await store.network.add_connector(Connector(0, "one"))
    first, add = [Cost(one.id, str(each), "", 1) for each in range(4)], LongList._add
    second = [Cost(one.id, str(each), "", 2) for each in range(2, 6)]

    async def add_after_another(*arguments: Any) -> None:
        monkeypatch.setattr(LongList, "_add", add)
        with pytest.raises(Unavailable, match="being imported"):
            await store.costs.put(second)
        monkeypatch.setattr(lists, "LEASE_MS", -1)
        await add(*arguments)
        await store.costs.put(second, [one.id])
        await add(*arguments)

    monkeypatch.setattr(LongList, "_add", add_after_another)
    with pytest.raises(Unavailable, match="imported meanwhile"):
        await store.costs.put(first)
    assert (await store.network.tables()).costs == second


async def test_a_connector_that_is_removed_during_an_import_gets_no_costs(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = await store.network.add_connector(Connector(0, "one"))
    tidy_all, calls = LongList._tidy_all, []

    async def removed(self: LongList, ticket: int, *, is_last: bool = False) -> None:
        await tidy_all(self, ticket, is_last=is_last)
        calls.append(is_last)
        await store.network.remove_connector("one")

    monkeypatch.setattr(LongList, "_tidy_all", removed)
    with pytest.raises(Missing):
        await store.costs.put([Cost(one.id, str(each), "", 1) for each in range(9)])
    assert calls == [False]
    assert (await store.network.tables()).costs == []
