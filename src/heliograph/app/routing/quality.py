"""Quality: the share of delivered messages by connector and network or country in the last hours, for the routing
`best`.

A customer must not steer the messages of another, by false feedback or by a list of dead numbers:

1. An account with LEAST_ENDED messages of its own over a connector is judged by these alone.
2. Other accounts take the median of the accounts that are measured. All unmeasured accounts together count as one.
3. If that is only a single figure, they take all messages together. There the feedback of an account counts up to
   MOST_SWAY.
"""

from collections.abc import Iterable
from typing import Final

from heliograph.app.ports.series import SeriesQuery, recent_hours
from heliograph.domain.numbers.country import country_of
from heliograph.domain.series import WIDTH_MS, Cell, CellKey, Grain

HOURS: Final = 6
"""Hours that count, the present hour included. Long enough for LEAST_ENDED, short enough to see an operator fail."""

LEAST_ENDED: Final = 200
"""Final states from which a share counts as measured: it is then exact to some 5 %."""

MOST_SWAY: Final = 0.05
"""The most by which the feedback of an account changes a share that others use too. A connector that delivers 90 %
stays at the default `min_quality` of 0.85."""

Shares = dict[tuple[int, str], float]
"""Delivered messages of all ended messages, from 0 to 1, by connector and country or network, for example `(3, "DE")`
and `(3, "26201")`."""

OwnShares = dict[tuple[int, int, str], float]
"""The same of a single account, whose id comes first, for example `(1, 3, "DE")`."""


class Quality:
    """The present figures. They change in place, about once a minute."""

    __slots__ = ("hour", "own", "shares")

    def __init__(self, shares: Shares | None = None, hour: int = -1, own: OwnShares | None = None) -> None:
        self.shares: Shares = shares or {}
        """The measured shares, for accounts without shares of their own."""
        self.own: OwnShares = own or {}
        self.hour = hour
        """The hour since the epoch, which decides the numbers that explore; -1: no number explores."""

    def share(self, connector: int, number: str, network: str, account: int = 0) -> float | None:
        """Returns the account's own share in the number's network, otherwise in its country; then the share for all
        accounts in the same order. None if none is measured."""
        places = (network, country_of(number)) if network else (country_of(number),)
        for place in places:
            found = self.own.get((account, connector, place))
            if found is not None:
                return found
        for place in places:
            found = self.shares.get((connector, place))
            if found is not None:
                return found
        return None


def quality_query(now: int) -> SeriesQuery:
    """Returns the query of the counts that `measure` takes."""
    return recent_hours(now, HOURS)


def measure(totals: Iterable[tuple[CellKey, Cell]], now: int) -> Quality:
    """Returns the figures of these counts of all accounts. Feedback counts above the receipt. Messages that another
    operator had to try count as not delivered."""
    counts: dict[tuple[int, str], dict[int, Cell]] = {}
    for key, cell in totals:
        for place in {key.country, key.network} - {""}:
            accounts = counts.setdefault((key.connector, place), {})
            accounts.setdefault(key.account, Cell()).add(cell)
    shares: Shares = {}
    own: OwnShares = {}
    for (connector, place), accounts in counts.items():
        figures: list[float] = []
        rest: list[Cell] = []
        for account, cell in accounts.items():
            if _ended(cell) < LEAST_ENDED:
                rest.append(cell)
                continue
            own[account, connector, place] = _share([cell], 1.0)
            figures.append(own[account, connector, place])
        if _measured(rest):
            figures.append(_share(rest, MOST_SWAY))
        if len(figures) > 1:
            # the upper of two in the middle: in doubt, traffic stays where it is
            shares[connector, place] = sorted(figures)[len(figures) // 2]
        elif _measured(accounts.values()):
            shares[connector, place] = _share(list(accounts.values()), MOST_SWAY)
    return Quality(shares, now // WIDTH_MS[Grain.HOUR], own)


def _ended(cell: Cell) -> int:
    return cell.ended + cell.resent


def _measured(cells: Iterable[Cell]) -> bool:
    return sum(map(_ended, cells)) >= LEAST_ENDED


def _share(cells: list[Cell], sway: float) -> float:
    """Returns the delivered messages of the ended ones, of which feedback of each account corrects up to `sway`."""
    ended = sum(map(_ended, cells))
    most = ended * sway
    delivered = 0.0
    for cell in cells:
        delivered += cell.delivered + min(max(cell.confirmed - cell.denied, -most), most)
    return min(max(delivered, 0.0), ended) / ended
