"""Candidates: the connectors that may take a message, in order, each with the reason and whether it is usable now.

`candidates` decides where a message goes, for acceptance, quotes, dispatch and `routing.explain`. It is pure: the rules
come from the tables (`RouteRules`), and the state of the connectors is an argument (`RoutingState`). So each caller
gets the same order for the same moment.

**To add a rule.** A rule that selects by the message, such as its account or network, belongs into
`RouteRules.fitting`. A rule that orders, such as shares or costs, belongs into `candidates`. A reason not to use a
connector, such as a circuit breaker, is a field of `RoutingState` and an obstacle here.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
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


@dataclass(frozen=True, slots=True)
class RoutingState:
    """The connectors' state at a moment. It is replaced, never changed."""

    connectors: Mapping[int, Connector]
    """By id."""
    fallback: int | None = None
    """The connector for destinations without a route: the simulated operator of a development run."""


class RouteRules:
    """The routes in groups that fit equally well, each group in order, compiled when the tables change. Immutable.

    A route of a shorter prefix never stands in for a route of a longer prefix. A country that is routed elsewhere must
    not take the general way when that connector is down.
    """

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


def candidates(message: Routed, rules: RouteRules, state: RoutingState) -> list[Candidate]:
    """Returns the candidates for a message, the preferred one first; empty if no rule covers it."""
    routes = rules.fitting(message.destination)
    if not routes:
        return [] if state.fallback is None else [Candidate(state.fallback, None)]
    connectors = state.connectors
    return [
        Candidate(route.connector, route, "" if connectors[route.connector].enabled else "paused") for route in routes
    ]


def chosen(found: Sequence[Candidate]) -> int | None:
    """Returns the connector for the message, or None without candidates.

    That is the first candidate, usable or not: a destination routed to an operator must not go to another because the
    first is paused. Its messages wait in the queue.
    """
    return found[0].connector if found else None


def numbers_of(prefix: str) -> str:
    """Returns the numbers with this prefix in words."""
    return f"the prefix {prefix}" if prefix else "all numbers"
