"""Writes rows as CSV (RFC 4180) that spreadsheets can open safely, without formulas."""

import csv
import io
import re
from collections.abc import Iterable
from typing import IO, Final

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?").fullmatch

# Where the system's separator is the semicolon, spreadsheets split a file at semicolons although commas separate it. A
# text such as `Hi;=1+1` is then two cells.
_INNER: Final = re.compile(r"""([;\t\r\n]"*)(?=[=+@-])(?![+-]?[0-9]+(?:\.[0-9]+)?(?:[;\t\r\n]|$))""")
_INNER_HARMLESS: Final = re.compile(r"""([;\t\r\n]"*)'(?=[=+@-])""")


def harmless(cell: str) -> str:
    """Returns a cell that a spreadsheet does not run as a formula: `'=1+1` for `=1+1`, and `Hi;'=1+1` for `Hi;=1+1`.
    Plain numbers stay unchanged."""
    cell = _INNER.sub(r"\1'", cell)
    return f"'{cell}" if cell[:1] in _FORMULA and not _NUMBER(cell) else cell


def plain(cell: str) -> str:
    """Returns a cell as it was before `harmless`."""
    return _INNER_HARMLESS.sub(r"\1", cell[1:] if cell[:1] == "'" and cell[1:2] in _FORMULA else cell)


def write_rows(rows: Iterable[Iterable[str]], file: IO[str]) -> None:
    """Writes lines that end as the system's text files. Cells are made harmless."""
    csv.writer(file, lineterminator="\n").writerows(map(harmless, row) for row in rows)


def csv_line(*cells: str) -> bytes:
    """Returns a line with its end. Cells are made harmless."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(map(harmless, cells))
    return out.getvalue().encode()
