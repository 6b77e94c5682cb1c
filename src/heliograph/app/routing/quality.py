"""Quality: the share of delivered messages by connector and network or country in the last hours, for the routing
`best`."""

from collections.abc import Iterable
from typing import Final

from heliograph.app.ports.series import SeriesQuery, recent_hours
from heliograph.domain.numbers.country import country_of
from heliograph.domain.series import WIDTH_MS, Cell, CellKey, Grain

HOURS: Final = 6
"""Hours that count, the present hour included. Long enough for LEAST_ENDED, short enough to see an operator fail."""

LEAST_ENDED: Final = 200
"""Final states from which a share counts as measured: it is then exact to some 5 %."""

Shares = dict[tuple[int, str], float]
"""Delivered messages of all ended messages, from 0 to 1, by connector and country or network, for example `(3, "DE")`
and `(3, "26201")`."""


class Quality:
    """The present figures. They change in place, about once a minute."""

    __slots__ = ("hour", "shares")

    def __init__(self, shares: Shares | None = None, hour: int = -1) -> None:
        self.shares: Shares = shares or {}
        """The measured shares."""
        self.hour = hour
        """The hour since the epoch, which decides the numbers that explore; -1: no number explores."""

    def share(self, connector: int, number: str, network: str) -> float | None:
        """Returns the share in the number's network, otherwise in its country; None if neither is measured."""
        found = self.shares.get((connector, network)) if network else None
        return self.shares.get((connector, country_of(number))) if found is None else found


def quality_query(now: int) -> SeriesQuery:
    """Returns the query of the counts that `measure` takes."""
    return recent_hours(now, HOURS)


def measure(totals: Iterable[tuple[CellKey, Cell]], now: int) -> Quality:
    """Returns the figures of these counts of all accounts. The customer's word counts where there is one, else the
    receipt. Messages that another operator had to try count as not delivered."""
    cells: dict[tuple[int, str], Cell] = {}
    for key, cell in totals:
        for place in {key.country, key.network} - {""}:
            cells.setdefault((key.connector, place), Cell()).add(cell)
    shares = {}
    for of, cell in cells.items():
        ended = cell.ended + cell.resent
        if ended >= LEAST_ENDED:
            shares[of] = min(max(cell.delivered + cell.confirmed - cell.denied, 0), ended) / ended
    return Quality(shares, now // WIDTH_MS[Grain.HOUR])
