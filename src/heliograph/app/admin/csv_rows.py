"""Reads the rows of CSV tables of people and of other programs."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from heliograph.app.admin.number_list import BadLine
from heliograph.app.resources.desk import Invalid
from heliograph.app.resources.fields import REQUIRED, Field
from heliograph.domain.csv_lines import plain


def csv_rows(lines: Iterable[str], bad: list[BadLine]) -> Iterator[tuple[int, list[str]]]:
    """Yields the non-empty rows with the number of their first line, for example `(2, ["49", "0.065"])`.

    Cells are separated by comma, semicolon or tab; the heading decides. Stops at an unclosed quote, with a line in
    `bad`.
    """
    rest = iter(lines)
    first = next(rest, "").removeprefix("\ufeff")
    reader = csv.reader(chain((first,), rest), delimiter=max(",;\t", key=first.count), strict=True)
    begins = 1
    while True:
        try:
            row = next(reader, None)
        except csv.Error as problem:
            bad.append(BadLine(begins, f"this is not valid CSV: {problem}"))
            return
        if row is None:
            return
        if any(cell.strip() for cell in row):
            yield begins, row
        begins = reader.line_num + 1


def named_rows(
    lines: Iterable[str], columns: Sequence[str], required: Sequence[str], bad: list[BadLine]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yields the rows below a heading, for example `(2, {"prefix": "49", "price": "0.065"})`.

    The number is that of the row's first line. The heading has names of `columns` in any order and case. `required`
    cells are in each row; other cells may be missing at its end. A bad heading or row is a line in `bad`.
    """
    rows = csv_rows(lines, bad)
    line, heading = next(rows, (1, []))
    given = [cell.strip().lower() for cell in heading]
    if not set(required) <= set(given):
        bad.append(BadLine(line, f"the heading must name the columns {' and '.join(required)}"))
        return
    unknown = [each for each in given if each and each not in columns]
    twice = sorted({each for each in given if each and given.count(each) > 1})
    if unknown or twice:
        what = f"no column {unknown[0][:40]!r}; there are" if unknown else f"two columns {twice[0]}; there may be"
        bad.append(BadLine(line, f"there is {what} {', '.join(columns)}"))
        return
    for line, cells in rows:
        row = {name: plain(cell.strip()) for name, cell in zip(given, cells, strict=False)}
        missing = [name for name in required if name not in row]
        if len(cells) > len(given):
            bad.append(BadLine(line, f"it has {len(cells)} cells, but the heading has {len(given)}"))
        elif missing:
            bad.append(BadLine(line, f"the cell {missing[0]} is missing"))
        else:
            yield line, row


def values_of(fields: Iterable[Field], texts: Mapping[str, str]) -> dict[str, Any]:
    """Returns the values of fields from texts by their names; an empty text is the default. Raises Invalid."""
    values: dict[str, Any] = {}
    for field in fields:
        text = texts.get(field.name, "").strip()
        if field.name == "prefix":
            text = text.removeprefix("+")
        values[field.name] = field.read(field.parse(text)) if text or field.default is REQUIRED else field.default
    return values


class Sheet:
    """Things of a list, by the names of their fields, in its order. `bad` lines cannot be used."""

    def __init__(
        self, lines: Iterable[str], fields: Sequence[Field], required: Sequence[str], unique: Sequence[str], called: str
    ) -> None:
        """`required`: columns that the heading must have. `unique`: fields that no two things have alike. `called`:
        the name of a thing, such as `route`."""
        self.rows: list[dict[str, Any]] = []
        self.bad: list[BadLine] = []
        known: dict[tuple[Any, ...], int] = {}
        for line, texts in named_rows(lines, [each.name for each in fields], required, self.bad):
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
