"""Long lists of prices and costs: written in batches, they hold as a whole from a moment on, or never."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from heliograph.adapters.store.shared import lists
from heliograph.adapters.store.shared.lists import LongList
from heliograph.adapters.store.shared.steps import Steps
from heliograph.app.configuration import Connector, Cost, Missing, Price
from heliograph.app.ports import Store, Unavailable
from tests.support.memory_store import MemoryStore

OLD = [Price("gold", str(each), 1, 5) for each in range(10, 20)] + [Price("default", "49", 7, 0)]
NEW = [Price("gold", str(each), 2, None) for each in range(15, 25)]

MERGED = OLD[:5] + [Price("gold", str(each), 2, 5 if each < 20 else 0) for each in range(15, 25)]
REPLACED = [Price("gold", str(each), 2, 0) for each in range(15, 25)]


@pytest.fixture(autouse=True)
def small_batches(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    if isinstance(store, MemoryStore):
        pytest.skip("the store of tests writes a list at once")
    monkeypatch.setattr(lists, "FEW", 0)
    monkeypatch.setattr(lists, "BATCH", 3)


async def prices(store: Store) -> list[Price]:
    """The prices, with the prices of the plan `default` at the end."""
    found = (await store.network.tables()).prices
    return sorted(found, key=lambda each: (each.plan == "default", each.prefix, each.since))


@pytest.mark.parametrize(("replaced", "expected"), [([], MERGED), (["gold"], REPLACED)], ids=["added", "replaced"])
async def test_an_interrupted_import_leaves_the_old_list_or_the_new(
    store: Store, replaced: list[str], expected: list[Price], monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.network.set_prices(OLD, [])
    new, hold, step = [*expected, OLD[-1]], LongList._hold, 0
    revision = await store.table_changes.revision()
    monkeypatch.setattr(lists, "LEASE_MS", -1)  # a lease ends at once

    def interrupted_at(calls: int) -> Callable[..., Steps[int]]:
        left = iter(range(calls))

        def held(self: LongList, ticket: int) -> Steps[int]:
            if next(left, None) is None:
                raise Unavailable("the power is off")
            return (yield from hold(self, ticket))

        return held

    while await prices(store) == OLD:
        step += 1
        monkeypatch.setattr(LongList, "_hold", interrupted_at(step))
        try:
            await store.network.set_prices(NEW, replaced)
        except Unavailable:
            assert await prices(store) == OLD
            assert await store.table_changes.revision() == revision
        monkeypatch.setattr(LongList, "_hold", hold)
        found = await prices(store)
        if step % 2:
            await store.upkeep.tidy_lists()
            assert await prices(store) == found, "only hidden rows are removed"
    assert step >= 6
    assert await prices(store) == new
    assert (await store.table_changes.changes(revision, 0, 0)).price_keys or replaced
    await store.upkeep.tidy_lists()
    await store.network.set_prices(OLD, ["gold"])
    assert await prices(store) == OLD


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
                await store.network.remove_price("gold", prefix)
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
