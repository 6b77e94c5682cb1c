"""The columns of lists of recipients, in files of commands and in tables that the console gets."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final
from unicodedata import normalize

from heliograph.domain.numbers.phone import is_destination, number_of

EXAMINED: Final = 100
"""Rows in which the column of the numbers is looked for."""

FIELDS: Final = ("to", "from", "content", "time", "type", "dlr", "dlr-url", "reference")
"""Columns that are fields of a request. Other columns fill placeholders such as `{name}`."""

_IS_NAMED = re.compile(
    r"(cell|cellular|celular|gsm|handy|mobile?|movil|msisdn|phones?|portable|ruf|tel|telefon[eo]?|telephone|telemovel"
    r"|whatsapp)(phone|telefon)?(number|no|nr|nummer)?|number|numero|nummer|dest|destination|recipients?"
).fullmatch
"""Matches names that people give to the column of the numbers, as `_plain` returns them, such as `mobilenumber`."""

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


def number_columns(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[int]:
    """Returns the indexes of the columns that may have the numbers, the likeliest first. A single one is sure.

    The column `to` is sure. Otherwise a column counts if it has a name such as `Mobile`, or if half of its cells in the
    first EXAMINED rows look like numbers. A column with both is sure, if it is the only one. Fields of a request, such
    as `from`, do not count.
    """
    names = [_plain(name) for name in columns]
    if "to" in names:
        return [names.index("to")]
    filled, like = [0] * len(columns), [0] * len(columns)
    for row in islice(rows, EXAMINED):
        for index, cell in enumerate(map(str.strip, row[: len(columns)])):
            filled[index] += bool(cell)
            like[index] += looks_like_number(cell)
    own = [index for index, name in enumerate(names) if columns[index].strip().lower() not in FIELDS]
    named = {index for index in own if _IS_NAMED(names[index])}
    full = {index for index in own if like[index] and 2 * like[index] >= filled[index]}
    both = named & full
    return sorted(both if len(both) == 1 else named | full, key=lambda index: (index not in both, -like[index], index))


def _plain(name: str) -> str:
    """Returns a name in lower case without accents, spaces and signs: `telefonnr` for `Telefon-Nr.`"""
    return "".join(char for char in normalize("NFKD", name.casefold()) if char.isalnum())


def looks_like_number(cell: str) -> bool:
    """Returns True for a number as people write it, such as `+49 (0)170 1234567`."""
    return _LOOKS_LIKE_A_NUMBER(cell) is not None and is_destination(number_of(cell))
