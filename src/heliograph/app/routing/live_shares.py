"""Live shares: how the routes of a group divided the messages of the last hours.

Messages are counted by connector and country, so a group of a longer prefix than the country's shows how its
connectors divided the messages to that country.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final

from heliograph.app.configuration import Route
from heliograph.app.ports.series import SeriesQuery, recent_hours
from heliograph.domain.numbers.country import country_of
from heliograph.domain.series import Cell, CellKey

HOURS: Final = 2
"""Hours that count, the present hour included: from one to two hours of messages."""


def shares_query(now: int) -> SeriesQuery:
    """Returns the query of the counts that `live_shares` takes."""
    return recent_hours(now, HOURS)


def live_shares(routes: Iterable[Route], totals: Iterable[tuple[CellKey, Cell]]) -> dict[int, float]:
    """Returns the shares of routes by their ids, from 0 to 1. A group without messages has none."""
    sent: Counter[tuple[int, str | None]] = Counter()
    """Messages by connector and country; None has the sum over all."""
    for key, cell in totals:
        sent[key.connector, key.country] += cell.submitted
        sent[key.connector, None] += cell.submitted
    groups: defaultdict[tuple[object, ...], list[Route]] = defaultdict(list)
    for route in routes:
        groups[route.group].append(route)
    shares = {}
    for group in groups.values():
        country = country_of(group[0].prefix) or None
        total = sum(sent[connector, country] for connector in {route.connector for route in group})
        if total:
            shares.update({route.id: sent[route.connector, country] / total for route in group})
    return shares
