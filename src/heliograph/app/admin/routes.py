"""Administration of routes by the list, and changes of single ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from heliograph.app.admin import fields
from heliograph.app.admin.manage import MAX_PRIORITY
from heliograph.app.configuration import Missing, Route
from heliograph.app.records import AuditEntry
from heliograph.app.resources.desk import AlreadyThere, Desk, Invalid, NoSuch

MOST_AT_ONCE = 10_000
"""Routes that a list may have."""


@dataclass(frozen=True, slots=True)
class RouteRow:
    """A route by the name of its connector."""

    prefix: str
    connector: str
    priority: int = 0


class ManageRoutes(Desk):
    """Methods raise Invalid, NoSuch or AlreadyThere for mistakes of the user, and the store's Unavailable."""

    async def put(self, wanted: Sequence[RouteRow]) -> int:
        """Adds those of the routes that are not there yet, all in one commit or none; returns how many."""
        if not wanted:
            raise Invalid("routes", "there is none")
        if len(wanted) > MOST_AT_ONCE:
            raise Invalid("routes", f"there are {len(wanted)}, {MOST_AT_ONCE} at most go at once")
        connectors = await self._connectors()
        routes = [_route(row, connectors) for row in wanted]

        def noted(added: int) -> AuditEntry:
            return self.entry("route.import", "routes", {"routes": str(len(routes)), "added": str(added)})

        return await self.store.noting(noted).network.change_routes(routes, ())

    async def change(self, route: int, wanted: RouteRow) -> None:
        """Puts a route in the place of another one, in one commit."""
        tables = await self.store.network.tables()
        was = next((each for each in tables.routes if each.id == route), None)
        if was is None:
            raise NoSuch("route", str(route))
        new = _route(wanted, await self._connectors())
        place = new.prefix, new.connector, new.priority
        if any((each.prefix, each.connector, each.priority) == place for each in tables.routes):
            if place == (was.prefix, was.connector, was.priority):
                return
            raise AlreadyThere("route", f"of {wanted.prefix or 'all numbers'} to {wanted.connector} with this priority")
        told = {
            "connector": wanted.connector,
            "priority": str(wanted.priority),
            "was": f"{was.prefix or '(all)'} {tables.connector_names().get(was.connector, '?')} {was.priority}",
        }
        try:
            await self.audited("route.set", wanted.prefix, told).network.change_routes([new], [route])
        except Missing:
            raise NoSuch("route", str(route)) from None

    async def _connectors(self) -> dict[str, int]:
        """Returns the ids of connectors by name."""
        return {name: number for number, name in (await self.store.network.tables()).connector_names().items()}


def _route(row: RouteRow, connectors: Mapping[str, int]) -> Route:
    """Raises Invalid and NoSuch."""
    fields.check_prefix(row.prefix)
    if not -MAX_PRIORITY <= row.priority <= MAX_PRIORITY:
        raise Invalid("priority", f"it must lie between -{MAX_PRIORITY} and {MAX_PRIORITY}")
    if row.connector not in connectors:
        raise NoSuch("connector", row.connector)
    return Route(0, row.prefix, connectors[row.connector], row.priority)
