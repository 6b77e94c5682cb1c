"""Coverage: for each destination of a price plan its connector, price, cost and margin, with what is wrong."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from heliograph.app.configuration import Tables
from heliograph.app.routing.candidates import (
    NO_OBSTACLES,
    Obstacles,
    RouteRequest,
    RouteTable,
    RoutingState,
    candidates,
    chosen,
)
from heliograph.app.routing.plan_rules import plan_rules
from heliograph.app.routing.quality import Quality
from heliograph.domain.money.costs import CostTable
from heliograph.domain.money.pricing import DEFAULT_PLAN, in_force, price_table
from heliograph.domain.numbers.phone import PrefixTable

NO_ROUTE = "no route"
NO_PRICE = "no price"
NO_MARGIN = "no margin"
"""The rules of the plan exclude each connector of its routes."""

LOSS = "loss"


@dataclass(slots=True)
class Covered:
    """A destination: numbers with a prefix, as far as no longer prefix has a row of its own."""

    prefix: str
    network: str
    """MCCMNC of the prefix; empty if it is not known."""
    connector: str | None
    """The connector that takes a message now."""
    others: list[str]
    """Connectors after it."""
    price: int | None
    """Micro-credits a segment."""
    cost: int | None
    """Micro-credits a delivered segment over `connector`; None if it is not known."""
    best_cost: int | None
    """The lowest known cost over any of the connectors."""
    problem: str
    """`no route`, `no price`, `no margin`, `loss`, or empty."""

    @property
    def margin(self) -> int | None:
        """Micro-credits that a delivered segment earns; None if its cost or price is not known."""
        return None if self.price is None or self.cost is None else self.price - self.cost


def destinations(tables: Tables, plan: str, now: int) -> list[str]:
    """Returns the prefixes of prices, routes and networks for accounts with this plan."""
    held = [price for price in in_force(tables.prices, now) if price.plan in (plan, DEFAULT_PLAN)]
    prefixes = {price.prefix for price in held if not price.network}
    prefixes |= {route.prefix for route in tables.routes if not (route.network or route.account)}
    return sorted(prefixes | {network.prefix for network in tables.networks})


def coverage(
    prefixes: Iterable[str],
    tables: Tables,
    plan: str,
    fallbacks: Mapping[int, str],
    now: int,
    quality: Quality | None = None,
    obstacles: Obstacles = NO_OBSTACLES,
) -> list[Covered]:
    """Returns what covers the destinations with these prefixes, for an account with this plan. The tables have at least
    the rows that decide about them.

    `fallbacks` are a development run's connectors; `now` decides which prices and costs hold; `obstacles` hold
    at the moment.
    """
    connectors = {connector.id: connector for connector in tables.connectors}
    names = {**fallbacks, **tables.connector_names()}
    plan_of, costs = {0: plan}, CostTable(tables.costs, now)
    measured = Quality(quality.shares if quality else None)  # no number explores
    rules = plan_rules(tables.plans, plan_of, costs, measured)
    fallback = next(iter(fallbacks), None)
    networks = PrefixTable({each.prefix: each.mccmnc for each in tables.networks})
    state = RoutingState(RouteTable(tables.routes), connectors, fallback, plan_of, networks, obstacles, rules)
    tariff = price_table(tables.prices, now).tariff(plan)
    rows = []
    for prefix in prefixes:
        network = state.network(prefix)
        price = tariff.price(prefix, network)
        request = RouteRequest(0, prefix, "", price or 0)
        found = candidates(request, state)
        taken = chosen(found, state.obstacles if price is None else state.obstacles_of(request, found))
        known = {each.connector: costs.cost(each.connector, prefix, network) for each in found}
        cost = None if taken is None else known[taken]
        problem = ""
        if not found:
            problem = NO_ROUTE
        elif taken is None:
            problem = NO_MARGIN
        elif price is None:
            problem = NO_PRICE
        elif cost is not None and cost > price:
            problem = LOSS
        rows.append(
            Covered(
                prefix,
                network,
                None if taken is None else names[taken],
                [names[each.connector] for each in found if each.connector != taken],
                price,
                cost,
                min((each for each in known.values() if each is not None), default=None),
                problem,
            )
        )
    return rows
