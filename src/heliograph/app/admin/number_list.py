"""Reads lists of phones: a number on each line, or a table with the numbers in its first column."""

import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from heliograph.app.sending.fields import shown
from heliograph.domain.message.suppression import parse_number

COMMENT = "#"

_AFTER_CELL = re.compile(r"[,;\t]")
_DIGIT = re.compile(r"[0-9]").search


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line of a list or table that cannot be used."""

    line: int
    """Counted from 1."""
    problem: str
    """A sentence for people, such as "the cell price is missing"."""

    def __str__(self) -> str:
        return f"line {self.line}: {self.problem}"


class NumberList:
    """The numbers of a list, in its order. A number needs only eight octets of memory.

    Empty lines and lines that begin with `#` are ignored. A heading is ignored too: the first other line, if its first
    cell has no digit. Cells are separated by comma, semicolon or tab.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self.bad: list[BadLine] = []
        self._numbers = array("Q")
        is_first = True
        for line, text in enumerate(lines, 1):
            cell = _first_cell(text)
            if not cell:
                continue
            is_heading = is_first and _DIGIT(cell) is None
            is_first = False
            if is_heading:
                continue
            try:
                self._numbers.append(int(parse_number(cell)))
            except ValueError as problem:
                self.bad.append(BadLine(line, f"{problem} It is {shown(cell)}."))

    def __len__(self) -> int:
        return len(self._numbers)

    def batches(self, size: int) -> Iterator[list[str]]:
        """Yields the numbers in lists of up to `size`."""
        for start in range(0, len(self._numbers), size):
            yield [str(number) for number in self._numbers[start : start + size]]


def _first_cell(line: str) -> str:
    """Returns the first cell of a line without quotes, or "" for a line that is ignored."""
    text = line.removeprefix("\ufeff").strip()
    if text.startswith(COMMENT):
        return ""
    return _AFTER_CELL.split(text, maxsplit=1)[0].strip().strip("\"'").strip()
