"""Reads the rows of tables that people and other programs wrote as CSV."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from heliograph.app.admin.number_list import BadLine


def csv_rows(lines: Iterable[str], bad: list[BadLine]) -> Iterator[tuple[int, list[str]]]:
    """Yields the rows that are not empty, with the number of their first line. The heading tells what is between
    cells: a comma, a semicolon or a tab. Ends at a quote that is not closed, with a line in `bad`."""
    held = iter(lines)
    first = next(held, "").removeprefix("\ufeff")
    reader = csv.reader(chain((first,), held), delimiter=max(",;\t", key=first.count), strict=True)
    begins = 1
    while True:
        try:
            row = next(reader, None)
        except csv.Error as problem:
            bad.append(BadLine(begins, f"this is no CSV: {problem}"))
            return
        if row is None:
            return
        if any(cell.strip() for cell in row):
            yield begins, row
        begins = reader.line_num + 1


def named_rows(
    lines: Iterable[str], columns: Sequence[str], required: Sequence[str], bad: list[BadLine]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yields the rows below a heading of `columns`, in any order and case: with the number of their first line, the
    cells by the name of their column. Those of `required` are in each; others may be missing at its end. What cannot
    be used, the heading too, is a line in `bad`."""
    rows = csv_rows(lines, bad)
    line, heading = next(rows, (1, []))
    given = [cell.strip().lower() for cell in heading]
    if not set(required) <= set(given):
        bad.append(BadLine(line, f"the heading is to name the columns {' and '.join(required)}"))
        return
    unknown = [each for each in given if each and each not in columns]
    twice = sorted({each for each in given if each and given.count(each) > 1})
    if unknown or twice:
        what = f"no column {unknown[0][:40]!r}; there are" if unknown else f"two columns {twice[0]}; there may be"
        bad.append(BadLine(line, f"there is {what} {', '.join(columns)}"))
        return
    for line, cells in rows:
        row = {name: cell.strip() for name, cell in zip(given, cells, strict=False)}
        missing = [name for name in required if name not in row]
        if len(cells) > len(given):
            bad.append(BadLine(line, f"it has {len(cells)} cells, the heading {len(given)}"))
        elif missing:
            bad.append(BadLine(line, f"it ends before its {missing[0]}"))
        else:
            yield line, row
