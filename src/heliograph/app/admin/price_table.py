"""Reads and writes lists of prices: CSV with a heading, as carriers send them."""

import csv
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TextIO

from heliograph.app.admin.csv_rows import named_rows
from heliograph.app.admin.number_list import BadLine
from heliograph.app.resources.desk import Invalid
from heliograph.app.resources.prices import NEW, PLAN, SINCE, format_since
from heliograph.domain.money.amounts import format_credits

COLUMNS: Final = ("plan", "prefix", "price", "inbound", "since")
"""The columns of a list, in the order in which it is written."""


class PriceSheet:
    """The prices of such a list, in its order, by the names of their fields. `bad` lines cannot be used."""

    def __init__(self, lines: Iterable[str], plan: str, since: str = "") -> None:
        """`plan` and `since` are those of rows that have none of their own. Raises Invalid if they cannot be used."""
        self.prices: list[dict[str, Any]] = []
        self.bad: list[BadLine] = []
        self._usual = {"plan": PLAN.read(plan), "since": SINCE.show(SINCE.read(since))}
        self._known: dict[tuple[str, str, int], int] = {}
        for line, row in named_rows(lines, COLUMNS, ("prefix", "price"), self.bad):
            self._read(line, row)

    def _read(self, line: int, row: dict[str, str]) -> None:
        given = {name: cell for name, cell in row.items() if cell or name not in ("plan", "inbound", "since")}
        given = {**self._usual, **given, "prefix": row["prefix"].removeprefix("+")}
        try:
            price = {each.name: each.read(given[each.name]) for each in NEW if each.name in given}
        except Invalid as problem:
            self.bad.append(BadLine(line, str(problem)))
            return
        place = price["plan"], price["prefix"], price["since"]
        if place in self._known:
            self.bad.append(BadLine(line, f"line {self._known[place]} has the same plan, prefix and date"))
            return
        self._known[place] = line
        self.prices.append(price)


def write(prices: Iterable[Mapping[str, Any]], file: TextIO, wrote: Callable[[], None] = lambda: None) -> None:
    """Writes prices as a list that `PriceSheet` reads; calls `wrote` after each."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for price in prices:
        credit, inbound = format_credits(price["price"]), format_credits(price["inbound"])
        writer.writerow((price["plan"], price["prefix"], credit, inbound, format_since(price["since"] or 0)))
        wrote()
