"""The large tables of routing in memory, as the store has them: routes, prices, costs and networks of numbers.

    changes --> apply   a few rows: they are replaced in the tables at once
            |
            +-> load    a whole table: read in pages into a new table, which then replaces the old table

A table of a million rows takes seconds to read. So `load` compiles a page within milliseconds, and the event loop has
its turn between two pages. The old table decides until the new table is whole; changes that come meanwhile are applied
to both.
"""

from typing import Any, Final

from heliograph.app.configuration import Changes
from heliograph.app.ports import TableChanges
from heliograph.app.ports.network import Cursor, Page
from heliograph.app.routing.candidates import RouteTable
from heliograph.domain.money.costs import CostTable
from heliograph.domain.money.pricing import PriceTable
from heliograph.domain.numbers.phone import PrefixTable

PAGE: Final = 4_000
"""Rows of a page: they are compiled in about 3 ms, in which the event loop does nothing else."""

PAGES_A_ROUND: Final = 100
"""Pages that a round of `load` reads before other chores have their turn. The next round continues."""

ALL_PAGES: Final = 1 << 30
"""Pages for a gateway that starts: it needs all tables before it serves."""


class TableSet:
    """The tables at a moment."""

    __slots__ = ("costs", "networks", "prices", "routes")

    def __init__(self) -> None:
        self.routes = RouteTable()
        self.prices = PriceTable()
        self.costs = CostTable()
        self.networks: PrefixTable[str] = PrefixTable()
        """MCCMNC by prefix."""

    def apply(self, changes: Changes, now: int) -> None:
        """Replaces rows that changed."""
        for network, prefix in changes.route_keys:
            self.routes.remove(network, prefix)
        self.routes.update(changes.routes)
        for plan, prefix, network in changes.price_keys:
            self.prices.remove(plan, prefix, network)
        self.prices.update(changes.prices, now)
        for connector, network, prefix in changes.cost_keys:
            self.costs.remove(connector, network, prefix)
        self.costs.update(changes.costs, now)

    def add(self, kind: str, columns: Any, now: int) -> None:
        """Adds rows of a page, in columns."""
        match kind:
            case "route":
                self.routes.put(columns)
            case "price":
                self.prices.put(columns, now)
            case "cost":
                self.costs.put(columns, now)
            case _:
                prefixes, networks = columns
                self.networks.put_all(prefixes, networks)

    def move(self, kind: str, to: "TableSet") -> None:
        """Moves a table to another set; this set has an empty table then."""
        fresh = TableSet()
        match kind:
            case "route":
                to.routes, self.routes = self.routes, fresh.routes
            case "price":
                to.prices, self.prices = self.prices, fresh.prices
            case "cost":
                to.costs, self.costs = self.costs, fresh.costs
            case _:
                to.networks, self.networks = self.networks, fresh.networks


class RoutingTables(TableSet):
    """The present tables, and their reading."""

    __slots__ = (
        "_after",
        "_is_loading",
        "_next",
        "_page",
        "_source",
        "_start",
        "_waiting",
        "has_costs",
        "replaced",
    )

    def __init__(self, source: TableChanges, page: int = PAGE) -> None:
        """`page`: rows that are compiled in a turn of the event loop."""
        super().__init__()
        self._source = source
        self._page = page
        self.has_costs = False
        """Whether the costs were read: only if a plan has rules that need them."""
        self.replaced = 0
        """Tables that `load` has replaced so far."""
        self._waiting: list[str] = []
        """Tables to be read, in this order."""
        self._next = TableSet()
        """The table that is being read, and changes of tables that wait behind it."""
        self._start = 0
        """Grows whenever the reading of a table starts again."""
        self._after: Cursor | None = None
        """The cursor of its last page that was read."""
        self._is_loading = False

    @property
    def is_whole(self) -> bool:
        """Whether no table waits to be read."""
        return not self._waiting

    def heed(self, changes: Changes, now: int, *, wants_costs: bool) -> None:
        """Applies changes. Tables that changed as a whole wait for `load`."""
        self.apply(changes, now)
        if self._waiting:
            self._next.apply(changes, now)
        whole = set(changes.whole)
        if not wants_costs:
            whole.discard("cost")
            self._forget("cost")
            TableSet().move("cost", self)
            self.has_costs = False
        elif not self.has_costs and "cost" not in self._waiting:
            whole.add("cost")
        for kind in sorted(whole):
            self._forget(kind)
            self._waiting.append(kind)

    async def load(self, now: int, pages: int = PAGES_A_ROUND) -> None:
        """Reads up to so many pages of the tables that wait. Raises Unavailable; the next call continues. Does nothing
        during another call."""
        if self._is_loading:
            return
        self._is_loading = True
        try:
            while self._waiting and pages:
                pages -= 1
                await self._read_page(self._waiting[0], now)
        finally:
            self._is_loading = False
        if not self._waiting:
            self._next = TableSet()

    async def _read_page(self, kind: str, now: int) -> None:
        source, after, start = self._source, self._after, self._start
        page: Page[Any]
        match kind:
            case "route":
                page = await source.route_page(after, self._page)
            case "price":
                page = await source.price_page(after, self._page)
            case "cost":
                page = await source.cost_page(after, self._page)
            case _:
                page = await source.network_page(after, self._page)
        if start != self._start:
            return  # the table changed as a whole meanwhile
        found, self._after = page
        for columns in found:
            self._next.add(kind, columns, now)
        if self._after is not None:
            return
        self._next.move(kind, self)
        self.replaced += 1
        self.has_costs = self.has_costs or kind == "cost"
        self._waiting.remove(kind)

    def _forget(self, kind: str) -> None:
        """Ends the reading of a table, which may not have begun."""
        self._next.move(kind, TableSet())
        if self._waiting and self._waiting[0] == kind:
            self._start += 1
            self._after = None
        self._waiting = [each for each in self._waiting if each != kind]
