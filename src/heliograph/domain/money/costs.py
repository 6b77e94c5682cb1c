"""Costs of a segment: micro-credits that an operator charges, by connector and destination."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import compress, groupby
from operator import itemgetter
from typing import Protocol, TypeVar

from heliograph.domain.numbers.phone import PrefixTable


class DatedCost(Protocol):
    """A cost of a network, or of a prefix, over a connector. It holds from `since` (ms; 0 is the beginning) until its
    end `until` (ms; 0: none), or until the next cost of the same connector and destination. An earlier cost never comes
    back: behind the end the destination has no cost of its own.
    """

    @property
    def connector(self) -> int: ...

    @property
    def network(self) -> str: ...

    @property
    def prefix(self) -> str: ...

    @property
    def since(self) -> int: ...

    @property
    def until(self) -> int: ...

    @property
    def submitted(self) -> int: ...

    @property
    def delivered(self) -> int: ...


Dated = TypeVar("Dated", bound=DatedCost)


def in_force(costs: Iterable[Dated], at: int) -> list[Dated]:
    """Returns the costs that hold at a moment, a single cost for each connector and destination, in their order."""
    holding: dict[tuple[int, str, str], Dated] = {}
    for cost in costs:
        key = cost.connector, cost.network, cost.prefix
        known = holding.get(key)
        if cost.since <= at and (known is None or known.since < cost.since):
            holding[key] = cost
    return [cost for _, cost in sorted(holding.items()) if not 0 < cost.until <= at]


CostRow = tuple[int, str, str, int, int, int]
"""A cost: connector, network, prefix, since, micro-credits for a delivered segment, and until. A later row of the same
destination has the later date."""

CostColumns = tuple[int, Sequence[str], Sequence[str], Sequence[int], Sequence[int], Sequence[int]]
"""Costs of a connector: the connector, and the other columns of `CostRow`."""


class CostTable:
    """The costs that hold at a moment."""

    __slots__ = ("_networks", "_prefixes")

    def __init__(self, costs: Iterable[DatedCost] = (), at: int = 0) -> None:
        self._networks: dict[tuple[int, str], int] = {}
        self._prefixes: dict[int, PrefixTable[int]] = {}
        self.update(
            (cost.connector, cost.network, cost.prefix, 0, cost.submitted + cost.delivered, 0)
            for cost in in_force(costs, at)
        )

    def update(self, costs: Iterable[CostRow], at: int = 0) -> None:
        """Sets the costs that hold at a moment."""
        for connector, rows in groupby(costs, itemgetter(0)):
            _, networks, prefixes, since, amounts, until = zip(*rows, strict=True)
            self.put((connector, networks, prefixes, since, amounts, until), at)

    def put(self, costs: CostColumns, at: int) -> None:
        """Sets costs of a connector, as `update` does. Its loops are in C: a million costs take about half a second."""
        connector, networks, prefixes, since, amounts, until = costs
        if max(since) > at:
            held = [start <= at for start in since]
            prefixes, networks = list(compress(prefixes, held)), list(compress(networks, held))
            amounts, until = list(compress(amounts, held)), list(compress(until, held))
        if any(until) and any(ended := [0 < end <= at for end in until]):
            last = dict(zip(zip(networks, prefixes, strict=True), zip(amounts, ended, strict=True), strict=True))
            for destination in [each for each, (_, has_ended) in last.items() if has_ended]:
                self.remove(connector, *destination)
                del last[destination]
            networks, prefixes = [network for network, _ in last], [prefix for _, prefix in last]
            amounts = [amount for amount, _ in last.values()]
        if any(networks):
            named = zip(networks, amounts, strict=True)
            self._networks.update(((connector, network), amount) for network, amount in named if network)
            held = [not network for network in networks]
            prefixes, amounts = list(compress(prefixes, held)), list(compress(amounts, held))
        if prefixes:
            self._prefixes.setdefault(connector, PrefixTable()).put_all(prefixes, amounts)

    def remove(self, connector: int, network: str, prefix: str) -> None:
        """Removes the cost of a destination, if there is any."""
        if network:
            self._networks.pop((connector, network), None)
        elif connector in self._prefixes:
            self._prefixes[connector].remove(prefix)

    def cost(self, connector: int, number: str, network: str) -> int | None:
        """Returns micro-credits for a delivered segment to a number, by its network or else its longest prefix; None
        if no cost covers it. `network`: MCCMNC, for example `26201`; empty if it is not known."""
        found = self._networks.get((connector, network)) if network else None
        if found is not None:
            return found
        table = self._prefixes.get(connector)
        return None if table is None else table.find(number)


class _Course:
    """The costs of a connector and a destination over time."""

    __slots__ = ("amounts", "ends", "starts")

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.amounts: list[tuple[int, int]] = []

    def at(self, moment: int) -> tuple[int, int] | None:
        """Returns the cost that holds at a moment; None before the first, and behind an end."""
        index = bisect_right(self.starts, moment) - 1
        return None if index < 0 or 0 < self.ends[index] <= moment else self.amounts[index]


class CostHistory:
    """All costs, past and future ones included. `CostTable` has the costs of a moment."""

    __slots__ = ("_networks", "_prefixes")

    def __init__(self, costs: Iterable[DatedCost]) -> None:
        self._networks: dict[tuple[int, str], _Course] = {}
        self._prefixes: dict[int, PrefixTable[_Course]] = {}
        self.add(costs)

    def add(self, costs: Iterable[DatedCost]) -> None:
        """Adds all costs of connectors that have none yet."""
        prefixes: dict[int, dict[str, _Course]] = {}
        for cost in sorted(costs, key=lambda each: each.since):
            if cost.network:
                course = self._networks.setdefault((cost.connector, cost.network), _Course())
            else:
                course = prefixes.setdefault(cost.connector, {}).setdefault(cost.prefix, _Course())
            course.starts.append(cost.since)
            course.ends.append(cost.until)
            course.amounts.append((cost.submitted, cost.delivered))
        self._prefixes |= {connector: PrefixTable(of) for connector, of in prefixes.items()}

    def cost(self, connector: int, number: str, network: str, at: int) -> tuple[int, int] | None:
        """Returns micro-credits for a segment that the operator took at a moment (ms), and in addition if it is
        delivered; None if no cost covered it then."""
        course = self._networks.get((connector, network)) if network else None
        found = None if course is None else course.at(at)
        if found is not None:
            return found
        table = self._prefixes.get(connector)
        for _, course in () if table is None else table.matches(number):
            found = course.at(at)
            if found is not None:
                return found
        return None
