"""Prices of a segment, by destination and price plan."""

from collections.abc import Iterable
from typing import Protocol, TypeVar

from heliograph.domain.money.amounts import MICRO
from heliograph.domain.numbers.phone import PrefixTable

DEFAULT_PLAN = "default"

BUILT_IN_PRICE = MICRO
"""Micro-credits a segment if the plan `default` has no price: one credit."""


class PlanPrices:
    """The prices of a plan: micro-credits a segment by destination prefix, the longest prefix first."""

    __slots__ = ("_table", "plan")

    def __init__(self, entries: Iterable[tuple[str, int]], plan: str = DEFAULT_PLAN) -> None:
        """Indexes the prices by prefix; a later entry for a prefix replaces an earlier entry. Raises ValueError for a
        negative price.
        """
        self.plan = plan
        prices = dict(entries)
        for prefix, micro in prices.items():
            if micro < 0:
                raise ValueError(f"the price of prefix {prefix!r} is below zero")
        self._table = PrefixTable(prices)

    def price(self, destination: str) -> int | None:
        """Returns micro-credits for a segment to the destination; None if the plan does not cover it."""
        return self._table.find(destination)

    def prefix_of(self, destination: str) -> str | None:
        """Returns the prefix that names the price."""
        return self._table.longest(destination)


class Tariff:
    """The prices of an account: its own plan first, then the plan `default`."""

    __slots__ = ("_built_in", "_default", "_own")

    def __init__(self, own: PlanPrices | None, default: PlanPrices, built_in: int = BUILT_IN_PRICE) -> None:
        """`own`: the account's plan, if it differs from `default` and has a price. `built_in`: the price if the plan
        `default` has none, for accounts without an own plan.
        """
        self._own = own
        self._default = default
        self._built_in = built_in

    def price(self, destination: str) -> int | None:
        """Returns micro-credits a segment: by the account's own plan, otherwise by the plan `default`, otherwise the
        built-in price. Returns None if the account has its own plan and neither plan covers the destination.
        """
        own = self._own
        if own is not None:
            price = own.price(destination)
            return self._default.price(destination) if price is None else price
        price = self._default.price(destination)
        return self._built_in if price is None else price

    def named_by(self, destination: str) -> tuple[str, str] | None:
        """Returns the plan and the prefix of the price, or None."""
        for table in (self._own, self._default):
            prefix = None if table is None else table.prefix_of(destination)
            if table is not None and prefix is not None:
                return table.plan, prefix
        return None


class PriceTable:
    """The prices of all plans."""

    __slots__ = ("_others", "_tariffs")

    def __init__(self, prices: Iterable[tuple[str, str, int]] = (), built_in: int = BUILT_IN_PRICE) -> None:
        """Each price is a plan, a prefix and micro-credits. `built_in`: the price of destinations outside the plan
        `default`.
        """
        entries: dict[str, list[tuple[str, int]]] = {}
        for plan, prefix, micro in prices:
            entries.setdefault(plan, []).append((prefix, micro))
        default = PlanPrices(entries.pop(DEFAULT_PLAN, ()))
        self._tariffs = {plan: Tariff(PlanPrices(named, plan), default, built_in) for plan, named in entries.items()}
        self._others = Tariff(None, default, built_in)

    def knows(self, plan: str) -> bool:
        """Returns whether the plan has a price, or is the plan `default`."""
        return plan == DEFAULT_PLAN or plan in self._tariffs

    def tariff(self, plan: str) -> Tariff:
        """Returns the prices of an account with this plan."""
        return self._tariffs.get(plan, self._others)


class Starting(Protocol):
    """A price or cost that holds from `since` (ms) on."""

    @property
    def since(self) -> int: ...


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
            key = price.plan, price.prefix
            known = holding.get(key)
            if known is None or known.since < price.since:
                holding[key] = price
    return [holding[key] for key in sorted(holding)]


def next_change(amounts: Iterable[Starting], after: int) -> int | None:
    """Returns when the next of the prices or costs starts after a moment, or None."""
    return min((each.since for each in amounts if each.since > after), default=None)
