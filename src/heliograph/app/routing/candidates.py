"""Candidates: the connectors that may take a message, in the order of preference."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from heliograph.app.configuration import Connector, Route


class Candidate(NamedTuple):
    """A connector that a message may go to."""

    connector: int
    route: Route | None
    """The rule that names it; None for a development run's connector, which takes what no rule covers."""
    paused: bool = False
    """Disabled: messages wait in its queue, since whoever routes a destination to one operator does not want it sent
    by another."""


def ordered(routes: Iterable[Route], connectors: Mapping[int, Connector]) -> tuple[Candidate, ...]:
    """Returns the candidates of rules that fit equally well: by priority, the higher first, then by number."""
    ranked = sorted(routes, key=lambda route: (-route.priority, route.connector))
    first_of = {route.connector: route for route in reversed(ranked)}
    return tuple(
        Candidate(route.connector, route, not connectors[route.connector].enabled)
        for route in ranked
        if first_of[route.connector] is route
    )


def chosen(candidates: tuple[Candidate, ...]) -> int | None:
    """Returns the connector that takes the message, None where there is no candidate."""
    return candidates[0].connector if candidates else None
