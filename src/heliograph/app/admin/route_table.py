"""Reads and writes lists of routes: CSV with a heading."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TextIO

from heliograph.app.admin.csv_rows import Sheet
from heliograph.app.resources.fields import Text
from heliograph.app.resources.routes import RULE, UNIQUE
from heliograph.domain.csv_lines import write_rows

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
    write_rows([COLUMNS], file)
    write_rows(([_cell(route[column]) for column in COLUMNS] for route in routes), file)


def _cell(value: Any) -> str:
    return ("yes" if value else "") if isinstance(value, bool) else str(value)
