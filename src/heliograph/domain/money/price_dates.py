"""Prices with a date: which of them hold at a moment."""

from collections.abc import Iterable
from typing import Protocol, TypeVar


class DatedPrice(Protocol):
    """A price of a prefix in a plan. It holds from `since` (ms; 0 is the beginning) until the next price of the same
    prefix and plan.
    """

    @property
    def plan(self) -> str: ...

    @property
    def prefix(self) -> str: ...

    @property
    def since(self) -> int: ...


Dated = TypeVar("Dated", bound=DatedPrice)


def in_force(prices: Iterable[Dated], at: int) -> list[Dated]:
    """Returns the prices that hold at a moment, at most one for a prefix in a plan, ordered by plan and prefix."""
    holding: dict[tuple[str, str], Dated] = {}
    for price in prices:
        if price.since <= at:
            place = price.plan, price.prefix
            known = holding.get(place)
            if known is None or known.since < price.since:
                holding[place] = price
    return [holding[place] for place in sorted(holding)]


def next_change(prices: Iterable[DatedPrice], after: int) -> int | None:
    """Returns when the next of the prices starts after a moment, or None."""
    return min((price.since for price in prices if price.since > after), default=None)
