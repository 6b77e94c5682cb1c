"""Candidates: the connectors that may take a message, in order, each with the reason and whether it is usable now.

`candidates` decides where a message goes, for acceptance, quotes, dispatch and `routing.explain`. It is pure: the rules
come from the tables, and they and the state of the connectors are an argument (`RoutingState`). So each caller gets the
same order for the same moment.

**To add a rule.** A rule that selects or orders by the prefix alone, such as priorities, belongs into `RoutingState`,
which is compiled once for many messages. A rule that selects by the message, such as its account or network, belongs
into `candidates`. A reason not to use a connector, such as a circuit breaker, is an obstacle of its candidates.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from heliograph.app.configuration import Connector, Route
from heliograph.domain.numbers.phone import PrefixTable


class Routed(Protocol):
    """The fields of a message that routes use."""

    account: int
    destination: str
    sender: str


@dataclass(slots=True)
class RouteRequest:
    """A destination of a request before it becomes a message."""

    account: int
    destination: str
    sender: str


class Candidate(NamedTuple):
    """A connector that a message may go to."""

    connector: int
    route: Route | None
    """The rule of this candidate; None for the fallback."""
    obstacle: str = ""
    """Why it cannot send now, such as `paused`; empty if it can."""

    @property
    def usable(self) -> bool:
        """Whether it can send now."""
        return not self.obstacle

    @property
    def why(self) -> str:
        """The reason for this position, for people: `The route for the prefix 44 with priority 9`."""
        if self.route is None:
            return "No route covers the number; in a development run it"
        return f"The route for {numbers_of(self.route.prefix)} with priority {self.route.priority}"


class RoutingState:
    """The routes and the state of their connectors at a moment, compiled into candidates. It is replaced, never
    changed.

    A route of a shorter prefix never stands in for a route of a longer prefix. A country that is routed elsewhere must
    not take the general way when that connector is down.
    """

    __slots__ = ("_fallback", "_groups")

    def __init__(
        self, routes: Iterable[Route], connectors: Mapping[int, Connector], fallback: int | None = None
    ) -> None:
        """`connectors` has all connectors by id: a route to any other id does not count. `fallback` is the connector
        for destinations without a route: the simulated operator of a development run."""
        groups: dict[str, dict[int, Candidate]] = {}
        for route in sorted(routes, key=lambda route: (-route.priority, route.connector)):
            connector = connectors.get(route.connector)
            if connector is not None:
                candidate = Candidate(connector.id, route, "" if connector.enabled else "paused")
                groups.setdefault(route.prefix, {}).setdefault(connector.id, candidate)
        self._groups = PrefixTable({prefix: tuple(group.values()) for prefix, group in groups.items()})
        self._fallback = () if fallback is None else (Candidate(fallback, None),)

    def fitting(self, destination: str) -> tuple[Candidate, ...]:
        """Returns the candidates of the longest prefix that fits: the highest priority first, then by connector, each
        connector once; without such a prefix, the fallback."""
        return self._groups.find(destination) or self._fallback


def candidates(message: Routed, state: RoutingState) -> Sequence[Candidate]:
    """Returns the candidates for a message, the preferred candidate first; empty if no rule covers it."""
    return state.fitting(message.destination)


def chosen(found: Sequence[Candidate]) -> int | None:
    """Returns the connector for the message, or None without candidates.

    That is the first candidate, usable or not: a destination routed to an operator must not go to another because the
    first is paused. Its messages wait in the queue.
    """
    return found[0].connector if found else None


def numbers_of(prefix: str) -> str:
    """Returns the numbers with this prefix in words."""
    return f"the prefix {prefix}" if prefix else "all numbers"
