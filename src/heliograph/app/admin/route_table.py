"""Reads and writes lists of routes: CSV with a heading."""

import csv
from collections.abc import Iterable, Mapping
from typing import Any, Final, TextIO

from heliograph.app.admin.csv_rows import named_rows
from heliograph.app.admin.number_list import BadLine
from heliograph.app.resources.desk import Invalid
from heliograph.app.resources.routes import PREFIX, PRIORITY, RouteRow

COLUMNS: Final = ("prefix", "connector", "priority")
"""The columns of a list, in the order in which it is written; `priority` may be left out."""


class RouteSheet:
    """The routes of such a list, in its order. `bad` lines cannot be used."""

    def __init__(self, lines: Iterable[str], connectors: Iterable[str]) -> None:
        """`connectors` are the names of those that there are."""
        self.routes: list[RouteRow] = []
        self.bad: list[BadLine] = []
        self._connectors = frozenset(connectors)
        known: dict[RouteRow, int] = {}
        for line, row in named_rows(lines, COLUMNS, ("prefix", "connector"), self.bad):
            try:
                route = self._read(row)
            except Invalid as problem:
                self.bad.append(BadLine(line, str(problem)))
                continue
            if route in known:
                self.bad.append(BadLine(line, f"line {known[route]} has the same route"))
                continue
            known[route] = line
            self.routes.append(route)

    def _read(self, row: dict[str, str]) -> RouteRow:
        """Raises Invalid."""
        prefix, connector = row["prefix"].removeprefix("+"), row["connector"]
        if connector not in self._connectors:
            raise Invalid("connector", f"there is no connector {connector[:40]!r}")
        return RouteRow(PREFIX.read(prefix), connector, parse_priority(row.get("priority", "")))


def parse_priority(text: str) -> int:
    """Reads a priority; empty is 0. Raises Invalid."""
    return int(PRIORITY.read(PRIORITY.parse(text.strip() or "0")))


def write(routes: Iterable[Mapping[str, Any]], file: TextIO) -> None:
    """Writes routes as a list that `RouteSheet` reads."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([route[column] for column in COLUMNS] for route in routes)
