"""Which connector takes a message, by destination."""

from collections.abc import Iterable
from typing import NamedTuple

from heliograph.domain.prefix import PrefixTable


class Route(NamedTuple):
    prefix: str
    """Digits that the destination begins with; empty fits every destination."""
    connector: int
    priority: int
    """Among routes of one prefix the higher one is preferred."""


class RouteTable:
    """Routes by prefix: the longest prefix wins, then the higher priority, then the lower connector number.

    Routes of a shorter prefix never stand in for those of a longer one: who routes a country elsewhere
    does not want its messages to take the general way when that place is down.
    """

    __slots__ = ("_table",)

    def __init__(self, routes: Iterable[Route]) -> None:
        preferred: dict[str, int] = {}
        for route in sorted(routes, key=lambda route: (-route.priority, route.connector)):
            preferred.setdefault(route.prefix, route.connector)
        self._table = PrefixTable(preferred)

    def find(self, destination: str) -> int | None:
        """The preferred connector; None when no route covers the destination."""
        return self._table.find(destination)
