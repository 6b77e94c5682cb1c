"""Reads and writes lists of routes: CSV with a heading."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TextIO

from heliograph.app.admin.csv_rows import Sheet
from heliograph.app.resources.fields import Text
from heliograph.app.resources.routes import RULE, UNIQUE

COLUMNS: Final = tuple(each.name for each in RULE)
"""The columns of a list, in the order in which it is written; all but prefix and connector may be left out."""


def read(lines: Iterable[str], connectors: Iterable[str]) -> Sheet:
    """Reads such a list. `connectors` are the names of all connectors."""
    known = frozenset(connectors)

    def check(name: str) -> str:
        if name not in known:
            raise ValueError(f"there is no connector {name[:40]!r}")
        return name

    fields = [replace(each, type=Text(check)) if each.name == "connector" else each for each in RULE]
    return Sheet(lines, fields, ("prefix", "connector"), UNIQUE, "route")


def write(routes: Iterable[Mapping[str, Any]], file: TextIO) -> None:
    """Writes routes as a list that `read` reads."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_cell(route[column]) for column in COLUMNS] for route in routes)


def _cell(value: Any) -> Any:
    return ("yes" if value else "") if isinstance(value, bool) else value
