"""Costs of a segment: micro-credits that an operator charges, by connector and destination."""

from collections.abc import Iterable
from typing import Protocol, TypeVar

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


class CostTable:
    """The costs that hold at a moment."""

    __slots__ = ("_networks", "_prefixes")

    def __init__(self, costs: Iterable[DatedCost], at: int) -> None:
        self._networks: dict[tuple[int, str], int] = {}
        prefixes: dict[int, dict[str, int]] = {}
        for cost in in_force(costs, at):
            whole = cost.submitted + cost.delivered
            if cost.network:
                self._networks[cost.connector, cost.network] = whole
            else:
                prefixes.setdefault(cost.connector, {})[cost.prefix] = whole
        self._prefixes = {connector: PrefixTable(of) for connector, of in prefixes.items()}

    def cost(self, connector: int, number: str, network: str) -> int | None:
        """Returns micro-credits for a delivered segment to a number, by its network or else its longest prefix; None
        if no cost covers it. `network`: MCCMNC, for example `26201`; empty if it is not known."""
        found = self._networks.get((connector, network)) if network else None
        if found is not None:
            return found
        table = self._prefixes.get(connector)
        return None if table is None else table.find(number)
