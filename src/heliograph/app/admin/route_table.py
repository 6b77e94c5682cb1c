"""Reads and writes lists of routes: CSV with a heading."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, TextIO

from heliograph.app.admin.csv_rows import Sheet
from heliograph.app.resources.fields import REQUIRED, Field, Text
from heliograph.app.resources.routes import CONNECTOR, LISTED, RULE, UNIQUE
from heliograph.domain.csv_lines import write_rows

COLUMNS: Final = tuple(each.name for each in RULE)
"""The columns of a list, in the order in which it is written; all but prefix and connector may be left out."""


def read(lines: Iterable[str], connectors: Collection[str] | None = None, connector: str = "") -> Sheet:
    """Reads such a list. `connectors` are the names of all connectors, None if they are not known here. `connector` is
    that of rows without any."""

    def check(name: str) -> str:
        if connectors is not None and name not in connectors:
            raise ValueError(f"there is no connector {name[:40]!r}")
        return name

    of = Field("connector", Text(check), CONNECTOR.meaning, connector or REQUIRED)
    fields = [of if each.name == of.name else each for each in LISTED]
    return Sheet(lines, fields, ("prefix",) if connector else ("prefix", "connector"), UNIQUE, "route")


def write(routes: Iterable[Mapping[str, Any]], file: TextIO) -> None:
    """Writes routes as a list that `read` reads."""
    write_rows([COLUMNS], file)
    write_rows(([_cell(route[column]) for column in COLUMNS] for route in routes), file)


def _cell(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
