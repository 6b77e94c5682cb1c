"""Prices of a segment, by destination and price plan. A destination is a network, or a prefix of numbers."""

from collections.abc import Iterable, Sequence
from itertools import compress, groupby
from operator import itemgetter
from typing import Protocol, TypeVar

from heliograph.domain.money.amounts import MICRO
from heliograph.domain.numbers.phone import PrefixTable

DEFAULT_PLAN = "default"

BUILT_IN_PRICE = MICRO
"""Micro-credits a segment if the plan `default` has no price: one credit."""


class PlanPrices:
    """The prices of a plan: by the network of the destination, else by prefix, the longest first."""

    __slots__ = ("inbound", "networks", "plan", "table")

    def __init__(self, plan: str) -> None:
        self.plan = plan
        self.networks: dict[str, int] = {}
        """Micro-credits for a segment, by MCCMNC."""
        self.table: PrefixTable[int] = PrefixTable()
        """Micro-credits for a segment, by prefix."""
        self.inbound: dict[str, int] = {}
        """Micro-credits for an inbound message by the same prefixes; 0 for a prefix that is absent."""

    def __len__(self) -> int:
        return len(self.networks) + len(self.table)


class Tariff:
    """The prices of an account: its own plan first, then the plan `default`."""

    __slots__ = ("_default", "own")

    def __init__(self, own: PlanPrices | None, default: PlanPrices) -> None:
        self.own = own
        """The account's plan, if it differs from `default` and has a price."""
        self._default = default

    @property
    def names_networks(self) -> bool:
        """Whether the network of a number may decide about its price."""
        return bool(self._default.networks) or (self.own is not None and bool(self.own.networks))

    def price(self, destination: str, network: str) -> int | None:
        """Returns micro-credits a segment: by the account's own plan, otherwise by the plan `default`, otherwise the
        built-in price. Returns None if the account has its own plan and neither plan covers the destination.

        `network`: MCCMNC of the destination, for example `26201`; empty if it is not known.
        """
        # each message pays for this: two plans are looked through without a loop or a further call
        own, default, price = self.own, self._default, None
        if own is not None:
            if own.networks:
                price = own.networks.get(network)
            if price is None:
                price = own.table.find(destination)
            if price is not None:
                return price
        if default.networks:
            price = default.networks.get(network)
        if price is None:
            price = default.table.find(destination)
        return BUILT_IN_PRICE if price is None and own is None else price

    def inbound(self, sender: str) -> int:
        """Returns micro-credits for an inbound message: by the account's own plan, otherwise by the plan `default`,
        otherwise 0. Only prefixes count: the network of a phone is not looked up."""
        for prices in (self.own, self._default):
            prefix = None if prices is None else prices.table.longest(sender)
            if prices is not None and prefix is not None:
                return prices.inbound.get(prefix, 0)
        return 0

    def named_by(self, destination: str, network: str) -> tuple[str, str, str] | None:
        """Returns the plan, the network and the prefix of the price, or None. The network or the prefix is empty."""
        for prices in (self.own, self._default):
            if prices is None:
                continue
            if network in prices.networks:
                return prices.plan, network, ""
            prefix = prices.table.longest(destination)
            if prefix is not None:
                return prices.plan, "", prefix
        return None


PriceRow = tuple[str, str, str, int, int, int]
"""A price: plan, prefix, network, since, micro-credits a segment, and for an inbound message. A later row of the same
plan and destination has the later date."""

PriceColumns = tuple[str, Sequence[str], Sequence[str], Sequence[int], Sequence[int], Sequence[int]]
"""Prices of a plan: the plan, and the other columns of `PriceRow`."""


