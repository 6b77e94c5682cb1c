"""Changes of the large tables: a reader that follows them decides as a reader that has just read everything."""

from random import Random

import pytest

from heliograph.adapters.store.shared import lists, network
from heliograph.app.configuration import Connector, Cost, Missing, MobileNetwork, Price, Route
from heliograph.app.ports import Store, TableChanges
from heliograph.app.routing.candidates import RouteRequest, RoutingState, candidates
from heliograph.app.routing.tables import ALL_PAGES, RoutingTables
from tests.support.memory_store import MemoryStore

NUMBERS = [a + b + c for a in "12" for b in "12" for c in "12"]
PREFIXES = ["", "1", "2", "12", "121"]
NETWORKS = ["", "", "26201", "26202"]
PLANS = {1: "gold", 2: "default"}


class Reader:
    """Follows the changes of a store, in small pages."""

    def __init__(self, changes: TableChanges) -> None:
        self.tables = RoutingTables(changes, page=3)
        self._changes = changes
        self._since: int | None = None
        self._was = 0
        self._connectors: dict[int, Connector] = {}

    async def read(self, now: int, pages: int = ALL_PAGES) -> None:
        changes = await self._changes.changes(self._since, self._was, now)
        self.tables.heed(changes, now, wants_costs=True)
        self._since, self._was = changes.tables.revision, now
        self._connectors = {each.id: each for each in changes.tables.connectors}
        await self.tables.load(now, pages)

    def decisions(self) -> list[object]:
        """Everything that the tables decide."""
        tables = self.tables
        state = RoutingState(tables.routes, self._connectors, None, PLANS, tables.networks)
        found: list[object] = []
        for account, plan in PLANS.items():
            tariff = tables.prices.tariff(plan)
            found.append(tables.prices.knows(plan))
            for number in NUMBERS:
                network = state.network(number)
                found.append((network, tariff.price(number, network), tariff.named_by(number, network)))
                found.append((tariff.price(number, ""), tariff.inbound(number)))
                found.append([tables.costs.cost(each, number, network) for each in self._connectors])
                for sender in ("Shop", "ACME"):
                    request = RouteRequest(account, number, sender)
                    found.append((candidates(request, state), state.reasons(request)))
        found.append({each: state.standins(each) for each in self._connectors})
        return found


