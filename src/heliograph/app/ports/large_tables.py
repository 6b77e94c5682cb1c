"""Rows of the tables that may have a million rows: routes, prices, costs and networks of numbers."""

from dataclasses import dataclass, field, replace
from typing import Protocol

from heliograph.app.configuration import Cost, MobileNetwork, Price, Route, Tables


@dataclass(frozen=True, slots=True)
class DecidingKeys:
    """The keys of the rows that may decide about a number. `app.routing.explain.deciding_keys` makes them."""

    prefixes: tuple[str, ...]
    """All beginnings of the number, the empty one included."""
    network: str
    """MCCMNC if the number was ported, else empty: the network is then that of its longest prefix."""
    account: int
    """0 for an account without routes of its own."""
    plan: str
    senders: tuple[str, ...]
    """The sender ID, its patterns such as `ACM*`, and the empty one."""
    at: int
    """The moment in ms."""


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


class LargeTables(Protocol):
    """Reads rows of the large tables by their indexes. `Network` changes the rows, and `TableChanges` reads them for
    running gateways."""

    async def deciding(self, keys: DecidingKeys) -> LargeRows:
        """Returns the rows that may decide about a number: networks, routes, the costs of their connectors, and prices
        of the plan and of the plan `default`. If the plan has a price that holds, one such price is among them, since
        a plan without any has the prices of `default`."""
