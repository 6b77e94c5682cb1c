"""Rules: which routes fit a message, compiled when the tables change.

A route of a shorter prefix never stands in for one of a longer prefix. A country that is routed elsewhere must not take
the general way when that connector is down.
"""

from collections.abc import Container, Iterable

from heliograph.app.configuration import Route
from heliograph.domain.numbers.prefix import PrefixTable


class RouteRules:
    """The routes in groups that fit equally well, each group in order. Immutable."""

    __slots__ = ("_groups",)

    def __init__(self, routes: Iterable[Route] = (), connectors: Container[int] = ()) -> None:
        """`connectors` are the ids of all connectors: a route to any other id does not count."""
        groups: dict[str, dict[int, Route]] = {}
        for route in sorted(routes, key=lambda route: (-route.priority, route.connector)):
            if route.connector in connectors:
                groups.setdefault(route.prefix, {}).setdefault(route.connector, route)
        self._groups = PrefixTable({prefix: tuple(group.values()) for prefix, group in groups.items()})

    def fitting(self, destination: str) -> tuple[Route, ...]:
        """Returns the routes of the longest prefix that fits: the highest priority first, then by connector, each
        connector once."""
        return self._groups.find(destination) or ()
