"""The network: connectors to operators, routes, prices, numbers, templates, and the link states that nodes report."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

from heliograph.app.configuration import (
    Changes,
    Connector,
    Cost,
    MessageTemplate,
    MobileNetwork,
    Plan,
    Price,
    Route,
    RouteColumns,
    Tables,
)
from heliograph.app.ports.carrier_state import ConnectorReport, NodeReport
from heliograph.domain.money.costs import CostColumns
from heliograph.domain.money.pricing import PriceColumns
from heliograph.domain.numbers.sender_rules import SenderRule
from heliograph.domain.pace.pace import LearntPace

Cursor = tuple[Any, ...]
"""The last key of a page, such as `("gold", "4917", 0)`."""

Columns = TypeVar("Columns")
Page = tuple[list[Columns], Cursor | None]
"""The rows of a page in columns, and its cursor; None at the end."""

NetworkColumns = tuple[Sequence[str], Sequence[str]]
"""Prefixes, and the MCCMNC of each."""

KEPT_DAYS: Final = 62
"""Days for which parts are kept: caps need a month of them, and people may compare it with the month before."""


class TableChanges(Protocol):
    """Reads the tables that administration changes: rows that changed, or pages of a whole table."""

    async def revision(self) -> int:
        """Returns the revision, for example 42. It grows with each change of accounts, keys, connectors, routes,
        prices, numbers or templates, in any process."""

    async def changes(self, since: int | None, was: int, now: int) -> Changes:
        """Returns the changes after the revision `since`, and the prices and costs that started or ended in (`was`,
        `now`], in ms; or in (`now`, `was`] if the clock was set back. `since` is None for a reader that has nothing
        yet."""

    async def network_page(self, after: Cursor | None, limit: int) -> Page[NetworkColumns]:
        """Returns the next prefixes of networks, by prefix. `after` is None at first, then the cursor of the page
        before."""

    async def route_page(self, after: Cursor | None, limit: int) -> Page[RouteColumns]:
        """Returns the routes of the next targets in the same way."""

    async def price_page(self, after: Cursor | None, limit: int) -> Page[PriceColumns]:
        """Returns the next prices, past and future ones included, in the same way. A plan's prices are ordered by
        prefix and date."""

    async def cost_page(self, after: Cursor | None, limit: int) -> Page[CostColumns]:
        """Returns the next costs, past and future ones included, in the same way."""


class Network(Protocol):
    """Connectors, routes, prices and numbers. Each change adds one to the revision, except for link states."""

    async def tables(self, *, large: bool = True) -> Tables:
        """Returns all tables, or all but the tables that may have a million rows: routes, prices, costs, and networks
        of numbers."""

    async def add_connector(self, connector: Connector) -> Connector:
        """Adds the connector and gives it an id, from 1 on and never reused. Raises Exists."""

    async def update_connector(self, connector: Connector) -> None:
        """Changes the connector. Raises Missing, and Exists if another connector has the name."""

    async def remove_connector(self, name: str) -> None:
        """Removes the connector and its routes. Its waiting messages are routed again. Raises Missing."""

    async def add_route(self, route: Route) -> Route:
        """Adds the route. Raises Missing for an unknown connector, Exists for another route with the same
        `Route.rule`."""

    async def change_routes(self, added: Sequence[Route], removed: Sequence[int]) -> int:
        """Removes routes, then adds others, all or none. Routes that exist already stay unchanged. Returns how many
        were added. Raises Missing for an unknown route or connector.
        """

    async def set_price(self, price: Price) -> Price:
        """Sets the price from its date on. Returns the stored price."""

    async def set_prices(self, prices: Sequence[Price], replaced: Sequence[str]) -> None:
        """Sets all of these prices, or none. Each plan in `replaced` then has these prices only."""

    async def remove_price(self, plan: str, network: str, prefix: str, since: int | None = None) -> None:
        """Removes the price from that date on, or all prices of the destination. Raises Missing."""

    async def save_link_states(self, reports: Sequence[ConnectorReport]) -> None:
        """Keeps the nodes' reports of their binds, for people. The revision stays the same."""

    async def link_states(self) -> list[ConnectorReport]: ...


class Nodes(Protocol):
    """The reports of nodes on themselves, for people."""

    async def report(self, report: NodeReport) -> None:
        """Keeps a node's report in place of its last. It is removed when the node's lease is ended."""

    async def reports(self) -> list[NodeReport]:
        """Returns the latest report of each node, by host."""

    async def remove(self, node: int) -> None:
        """Removes the report of a node that ends."""


class Costs(Protocol):
    """Changes what operators charge. Each change adds one to the revision of `Network`, which has them in its
    tables."""

    async def put(self, costs: Sequence[Cost], replaced: Sequence[int] = ()) -> None:
        """Sets these costs, all or none. The connectors `replaced` have no others afterwards. Raises Missing for an
        unknown connector."""

    async def remove(self, connector: int, network: str, prefix: str, since: int | None = None) -> None:
        """Removes the cost that holds from that date on, or all of the destination. Raises Missing."""


class Plans(Protocol):
    """Changes the rules of price plans. Each change adds one to the revision of `Network`, which has them in its
    tables."""

    async def put(self, plan: Plan) -> None:
        """Sets the rules of a plan."""

    async def remove(self, name: str) -> None:
        """Removes the rules of a plan, which then has the defaults. Raises Missing."""


class Measurements(Protocol):
    """Keeps measurements of operators over restarts, and for all nodes. The revision of `Network` stays the same."""

    async def add_parts(self, day: int, parts: Mapping[int, int]) -> None:
        """Adds parts that operators took on a day, by connector. `day` is its start in UTC, in ms since the epoch.
        Forgets days before the last `KEPT_DAYS`."""

    async def parts(self, since: int) -> dict[tuple[int, int], int]:
        """Returns the parts that operators took, by connector and day, from the day on that starts at `since`."""

    async def keep_paces(self, paces: Mapping[int, LearntPace]) -> None:
        """Keeps learnt paces, of all binds of a connector together."""

    async def paces(self) -> dict[int, LearntPace]:
        """Returns the learnt paces by connector."""


class SenderRules(Protocol):
    """Changes the rules for sender IDs by country. Each change adds one to the revision of `Network`, which has them in
    its tables."""

    async def add(self, rule: SenderRule) -> SenderRule:
        """Adds the rule and gives it an id. Raises Exists if there is an equal rule."""

    async def remove(self, rule: int) -> None:
        """Removes a rule by its id. Raises Missing."""


class MobileNetworks(Protocol):
    """Changes the networks of prefixes. Each change adds one to the revision of `Network`, which has them in its
    tables."""

    async def put(self, networks: Sequence[MobileNetwork], *, replace_all: bool = False) -> None:
        """Sets the networks of prefixes, all or none. With `replace_all` there are no others afterwards."""

    async def remove(self, prefix: str) -> None:
        """Removes a prefix. Raises Missing."""


class Templates(Protocol):
    """Changes templates. Each change adds one to the revision of `Network`, whose tables include them."""

    async def add(self, template: MessageTemplate) -> MessageTemplate:
        """Adds the template and gives it an id. Raises Exists if another template has the name, Missing for an unknown
        account.
        """

    async def update(self, template: MessageTemplate) -> None:
        """Changes the template. Raises Missing for an unknown template or account, and Exists if another template has
        the name.
        """

    async def put(self, templates: Sequence[MessageTemplate]) -> int:
        """Adds these templates, or replaces templates of the same names, all or none. Returns how many are new. Raises
        Missing for an unknown account.
        """

    async def remove(self, name: str) -> None:
        """Raises Missing."""
