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
        groups: dict[str, list[Route]] = {}
        for route in routes:
            if route.connector in connectors:
                groups.setdefault(route.prefix, []).append(route)
        self._groups = PrefixTable({prefix: _ordered(group) for prefix, group in groups.items()})

    def fitting(self, destination: str) -> tuple[Route, ...]:
        """Returns the routes of the longest prefix that fits: the highest priority first, then by connector, each
        connector once."""
        return self._groups.find(destination) or ()


def _ordered(routes: list[Route]) -> tuple[Route, ...]:
    ranked = sorted(routes, key=lambda route: (-route.priority, route.connector))
    first_of = {route.connector: route for route in reversed(ranked)}
    return tuple(route for route in ranked if first_of[route.connector] is route)
