"""Pasted or uploaded recipients: a list of numbers, or a table with columns."""

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

from heliograph.app.admin.csv_rows import BadLine, CsvRows
from heliograph.app.admin.recipient_columns import columns_of, looks_like_number, number_columns
from heliograph.domain.limits.defaults import MAX_SEGMENTS_CEILING

MAX_ROWS = 100_000
MAX_COLUMNS = 50
MAX_TEXT_CHARS = MAX_SEGMENTS_CEILING * 280
"""Characters of the longest message: a binary message has 280 hexadecimal digits a segment."""

NO_RECIPIENTS = "There are no recipients. Paste numbers, or a table with a column of numbers."

_COLUMN = re.compile(r"\{([^{}\n]{1,64})\}")


class Unreadable(ValueError):
    """The text is not a usable table. The exception's text is a sentence for people."""


@dataclass(slots=True)
class RecipientTable:
    """A table with a row for each recipient. Every row is as long as `columns`."""

    columns: list[str]
    """The headings, for example `["number", "name"]`."""
    rows: list[list[str]]
    has_heading: bool = False
    """True if the first line had the names of the columns."""

    @property
    def plain(self) -> bool:
        """True if the table is only a list of numbers."""
        return len(self.columns) == 1

    def guess(self) -> int:
        """Returns the index of the likeliest column of the numbers."""
        return next(iter(number_columns(self.columns, self.rows)), 0)


def read(text: str) -> RecipientTable:
    """Reads numbers in any layout, or a table separated by semicolon, tab, comma or `|`. Raises Unreadable."""
    lines = [line for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n") if line.strip()]
    if not lines:
        raise Unreadable(NO_RECIPIENTS)
    words = [word.strip() for line in lines for word in re.split(r"[,;\t|]", line) if word.strip()]
    if words and all(looks_like_number(word) for word in words):
        return _bounded(RecipientTable(["number"], [[word] for word in words]))
    bad: list[BadLine] = []
    rows = CsvRows(io.StringIO(text), bad)
    if not rows.is_separated:
        return _bounded(_headed([[line.strip()] for line in lines]))
    table = [[cell.strip() for cell in row] for _, row in rows]
    if bad:
        raise Unreadable(f"The table cannot be read: {bad[0]}.")
    if not table:
        raise Unreadable(NO_RECIPIENTS)
    return _bounded(_headed(table))


def _headed(table: list[list[str]]) -> RecipientTable:
    """Takes the first row as headings, unless it has a number, valid or not."""
    width = min(max(len(row) for row in table), MAX_COLUMNS)
    rows = [(row + [""] * width)[:width] for row in table]
    names, has_heading = columns_of(rows[0])
    return RecipientTable(names, rows[1:] if has_heading else rows, has_heading)


def _bounded(sheet: RecipientTable) -> RecipientTable:
    if not sheet.rows:
        raise Unreadable("The table has only a heading, without rows.")
    if len(sheet.rows) > MAX_ROWS:
        raise Unreadable(f"There are {len(sheet.rows):,} rows; at most {MAX_ROWS:,} can be sent at once.")
    return sheet


def columns_in(text: str) -> list[str]:
    """Returns the columns that a text names in braces, without duplicates: `["name"]` for `Dear {name}`."""
    return list(dict.fromkeys(_COLUMN.findall(text)))


def fill(text: str, columns: Sequence[str], row: Sequence[str]) -> str:
    """Returns the text with each `{column}` replaced by the row's value. Braces without a column's name stay.

    A text longer than any message is cut: many braces and long values would fill the memory.
    """
    values = dict(zip(columns, row, strict=True))
    filled, at = "", 0
    for match in _COLUMN.finditer(text):
        filled += text[at : match.start()] + values.get(match[1], match[0])
        at = match.end()
        if len(filled) > MAX_TEXT_CHARS:
            break
    return (filled + text[at:])[: MAX_TEXT_CHARS + 1]
