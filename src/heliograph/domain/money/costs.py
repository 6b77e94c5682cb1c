"""Costs of a segment: micro-credits that an operator charges, by connector and destination."""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import Any, Protocol, TypeVar

from heliograph.domain.numbers.phone import PrefixTable


class DatedCost(Protocol):
    """A cost of a network, or of a prefix, over a connector. It holds from `since` (ms; 0 is the beginning) until the
    next cost of the same connector and destination.
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
    return [holding[key] for key in sorted(holding)]


CostRow = tuple[int, str, str, int, int]
"""A cost: connector, network, prefix, since, and micro-credits for a delivered segment. A later row of the same
destination has the later date."""


class CostTable:
    """The costs that hold at a moment."""

    __slots__ = ("_networks", "_prefixes")

    def __init__(self, costs: Iterable[DatedCost] = (), at: int = 0) -> None:
        self._networks: dict[tuple[int, str], int] = {}
        self._prefixes: dict[int, PrefixTable[int]] = {}
        self.update(
            (cost.connector, cost.network, cost.prefix, 0, cost.submitted + cost.delivered)
            for cost in in_force(costs, at)
        )

    def update(self, costs: Iterable[CostRow], at: int = 0, shared: dict[Any, Any] | None = None) -> None:
        """Sets the costs that hold at a moment. `shared` makes equal prefixes and amounts the same object."""
        same = ({} if shared is None else shared).setdefault
        # Loops in C: a million rows are set in about a second.
        for (connector, network), rows in groupby(costs, itemgetter(0, 1)):
            held = [row for row in rows if row[3] <= at]
            if network:
                self._networks.update(((connector, network), row[4]) for row in held)
            elif held:
                _, _, prefixes, _, amounts = zip(*held, strict=True)
                table = self._prefixes.setdefault(connector, PrefixTable())
                table.put_all(tuple(map(same, prefixes, prefixes)), map(same, amounts, amounts))

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

    __slots__ = ("amounts", "starts")

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.amounts: list[tuple[int, int]] = []

    def at(self, moment: int) -> tuple[int, int] | None:
        """Returns the cost that holds at a moment, or None before the first."""
        index = bisect_right(self.starts, moment)
        return self.amounts[index - 1] if index else None


class CostHistory:
    """All costs, past and future ones included. `CostTable` has the costs of a moment."""

    __slots__ = ("_networks", "_prefixes")

    def __init__(self, costs: Iterable[DatedCost]) -> None:
        self._networks: dict[tuple[int, str], _Course] = {}
        prefixes: dict[int, dict[str, _Course]] = {}
        for cost in sorted(costs, key=lambda each: each.since):
            if cost.network:
                course = self._networks.setdefault((cost.connector, cost.network), _Course())
            else:
                course = prefixes.setdefault(cost.connector, {}).setdefault(cost.prefix, _Course())
            course.starts.append(cost.since)
            course.amounts.append((cost.submitted, cost.delivered))
        self._prefixes = {connector: PrefixTable(of) for connector, of in prefixes.items()}

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
