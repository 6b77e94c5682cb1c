"""Reads the rows of tables that people and other programs wrote as CSV."""

import csv
from collections.abc import Iterable, Iterator
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
