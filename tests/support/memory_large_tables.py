"""Rows of the large tables in the in-memory store."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from heliograph.app.configuration import Cost, MobileNetwork, Price, Route
from heliograph.app.ports.large_tables import (
    CostQuery,
    DecidingKeys,
    DestinationQuery,
    LargeRows,
    PriceQuery,
    RouteQuery,
)
from heliograph.domain.money.pricing import DEFAULT_PLAN, in_force
from tests.support.memory_rows import MemoryPart


class MemoryLargeTables(MemoryPart):
    """`app.ports.LargeTables`."""

    async def deciding(self, keys: DecidingKeys) -> LargeRows:
        rows = self._open()
        networks = [each for prefix, each in sorted(rows.networks.items()) if prefix in keys.prefixes]
        found = {each.mccmnc for each in networks} if keys.are_several else {each.mccmnc for each in networks[-1:]}
        of_number = {keys.network} if keys.network else found

        def fits(of: str, prefix: str) -> bool:
            return of in of_number if of else prefix in keys.prefixes

        routes = [
            replace(each)
            for each in rows.routes.values()
            if fits(each.network, each.prefix)
            and each.account in (0, keys.account)
            and each.plan in ("", keys.plan)
            and each.sender in keys.senders
        ]
        prices = [
            replace(each)
            for each in rows.prices.values()
            if each.plan in (keys.plan, DEFAULT_PLAN) and fits(each.network, each.prefix)
        ]
        held = next((each for each in rows.prices.values() if each.plan == keys.plan and each.since <= keys.at), None)
        if held is not None and held not in prices:
            prices.append(replace(held))
        connectors = {each.connector for each in routes}
        costs = [
            each for each in rows.costs.values() if each.connector in connectors and fits(each.network, each.prefix)
        ]
        return LargeRows(networks, routes, prices, costs)

    async def prices_of(self, plan: str, networks: Sequence[str], prefixes: Sequence[str]) -> list[Price]:
        there = [replace(each) for each in self._open().prices.values() if each.plan == plan]
        return [each for each in there if (each.network in networks if each.network else each.prefix in prefixes)]

    async def networks_of(self, prefixes: Sequence[str]) -> list[MobileNetwork]:
        return [each for prefix, each in sorted(self._open().networks.items()) if prefix in prefixes]

    async def costs_of(self, connector: int, networks: Sequence[str], prefixes: Sequence[str]) -> list[Cost]:
        there = [each for _, each in sorted(self._open().costs.items()) if each.connector == connector]
        return [each for each in there if (each.network in networks if each.network else each.prefix in prefixes)]

    async def destinations(self, query: DestinationQuery) -> list[str]:
        rows = self._open()
        held = in_force(rows.prices.values(), query.now)
        found = {*rows.networks, *(each.prefix for each in held if each.plan in query.plans and not each.network)}
        if query.are_routed:
            found |= {each.prefix for each in rows.routes.values() if not (each.network or each.account)}
        near = [each for each in sorted(found) if _is_near(each, query.near)]
        return [each for each in near if query.after is None or each > query.after][: query.limit]


class MemoryRoutingLists(MemoryPart):
    """`app.ports.RoutingLists`."""

    async def routes(self, query: RouteQuery) -> list[Route]:
        found = [
            (key, replace(each))
            for each in self._open().routes.values()
            if _is_near(each.prefix, query.near) and query.connector in (0, each.connector)
            for key in [(each.prefix, each.network, -each.priority, each.id)]
        ]
        if query.after is not None:
            prefix, network, priority, route = query.after
            found = [each for each in found if each[0] > (prefix, network, -priority, route)]
        return _part([route for _, route in sorted(found, key=lambda each: each[0])], query)

    async def count_routes(self, query: RouteQuery) -> int:
        return len(await self.routes(replace(query, after=None, first=0, limit=1 << 60)))

    async def route(self, route: int) -> Route | None:
        found = self._open().routes.get(route)
        return None if found is None else replace(found)

    async def routes_to(self, targets: Sequence[tuple[str, str]]) -> list[Route]:
        return [replace(each) for each in self._open().routes.values() if (each.network, each.prefix) in targets]

    async def routed_connectors(self) -> set[int]:
        return {each.connector for each in self._open().routes.values()}

    async def prices(self, query: PriceQuery) -> list[tuple[Price, bool]]:
        there = [replace(each) for _, each in sorted(self._open().prices.items())]
        held = {place_of(each)[:3]: each.since for each in in_force(there, query.now)}
        found = [
            (each, held.get(place_of(each)[:3]) == each.since)
            for each in there
            if query.plan in ("", each.plan)
            and _is_near(each.prefix, query.near)
            and (query.past or each.since >= held.get(place_of(each)[:3], 0))
            and (query.after is None or place_of(each) > query.after)
        ]
        return _part(found, query)

    async def count_prices(self, query: PriceQuery) -> int:
        return len(await self.prices(replace(query, after=None, first=0, limit=1 << 60)))

    async def plan_names(self) -> list[str]:
        rows = self._open()
        names = {each.plan for each in rows.prices.values()} | {each.plan for each in rows.routes.values()}
        return sorted(names - {""})

    async def costs(self, query: CostQuery) -> list[Cost]:
        there = [each for _, each in sorted(self._open().costs.items())]
        begun = {key_of(each)[:3]: each.since for each in there if each.since <= query.now}
        return [
            each
            for each in there
            if query.connector in (0, each.connector)
            and (query.past or (each.since >= begun.get(key_of(each)[:3], 0) and not 0 < each.until <= query.now))
            and (query.after is None or key_of(each) > query.after)
        ][: query.limit]

    async def count_costs(self, connector: int) -> int:
        return sum(each.connector == connector for each in self._open().costs.values())

    async def networks(self, after: str, limit: int, mccmnc: str | None = None) -> list[MobileNetwork]:
        there = sorted(self._open().networks.items())
        return [each for prefix, each in there if prefix > after and mccmnc in (None, each.mccmnc)][:limit]

    async def count_networks(self) -> int:
        return len(self._open().networks)


def place_of(price: Price) -> tuple[str, str, str, int]:
    return price.plan, price.prefix, price.network, price.since


def key_of(cost: Cost) -> tuple[int, str, str, int]:
    return cost.connector, cost.network, cost.prefix, cost.since


def _part(rows: list[Any], query: RouteQuery | PriceQuery) -> list[Any]:
    if query.is_from_end:
        return rows[::-1][query.first :][: query.limit][::-1]
    return rows[query.first :][: query.limit]


def _is_near(prefix: str, wanted: str) -> bool:
    return prefix.startswith(wanted) or wanted.startswith(prefix)
