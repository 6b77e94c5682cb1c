"""The columns of lists of recipients, in files of commands and in tables that the console gets."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from heliograph.domain.numbers.phone import is_destination, number_of

EXAMINED: Final = 100
"""Rows in which the column of the numbers is looked for."""

_LOOKS_LIKE_DIGITS = re.compile(r"[+(]?[0-9][0-9 ()./-]*").fullmatch
_LOOKS_LIKE_A_NUMBER = re.compile(r"[+0-9][0-9 ()./-]{5,24}").fullmatch


def columns_of(row: Sequence[str]) -> tuple[list[str], bool]:
    """Returns the names of the columns from the first row, and whether that row is a heading.

    A row with a number, valid or not, is a recipient. Its columns are then `column 1`, `column 2` and so on. A column
    without a name in the heading gets such a name, too. Of two equal names, the second gets its position: `name 3`.
    """
    cells = [cell.strip() for cell in row]
    numbered = [f"column {index + 1}" for index in range(len(cells))]
    if any(_LOOKS_LIKE_DIGITS(cell) for cell in cells):
        return numbered, False
    names: list[str] = []
    for index, cell in enumerate(cells):
        name = cell or numbered[index]
        while name in names:
            name = f"{name} {index + 1}"
        names.append(name)
    return names, True


def number_column(columns: int, rows: Iterable[Sequence[str]]) -> int:
    """Returns the index of the column with the most cells that look like numbers, in the first EXAMINED rows."""
    scores = [0] * columns
    for row in islice(rows, EXAMINED):
        for index, cell in enumerate(row[:columns]):
            scores[index] += looks_like_number(cell.strip())
    return scores.index(max(scores))


def looks_like_number(cell: str) -> bool:
    """Returns True for a number as people write it, such as `+49 (0)170 1234567`."""
    return _LOOKS_LIKE_A_NUMBER(cell) is not None and is_destination(number_of(cell))
