"""Rules: which routes fit a message, compiled when the tables change.

`RouteRules.candidates` is the one answer to where a message goes: acceptance, quotes, dispatch and `explain` ask it.
Routes of a shorter prefix never stand in for those of a longer one: whoever routes a country elsewhere does not want
its messages to take the general way when that place is down.
"""

from collections.abc import Iterable

from heliograph.app.configuration import Connector, Route
from heliograph.app.routing.candidates import Candidate, ordered
from heliograph.domain.numbers.prefix import PrefixTable


class RouteRules:
    """The routes to connectors that are there, in groups that fit equally well. Immutable."""

    __slots__ = ("_groups", "_otherwise")

    def __init__(
        self, routes: Iterable[Route] = (), connectors: Iterable[Connector] = (), fallback: int | None = None
    ) -> None:
        """`fallback` is the connector that takes what no route covers: the simulated operator of a development run."""
        by_id = {connector.id: connector for connector in connectors}
        groups: dict[str, list[Route]] = {}
        for route in routes:
            if route.connector in by_id:
                groups.setdefault(route.prefix, []).append(route)
        self._groups = PrefixTable({prefix: ordered(group, by_id) for prefix, group in groups.items()})
        self._otherwise = () if fallback is None else (Candidate(fallback, None),)

    def candidates(self, destination: str) -> tuple[Candidate, ...]:
        """Returns the candidates of the longest prefix that fits, the preferred one first; none where none fits."""
        found = self._groups.find(destination)
        return self._otherwise if found is None else found
