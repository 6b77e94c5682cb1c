"""The reader of lists: CSV of people, spreadsheets and other programs.

All lists are read by `CsvRows`: prices, costs, routes, networks, templates, recipients and phones. `NamedRows` is for
lists with named columns.
"""

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain
from typing import Any, Final

from heliograph.app.resources.desk import Invalid
from heliograph.app.resources.fields import KEEP, REQUIRED, Credits, Field
from heliograph.domain.csv_lines import plain

SEPARATORS: Final = ";\t,|"
"""The separators of cells. Of two that are equally frequent in a heading, the first counts."""

_QUOTED = re.compile(r'"[^"]*"')
_HINT = re.compile(r"sep=([;\t,|])\s*", re.IGNORECASE).fullmatch
"""A spreadsheet's own line about its separator, above the heading."""
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+").fullmatch
MOST_COLUMNS: Final = 1_000
"""Columns of a heading. A name that is unknown is compared with all known names."""

_LIKENESS: Final = 0.8
"""A column that resembles a known name as much is a typing error: `acount`, but not `country`, for `account`."""


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line of a list or table that cannot be used."""

    line: int
    """Counted from 1."""
    problem: str
    """A sentence for people, such as "the cell price is missing"."""

    def __str__(self) -> str:
        return f"line {self.line}: {self.problem}"


class CsvRows:
    """The non-empty rows of a list, each with the number of its first line: `(2, ["49", "0.065"])`.

    Cells are separated by semicolon, tab, comma or `|`. The first line with text decides, or a line `sep=;` above it.
    A row with a wrong quote is a line in `bad`.
    """

    def __init__(self, lines: Iterable[str], bad: list[BadLine]) -> None:
        self._bad = bad
        self._begins = 1
        self._lines = iter(lines)
        first = self._first_with_text().removeprefix("\ufeff")
        hint = _HINT(first)
        if hint is not None:
            self._begins += 1
            first = self._first_with_text()
        bare = _QUOTED.sub("", first)
        likeliest = max(SEPARATORS, key=bare.count)
        self.is_separated = hint is not None or likeliest in bare
        """False if the first line has a single cell."""
        self.separator = hint[1] if hint is not None else likeliest if self.is_separated else ","
        self._lines = chain((first,), self._lines)

    def _first_with_text(self) -> str:
        for line in self._lines:
            if line.strip("\ufeff \t\r\n"):
                return line
            self._begins += 1
        return ""

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        before = self._begins - 1
        reader = csv.reader(self._lines, delimiter=self.separator, strict=True)
        begins = self._begins
        while True:
            try:
                row = next(reader, None)
            except csv.Error as problem:
                self._bad.append(BadLine(begins, f"this is not valid CSV: {problem}"))
                row = []
            if row is None:
                return
            if any(cell.strip() for cell in row):
                yield begins, row
            begins = before + reader.line_num + 1


class NamedRows:
    """The rows below a heading, for example `(2, {"prefix": "49", "price": "0.065"})`.

    The number is that of the row's first line. The heading has names of `columns` in any order and case. `ignored` are
    its other columns, for example `["country"]`. A bad heading or row is a line in `bad`.
    """

    def __init__(
        self,
        lines: Iterable[str],
        columns: Collection[str],
        required: Sequence[Sequence[str]],
        bad: list[BadLine],
        decimals: Collection[str] = (),
    ) -> None:
        """`required`: each row has a cell of each group, for example `[("mccmnc", "prefix"), ("price",)]`. Other cells
        may be missing at its end. `decimals`: columns that may have a decimal comma unless commas separate cells."""
        self._bad = bad
        self._required = required
        self.ignored: list[str] = []
        rows = CsvRows(lines, bad)
        self._decimals = frozenset() if rows.separator == "," else frozenset(decimals)
        self._rows = iter(rows)
        line, heading = next(self._rows, (1, []))
        self._names = [cell.strip().lower() for cell in heading]
        problem = self._problem(columns)
        if problem:
            bad.append(BadLine(line, problem))
            self._rows = iter(())
        self.ignored = [cell.strip() for cell in heading if cell.strip() and cell.strip().lower() not in columns]

    def _problem(self, columns: Collection[str]) -> str:
        """Returns why the heading cannot be used; empty if it can."""
        if not all(set(group) & set(self._names) for group in self._required):
            needed = " and ".join(" or ".join(group) for group in self._required)
            return f"the heading must name the columns {needed}"
        if len(self._names) > MOST_COLUMNS:
            return f"the heading has {len(self._names):,} columns; the most are {MOST_COLUMNS:,}"
        twice = sorted(each for each, times in Counter(self._names).items() if each in columns and times > 1)
        if twice:
            return f"there are two columns {twice[0]}"
        for name in self._names:
            near = [] if name in columns else get_close_matches(name, columns, 1, _LIKENESS)
            if near and near[0] not in self._names:
                return f"there is no column {name[:40]!r}; do you mean {near[0]}?"
        return ""

    def __iter__(self) -> Iterator[tuple[int, dict[str, str]]]:
        for line, cells in self._rows:
            row = {name: plain(cell.strip()) for name, cell in zip(self._names, cells, strict=False)}
            missing = [group for group in self._required if not any(name in row for name in group)]
            if len(cells) > len(self._names):
                self._bad.append(BadLine(line, f"it has {len(cells)} cells, but the heading has {len(self._names)}"))
                continue
            if missing:
                self._bad.append(BadLine(line, f"the cell {' or '.join(missing[0])} is missing"))
                continue
            for name in self._decimals & row.keys():
                if _DECIMAL_COMMA(row[name]) is not None:
                    row[name] = row[name].replace(",", ".")
            yield line, row


def ignored_columns(names: Sequence[str]) -> str:
    """Returns the names of ignored columns for people: `the columns country, note`."""
    return f"the column{'s' * (len(names) > 1)} {', '.join(name[:40] for name in names)}"


def values_of(fields: Iterable[Field], texts: Mapping[str, str]) -> dict[str, Any]:
    """Returns the values of fields from texts by their names. An empty text is the default; fields with the
    default KEEP are then left out. Raises Invalid."""
    values: dict[str, Any] = {}
    for field in fields:
        text = texts.get(field.name, "").strip()
        if field.name == "prefix":
            text = text.removeprefix("+")
        if text or field.default is REQUIRED:
            values[field.name] = field.read(field.parse(text))
        elif field.default is not KEEP:
            values[field.name] = field.default
    return values


class Sheet:
    """Things of a list, by the names of their fields, in its order, each with its line in `lines`. `bad` lines cannot
    be used. `ignored` columns have no meaning here."""

    def __init__(
        self, lines: Iterable[str], fields: Sequence[Field], required: Sequence[str], unique: Sequence[str], called: str
    ) -> None:
        """`required`: columns that the heading must have. `unique`: fields that no two things have alike. `called`:
        the name of a thing, such as `route`."""
        self.rows: list[dict[str, Any]] = []
        self.lines: list[int] = []
        self.bad: list[BadLine] = []
        known: dict[tuple[Any, ...], int] = {}
        decimals = [each.name for each in fields if isinstance(each.type, Credits)]
        rows = NamedRows(lines, [each.name for each in fields], [(name,) for name in required], self.bad, decimals)
        self.ignored = rows.ignored
        for line, texts in rows:
            try:
                row = values_of(fields, texts)
            except Invalid as problem:
                self.bad.append(BadLine(line, str(problem)))
                continue
            key = tuple(row[name] for name in unique)
            if key in known:
                self.bad.append(BadLine(line, f"line {known[key]} has the same {called}"))
                continue
            known[key] = line
            self.rows.append(row)
            self.lines.append(line)