class PriceTable:
    """The prices of all plans at a moment."""

    __slots__ = ("_default", "_others", "_tariffs")

    def __init__(self, prices: Iterable[PriceRow] = (), at: int = 0) -> None:
        self._default = PlanPrices(DEFAULT_PLAN)
        self._tariffs: dict[str, Tariff] = {}
        self._others = Tariff(None, self._default)
        self.update(prices, at)

    def update(self, prices: Iterable[PriceRow], at: int = 0) -> None:
        """Sets the prices that hold at a moment. Raises ValueError for a negative price."""
        for plan, rows in groupby(prices, itemgetter(0)):
            _, prefixes, networks, since, charged, inbound = zip(*rows, strict=True)
            self.put((plan, prefixes, networks, since, charged, inbound), at)

    def put(self, prices: PriceColumns, at: int) -> None:
        """Sets prices of a plan, as `update` does. Its loops are in C: a million prices take about half a second."""
        plan, prefixes, networks, since, charged, inbound = prices
        if max(since) > at:
            held = [start <= at for start in since]
            prefixes, networks = list(compress(prefixes, held)), list(compress(networks, held))
            charged, inbound = list(compress(charged, held)), list(compress(inbound, held))
            if not prefixes:
                return
        if min(charged) < 0:
            raise ValueError(f"a price of the plan {plan} is below zero")
        of_plan = self._prices(plan)
        if any(networks):
            of_plan.networks.update(
                (network, price) for network, price in zip(networks, charged, strict=True) if network
            )
            held = [not network for network in networks]
            prefixes, charged = list(compress(prefixes, held)), list(compress(charged, held))
            inbound = list(compress(inbound, held))
        of_plan.table.put_all(prefixes, charged)
        if of_plan.inbound or any(inbound):
            of_plan.inbound.update(zip(prefixes, inbound, strict=True))

    def remove(self, plan: str, prefix: str, network: str) -> None:
        """Removes the price of a destination in a plan, if there is any. A plan without prices is not known."""
        if plan == DEFAULT_PLAN or plan in self._tariffs:
            prices = self._prices(plan)
            if network:
                prices.networks.pop(network, None)
            else:
                prices.table.remove(prefix)
                prices.inbound.pop(prefix, None)
            if not len(prices):
                self._tariffs.pop(plan, None)

    def _prices(self, plan: str) -> PlanPrices:
        if plan == DEFAULT_PLAN:
            return self._default
        tariff = self._tariffs.get(plan)
        if tariff is None:
            tariff = self._tariffs[plan] = Tariff(PlanPrices(plan), self._default)
        assert tariff.own is not None
        return tariff.own

    def knows(self, plan: str) -> bool:
        """Returns whether the plan has a price, or is the plan `default`."""
        return plan == DEFAULT_PLAN or plan in self._tariffs

    def tariff(self, plan: str) -> Tariff:
        """Returns the prices of an account with this plan."""
        return self._tariffs.get(plan, self._others)


class DatedPrice(Protocol):
    """A price of a prefix or network in a plan. It holds from `since` (ms; 0 is the beginning) until the next price of
    the same destination and plan.
    """

    @property
    def plan(self) -> str: ...

    @property
    def prefix(self) -> str: ...

    @property
    def network(self) -> str: ...

    @property
    def since(self) -> int: ...


class ChargedPrice(DatedPrice, Protocol):
    """A price with its amounts in micro-credits."""

    @property
    def price(self) -> int: ...

    @property
    def inbound(self) -> int | None: ...


Dated = TypeVar("Dated", bound=DatedPrice)


def in_force(prices: Iterable[Dated], at: int) -> list[Dated]:
    """Returns the prices that hold at a moment, at most one for a destination in a plan, ordered by plan, prefix and
    network."""
    holding: dict[tuple[str, str, str], Dated] = {}
    for price in prices:
        if price.since <= at:
            key = price.plan, price.prefix, price.network
            known = holding.get(key)
            if known is None or known.since < price.since:
                holding[key] = price
    return [holding[key] for key in sorted(holding)]


def price_table(prices: Iterable[ChargedPrice], at: int) -> PriceTable:
    """Returns the prices that hold at a moment."""
    holding = in_force(prices, at)
    return PriceTable((each.plan, each.prefix, each.network, 0, each.price, each.inbound or 0) for each in holding)
