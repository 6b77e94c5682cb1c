"""Reads lists of phones: a number on each line, or a table with the numbers in its first column."""

import re
from array import array
from collections.abc import Iterable, Iterator

from heliograph.app.admin.csv_rows import BadLine, CsvRows
from heliograph.app.sending.fields import shown
from heliograph.domain.message.suppression import parse_number
from heliograph.domain.numbers.phone import number_of

COMMENT = "#"

_AFTER_CELL = re.compile(r"[,;\t|]")
_DIGIT = re.compile(r"[0-9]").search


class NumberList:
    """The numbers of a list, in its order, as people write them. A number needs only eight octets of memory.

    Empty lines and lines that begin with `#` are ignored. A heading is ignored too: the first other line, if its first
    cell has no digit.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self.bad: list[BadLine] = []
        self._numbers = array("Q")
        is_first = True
        for line, cells in CsvRows(map(_bare, lines), self.bad):
            cell = _AFTER_CELL.split(cells[0], maxsplit=1)[0].strip()
            if not cell:
                continue
            is_heading = is_first and _DIGIT(cell) is None
            is_first = False
            if is_heading:
                continue
            try:
                self._numbers.append(int(parse_number(number_of(cell))))
            except ValueError as problem:
                self.bad.append(BadLine(line, f"{problem} It is {shown(cell)}."))

    def __len__(self) -> int:
        return len(self._numbers)

    def batches(self, size: int) -> Iterator[list[str]]:
        """Yields the numbers in lists of up to `size`."""
        for start in range(0, len(self._numbers), size):
            yield [str(number) for number in self._numbers[start : start + size]]


def _bare(line: str) -> str:
    """Returns a line without comment and quotes. A quote that is never closed would hide all lines below it."""
    return "\n" if line.lstrip("\ufeff \t").startswith(COMMENT) else line.replace('"', "")
