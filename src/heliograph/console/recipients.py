"""Recipients that somebody pasted or uploaded: a list of numbers, or a table with columns."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

from heliograph.domain.numbers import phone

MAX_ROWS = 100_000
MAX_COLUMNS = 50
NOBODY = "There are no recipients; paste numbers, or a table with a column of numbers."

_DELIMITERS = ";\t,|"
_PLACE = re.compile(r"\{([^{}\n]{1,64})\}")
_LOOKS_LIKE_DIGITS = re.compile(r"[+(]?[0-9][0-9 ()./-]*").fullmatch
_LOOKS_LIKE_A_NUMBER = re.compile(r"[+0-9][0-9 ()./-]{5,24}").fullmatch


class Unreadable(ValueError):
    """Why a table cannot be used, in a sentence for people."""


@dataclass(slots=True)
class RecipientTable:
    """A table; a plain list of numbers has one column. Every row is as long as `columns`."""

    columns: list[str]
    rows: list[list[str]]

    @property
    def plain(self) -> bool:
        return len(self.columns) == 1

    def guess(self) -> int:
        """The column that looks most like numbers."""
        head = self.rows[:100]
        scores = [sum(_is_number(row[place]) for row in head) for place in range(len(self.columns))]
        return scores.index(max(scores))


def read(text: str) -> RecipientTable:
    """Raises Unreadable."""
    lines = [line for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n") if line.strip()]
    if not lines:
        raise Unreadable(NOBODY)
    words = [word.strip() for line in lines for word in re.split(r"[,;\t|]", line) if word.strip()]
    if words and all(_is_number(word) for word in words):
        return _bounded(RecipientTable(["number"], [[word] for word in words]))
    delimiter = max(_DELIMITERS, key=lines[0].count)
    if delimiter not in lines[0]:
        return _bounded(_headed([[line.strip()] for line in lines]))
    try:
        table = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text), delimiter=delimiter) if row]
    except csv.Error as problem:
        raise Unreadable(f"The table cannot be read: {problem}.") from None
    filled = [row for row in table if any(row)]
    if not filled:
        raise Unreadable(NOBODY)
    return _bounded(_headed(filled))


def _headed(table: list[list[str]]) -> RecipientTable:
    """Takes the first row as names unless a number, right or wrong, stands there."""
    width = min(max(len(row) for row in table), MAX_COLUMNS)
    rows = [(row + [""] * width)[:width] for row in table]
    if any(_LOOKS_LIKE_DIGITS(cell) for cell in rows[0]):
        return RecipientTable([f"column {place + 1}" for place in range(width)], rows)
    names: list[str] = []
    for place, cell in enumerate(rows[0]):
        name = cell or f"column {place + 1}"
        while name in names:
            name = f"{name} {place + 1}"
        names.append(name)
    return RecipientTable(names, rows[1:])


def _bounded(sheet: RecipientTable) -> RecipientTable:
    if not sheet.rows:
        raise Unreadable("The table has a heading and no rows.")
    if len(sheet.rows) > MAX_ROWS:
        raise Unreadable(f"There are {len(sheet.rows):,} rows; at most {MAX_ROWS:,} can be sent at once.")
    return sheet


def places(text: str) -> list[str]:
    """The columns that a text names in braces, such as `{name}`, each once."""
    return list(dict.fromkeys(_PLACE.findall(text)))


def fill(text: str, columns: Sequence[str], row: Sequence[str]) -> str:
    """The text with each `{column}` replaced by the row's value; braces that name no column stay."""
    values = dict(zip(columns, row, strict=True))
    return _PLACE.sub(lambda match: values.get(match[1], match[0]), text)


def number_of(cell: str) -> str:
    """A number as the gateway takes it, out of how people write it: `+49 170 123` or `0049 (170) 123`."""
    bare = re.sub(r"[ ()./\-\u00a0]", "", cell)
    return bare.removeprefix("+") if bare.startswith("+") else bare.removeprefix("00")


def _is_number(cell: str) -> bool:
    return _LOOKS_LIKE_A_NUMBER(cell) is not None and phone.is_destination(number_of(cell))
