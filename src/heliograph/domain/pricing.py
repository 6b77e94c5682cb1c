"""What a segment costs, by destination."""

from collections.abc import Iterable

from heliograph.domain.prefix import PrefixTable


class PriceTable:
    """The prices of one plan: micro-credits a segment by destination prefix, the longest prefix first."""

    __slots__ = ("_table",)

    def __init__(self, entries: Iterable[tuple[str, int]]) -> None:
        """Of two entries for a prefix the later one counts. Raises ValueError on a price below zero."""
        prices = dict(entries)
        for prefix, micro in prices.items():
            if micro < 0:
                raise ValueError(f"the price of prefix {prefix!r} is below zero")
        self._table = PrefixTable(prices)

    def price(self, destination: str) -> int | None:
        """Micro-credits for a segment to the destination; None when the plan does not cover it."""
        return self._table.find(destination)
