"""Rows of the tables that may have a million rows: routes, prices, costs and networks of numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from heliograph.app.configuration import Cost, MobileNetwork, Price, Route, Tables

PART_ROWS: Final = 10_000
"""The most rows of a part of a list."""

COMPARED: Final = 5_000
"""Prefixes of an import that are compared with the stored rows at once: some milliseconds of the event loop."""


@dataclass(frozen=True, slots=True)
class DecidingKeys:
    """The keys of the rows that may decide about a number. `app.routing.explain.deciding_keys` makes them."""

    prefixes: tuple[str, ...]
    """All beginnings of the number, the empty one included. Or those of several numbers."""
    network: str
    """MCCMNC if the number was ported, else empty: the network is then that of its longest prefix."""
    account: int
    """0 for an account without routes of its own."""
    plan: str
    senders: tuple[str, ...]
    """The sender ID, its patterns such as `ACM*`, and the empty one."""
    at: int
    """The moment in ms."""
    are_several: bool = False
    """Whether the prefixes are those of several numbers, which may be in any network of these prefixes."""


@dataclass(slots=True)
class LargeRows:
    """Some rows of the large tables."""

    networks: list[MobileNetwork] = field(default_factory=list)
    routes: list[Route] = field(default_factory=list)
    prices: list[Price] = field(default_factory=list)
    costs: list[Cost] = field(default_factory=list)

    def joined(self, tables: Tables) -> Tables:
        """Returns the small tables together with these rows."""
        return replace(tables, networks=self.networks, routes=self.routes, prices=self.prices, costs=self.costs)


@dataclass(frozen=True, slots=True)
class DestinationQuery:
    """A part of the destinations: the prefixes of networks, and of prices that hold in some plans."""

    now: int
    plans: tuple[str, ...] = ()
    near: str = ""
    """Digits of a prefix: see `RouteQuery`."""
    are_routed: bool = False
    """Whether to find also the prefixes of routes for all accounts."""
    after: str | None = None
    """The last destination before the part."""
    limit: int = PART_ROWS


class LargeTables(Protocol):
    """Reads rows of the large tables by their indexes. `Network` changes the rows, and `TableChanges` reads them for
    running gateways."""

    async def deciding(self, keys: DecidingKeys) -> LargeRows:
        """Returns the rows that may decide about a number: networks, routes, the costs of their connectors, and prices
        of the plan and of the plan `default`. If the plan has a price that holds, one such price is among them, since
        a plan without any has the prices of `default`."""

    async def prices_of(self, plan: str, networks: Sequence[str], prefixes: Sequence[str]) -> list[Price]:
        """Returns all prices of these networks and prefixes in a plan, past and future ones included."""

    async def networks_of(self, prefixes: Sequence[str]) -> list[MobileNetwork]:
        """Returns the networks of these prefixes."""

    async def costs_of(self, connector: int, networks: Sequence[str], prefixes: Sequence[str]) -> list[Cost]:
        """Returns all costs of these networks and prefixes over a connector, past and future ones included."""

    async def destinations(self, query: DestinationQuery) -> list[str]:
        """Returns destinations by prefix."""


Key = tuple[Any, ...]
"""The place of a row in a list, such as `("gold", "49", "", 0)` of a price."""


@dataclass(frozen=True, slots=True)
class RouteQuery:
    """A part of the routes, by prefix, network, priority (the highest first) and id."""

    near: str = ""
    """Finds prefixes that begin with these digits, and prefixes that these digits begin with. For example, 4917 finds
    49 and 491701."""
    connector: int = 0
    """0 finds routes to any connector."""
    after: Key | None = None
    """Prefix, network, priority and id of the last row before the part."""
    first: int = 0
    """The number of rows to skip."""
    is_from_end: bool = False
    """Whether to count `first` and `limit` from the end: with 0 and 50 the part has the last 50 rows. Without
    `after`."""
    limit: int = PART_ROWS


@dataclass(frozen=True, slots=True)
class PriceQuery:
    """A part of the prices, by plan, prefix, network and date. Prices of networks have an empty prefix."""

    now: int
    plan: str = ""
    """Empty finds prices of all plans."""
    near: str = ""
    """Digits of a prefix: see `RouteQuery`."""
    past: bool = False
    """Whether to find prices that later prices have replaced."""
    after: Key | None = None
    """Plan, prefix, network and date of the last row before the part."""
    first: int = 0
    is_from_end: bool = False
    """See `RouteQuery`."""
    limit: int = PART_ROWS


@dataclass(frozen=True, slots=True)
class CostQuery:
    """A part of the costs, by connector, network, prefix and date."""

    now: int
    connector: int = 0
    """0 finds costs of all connectors."""
    past: bool = False
    after: Key | None = None
    """Connector, network, prefix and date of the last row before the part."""
    limit: int = PART_ROWS


class RoutingLists(Protocol):
    """Reads parts of the large tables for people. A part takes the time of its rows, not of the table."""

    async def routes(self, query: RouteQuery) -> list[Route]: ...

    async def count_routes(self, query: RouteQuery) -> int:
        """Returns the number of routes that a query finds, without its limit. It reads an index to its end: 0.1 s of a
        million rows."""

    async def route(self, route: int) -> Route | None: ...

    async def routes_to(self, targets: Sequence[tuple[str, str]]) -> list[Route]:
        """Returns the routes of targets: network and prefix. Routes of other targets may be among them."""

    async def routed_connectors(self) -> set[int]:
        """Returns the connectors that have routes."""

    async def prices(self, query: PriceQuery) -> list[tuple[Price, bool]]:
        """Returns prices, and whether each holds now."""

    async def count_prices(self, query: PriceQuery) -> int:
        """Returns the number of prices that a query finds, without its limit."""

    async def plan_names(self) -> list[str]:
        """Returns the plans that have prices or routes, by name."""

    async def costs(self, query: CostQuery) -> list[Cost]: ...

    async def count_costs(self, connector: int) -> int:
        """Returns the number of costs of a connector, past and future ones included."""

    async def networks(self, after: str, limit: int, mccmnc: str | None = None) -> list[MobileNetwork]:
        """Returns the next prefixes behind a prefix, of all networks or of a network."""

    async def count_networks(self) -> int:
        """Returns the number of prefixes."""
