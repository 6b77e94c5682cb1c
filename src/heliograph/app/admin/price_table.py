"""Reads and writes lists of prices: CSV with a heading, as carriers send them."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TextIO

from heliograph.app.admin.csv_rows import BadLine, NamedRows
from heliograph.app.resources.desk import Invalid
from heliograph.app.resources.prices import NEW, PLAN, SINCE, format_since
from heliograph.domain.csv_lines import write_rows
from heliograph.domain.money.amounts import format_credits

COLUMNS: Final = ("plan", "mccmnc", "prefix", "price", "inbound", "since")
"""The columns of a list, in the order of written files."""

NAMES: Final = {"mccmnc": "network"}
"""Names of columns as operators write them, with the fields that they are."""


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
        self._known: dict[tuple[str, str, str, int], int] = {}
        required = ("mccmnc", "network", "prefix"), ("price",)
        rows = NamedRows(lines, (*COLUMNS, "network"), required, self.bad, ("price", "inbound"))
        self.ignored = rows.ignored
        for line, row in rows:
            self._read(line, row)

    def _read(self, line: int, row: dict[str, str]) -> None:
        given = {NAMES.get(name, name): cell for name, cell in row.items() if cell or name in ("prefix", "price")}
        given = {**self._usual, **given, "prefix": row.get("prefix", "").removeprefix("+")}
        if not (given["prefix"] or "network" in given or "prefix" in row):
            self.bad.append(BadLine(line, "the cell mccmnc is empty; all numbers are a row with an empty cell prefix"))
            return
        try:
            price = {each.name: each.read(given[each.name]) for each in NEW if each.name in given}
        except Invalid as problem:
            self.bad.append(BadLine(line, str(problem)))
            return
        if "network" in price and price["prefix"]:
            self.bad.append(BadLine(line, "it has a prefix and a network; a price has one of them"))
            return
        key = price["plan"], price["prefix"], price.get("network", ""), price["since"]
        if key in self._known:
            self.bad.append(BadLine(line, f"line {self._known[key]} has the same plan, destination and date"))
            return
        self._known[key] = line
        self.prices.append(price)


def write(prices: Iterable[Mapping[str, Any]], file: TextIO) -> None:
    """Writes prices as a list that `PriceSheet` can read."""
    write_rows([COLUMNS], file)
    write_rows(map(_cells, prices), file)


def _cells(price: Mapping[str, Any]) -> list[str]:
    network = price.get("network", "")
    credit, inbound = format_credits(price["price"]), "" if network else format_credits(price["inbound"])
    return [price["plan"], network, price["prefix"], credit, inbound, format_since(price["since"] or 0)]
