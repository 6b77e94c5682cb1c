"""Candidates: the connectors that may take a message, in order, each with the reason and whether it is usable now.

`candidates` is the one answer to where a message goes. Acceptance, quotes, dispatch and `routing.explain` call it. It
is pure: the rules come from the tables (`routing.rules`), and all that is known of the connectors is an argument
(`RoutingState`). So each caller sees the same order for the same moment.

**To add a rule.** A rule that narrows by the message (account, sender, network) belongs into `RouteRules.fitting`; a
rule that orders (shares, costs, quality) into `candidates`; a reason not to use a connector (no bind, breaker, limits)
is a field of `RoutingState` and an obstacle here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from heliograph.app.configuration import Connector, Route
from heliograph.app.routing.rules import RouteRules


class Routed(Protocol):
    """A message, as far as routes look at it."""

    account: int
    destination: str
    sender: str


@dataclass(slots=True)
class RouteRequest:
    """One destination of a request that is no message yet."""

    account: int
    destination: str
    sender: str


@dataclass(frozen=True, slots=True)
class RoutingState:
    """All that is known of the connectors at one moment. It is replaced, never changed."""

    connectors: Mapping[int, Connector]
    """By id."""
    fallback: int | None = None
    """The connector that takes what no route covers: the simulated operator of a development run."""


class Candidate(NamedTuple):
    """A connector that a message may go to."""

    connector: int
    route: Route | None
    """The rule that names it; None for the fallback."""
    obstacle: str = ""
    """Why it cannot send now, such as `paused`; empty where it can."""

    @property
    def usable(self) -> bool:
        """Whether it can send now."""
        return not self.obstacle

    @property
    def why(self) -> str:
        """The reason that put it there, for people: `The route for the prefix 44 with priority 9`."""
        if self.route is None:
            return "No route covers the number; in a development run it"
        return f"The route for {numbers_of(self.route.prefix)} with priority {self.route.priority}"


def candidates(message: Routed, rules: RouteRules, state: RoutingState) -> list[Candidate]:
    """Returns the candidates for a message, the preferred one first; none where nothing covers it."""
    routes = rules.fitting(message.destination)
    if not routes:
        return [] if state.fallback is None else [Candidate(state.fallback, None)]
    connectors = state.connectors
    return [
        Candidate(route.connector, route, "" if connectors[route.connector].enabled else "paused") for route in routes
    ]


def chosen(found: Sequence[Candidate]) -> int | None:
    """Returns the connector that takes the message, None where there is no candidate.

    That is the first candidate, usable or not: a destination that is routed to one operator must not go to another
    because the first one is paused. Its messages wait in the queue.
    """
    return found[0].connector if found else None


def numbers_of(prefix: str) -> str:
    """Returns the numbers with this prefix in words."""
    return f"the prefix {prefix}" if prefix else "all numbers"