async def change(store: Store, chance: Random, step: int) -> None:
    """Makes some change of the tables, small or large."""
    network, prefix, since = store.network, chance.choice(PREFIXES), chance.choice([0, 0, chance.randrange(100)])
    there = (await network.tables()).connectors
    connectors = [each.id for each in there]
    of, plan, mccmnc = chance.choice(connectors), chance.choice(["gold", "default"]), chance.choice(NETWORKS)

    def route() -> Route:
        owner, of_plan = chance.choice([(0, ""), (1, ""), (0, "gold")])
        return Route(
            0, "" if mccmnc else prefix, of, chance.randrange(3), mccmnc, share=chance.randrange(3),
            sender=chance.choice(["", "AC*", "ACME"]), fallback=chance.random() < 0.3, account=owner, plan=of_plan,
        )  # fmt: skip

    until = chance.choice([0, since + chance.randrange(1, 60)])
    match chance.choice(["route"] * 4 + ["unroute", "price", "price", "unprice", "prices", "cost", "cost", "uncost"]
                        + ["costs", "network", "connector", "account"]):  # fmt: skip
        case "route":
            await network.change_routes([route()], [])
        case "unroute":
            routes = (await network.tables()).routes
            await network.change_routes([route()], [each.id for each in chance.sample(routes, len(routes) // 3)])
        case "price":
            target = "" if mccmnc else prefix
            price = Price(plan, target, chance.randrange(9), chance.choice([0, 0, 2]), since, mccmnc)
            await network.set_price(price)
        case "unprice":
            await network.remove_price(plan, mccmnc, "" if mccmnc else prefix)
        case "prices":
            prices = [Price(plan, each, chance.randrange(9), 0, since) for each in PREFIXES]
            prices += [Price(plan, "", chance.randrange(9), 0, since, each) for each in NETWORKS if each]
            await network.set_prices(prices, chance.choice([[], [plan]]))
        case "cost":
            await store.costs.put([Cost(of, "" if mccmnc else prefix, mccmnc, chance.randrange(9), 1, since, until)])
        case "uncost":
            await store.costs.remove(of, mccmnc, "" if mccmnc else prefix)
        case "costs":
            await store.costs.put([Cost(of, each, "", chance.randrange(9), until=until) for each in PREFIXES], [of])
        case "network":
            await store.mobile_networks.put([MobileNetwork(prefix or "2", mccmnc or "26203")])
        case "connector":
            await network.add_connector(Connector(0, f"c{step}"))
            if len(there) > 2:
                await network.remove_connector(there[0].name)


@pytest.mark.parametrize("seed", range(3))
async def test_a_reader_of_changes_decides_as_a_reader_of_everything(
    store: Store, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if seed == 2:
        monkeypatch.setattr(lists, "FEW", 3)
        monkeypatch.setattr(lists, "BATCH", 2)
    chance, follower, now = Random(seed), Reader(store.table_changes), 0
    for name in ("a", "b", "c"):
        await store.network.add_connector(Connector(0, name))
    for step in range(80):
        try:
            await change(store, chance, step)
        except Missing:
            continue
        now += chance.choice([0, 0, 3])
        await follower.read(now, pages=chance.choice([0, 1, 2, ALL_PAGES]))
        if follower.tables.is_whole:
            anew = Reader(store.table_changes)
            await anew.read(now)
            assert follower.decisions() == anew.decisions()


async def test_a_changed_row_is_read_alone(store: Store) -> None:
    if isinstance(store, MemoryStore):
        pytest.skip("the store of tests reads everything again")
    connector = await store.network.add_connector(Connector(0, "a"))
    await store.network.set_prices([Price("gold", str(each), 5) for each in range(10, 20)], ["gold"])
    since = await store.table_changes.revision()
    await store.network.set_price(Price("gold", "12", 7, 1, 50))
    await store.network.set_price(Price("gold", "", 8, network="26201"))
    await store.network.add_route(Route(0, "49", connector.id, 5, share=2, fallback=True))
    await store.costs.put([Cost(connector.id, "", "26201", 3, 4, until=60)])
    await store.network.remove_price("gold", "", "13")
    changes = await store.table_changes.changes(since, 0, 40)
    assert changes.whole == frozenset()
    assert changes.route_keys == [("", "49")]
    assert changes.routes == [("49", "", 0, "", "", ((connector.id, 5, 2, True),))]
    assert changes.price_keys == [("gold", "", "26201"), ("gold", "12", ""), ("gold", "13", "")]
    assert changes.prices == [
        ("gold", "", "26201", 0, 8, 0), ("gold", "12", "", 0, 5, 0), ("gold", "12", "", 50, 7, 1),
    ]  # fmt: skip
    assert changes.cost_keys == [(connector.id, "26201", "")]
    assert changes.costs == [(connector.id, "26201", "", 0, 7, 60)]
    assert (changes.next_price, changes.next_cost) == (50, 60)
    due = await store.table_changes.changes(await store.table_changes.revision(), 40, 50)
    assert (due.price_keys, due.next_price, due.cost_keys, due.next_cost) == ([("gold", "12", "")], None, [], 60)
    ended = await store.table_changes.changes(await store.table_changes.revision(), 50, 60)
    assert (ended.price_keys, ended.cost_keys, ended.next_cost) == ([], [(connector.id, "26201", "")], None)
    back = await store.table_changes.changes(await store.table_changes.revision(), 60, 40)
    assert (back.price_keys, back.cost_keys) == (due.price_keys, ended.cost_keys), "the clock was set back"
    assert (back.next_price, back.next_cost) == (50, 60)
    assert (await store.table_changes.changes(since + 100, 0, 0)).whole, "the store is older than the reader"


async def test_many_costs_that_end_together_make_the_table_be_read_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(store, MemoryStore):
        pytest.skip("the store of tests reads everything again")
    monkeypatch.setattr(network, "MOST_DUE", 3)
    connector = await store.network.add_connector(Connector(0, "a"))
    await store.costs.put([Cost(connector.id, each, "", 1, until=60) for each in ("1", "2")])
    await store.costs.put([Cost(connector.id, "3", "", 1, 0, 50, 90)])
    since = await store.table_changes.revision()
    assert (await store.table_changes.changes(since, 50, 60)).whole == frozenset()
    assert (await store.table_changes.changes(since, 49, 60)).whole == {"cost"}, "two ends and a start"


async def test_a_cost_ends_for_readers_that_go_on(store: Store) -> None:
    """The next best cost counts then: a shorter prefix, else none. An earlier cost stays replaced."""
    connector = (await store.network.add_connector(Connector(0, "a"))).id
    await store.costs.put(
        [Cost(connector, "4", "", 9), Cost(connector, "49", "", 5), Cost(connector, "49", "", 6, 0, 10, 20)]
    )
    await store.costs.put([Cost(connector, "", "26201", 3, until=15), Cost(connector, "33", "", 4, until=15)])
    reader, found = Reader(store.table_changes), []
    for now in (0, 9, 10, 14, 15, 19, 20, 30):
        await reader.read(now)
        of = reader.tables.costs.cost
        found.append((of(connector, "491", "26201"), of(connector, "491", ""), of(connector, "331", "")))
    assert found == [(3, 5, 4), (3, 5, 4), (3, 6, 4), (3, 6, 4), (6, 6, None), (6, 6, None), (9, 9, None), (9, 9, None)]
