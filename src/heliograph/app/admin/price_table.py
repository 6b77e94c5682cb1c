"""Reads and writes lists of prices: CSV with a heading, as carriers send them."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TextIO

from heliograph.app.admin.csv_rows import BadLine, NamedRows
from heliograph.app.resources.desk import Invalid
from heliograph.app.resources.prices import NEW, PLAN, SINCE, format_since
from heliograph.domain.csv_lines import write_rows
from heliograph.domain.money.amounts import format_credits

COLUMNS: Final = ("plan", "prefix", "price", "inbound", "since")
"""The columns of a list, in the order of written files."""


class PriceSheet:
    """The prices of a list.

    `prices`: the prices in the order of the list, by the names of their fields. `bad`: lines that cannot be used.
    `ignored`: columns that are no field of a price.
    """

    def __init__(self, lines: Iterable[str], plan: str, since: str = "") -> None:
        """Reads the list. `plan` and `since` are the defaults for rows without them. Raises Invalid if they are bad."""
        self.prices: list[dict[str, Any]] = []
        self.bad: list[BadLine] = []
        self._usual = {"plan": PLAN.read(plan), "since": SINCE.show(SINCE.read(since))}
        self._known: dict[tuple[str, str, int], int] = {}
        rows = NamedRows(lines, COLUMNS, (("prefix",), ("price",)), self.bad, ("price", "inbound"))
        self.ignored = rows.ignored
        for line, row in rows:
            self._read(line, row)

    def _read(self, line: int, row: dict[str, str]) -> None:
        given = {name: cell for name, cell in row.items() if cell or name not in ("plan", "inbound", "since")}
        given = {**self._usual, **given, "prefix": row["prefix"].removeprefix("+")}
        try:
            price = {each.name: each.read(given[each.name]) for each in NEW if each.name in given}
        except Invalid as problem:
            self.bad.append(BadLine(line, str(problem)))
            return
        key = price["plan"], price["prefix"], price["since"]
        if key in self._known:
            self.bad.append(BadLine(line, f"line {self._known[key]} has the same plan, prefix and date"))
            return
        self._known[key] = line
        self.prices.append(price)


def write(prices: Iterable[Mapping[str, Any]], file: TextIO) -> None:
    """Writes prices as a list that `PriceSheet` can read."""
    write_rows([COLUMNS], file)
    write_rows(map(_cells, prices), file)


def _cells(price: Mapping[str, Any]) -> list[str]:
    credit, inbound = format_credits(price["price"]), format_credits(price["inbound"])
    return [price["plan"], price["prefix"], credit, inbound, format_since(price["since"] or 0)]
