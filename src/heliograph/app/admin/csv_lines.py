"""Writes rows of tables as CSV (RFC 4180) that spreadsheets may open without running anything in them."""

import csv
import io
import re
from typing import Final

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?").fullmatch


def harmless(cell: str) -> str:
    """Returns a cell that no spreadsheet takes as a formula: what could be one begins with an apostrophe. Plain numbers
    stay as they are."""
    return f"'{cell}" if cell[:1] in _FORMULA and not _NUMBER(cell) else cell


def csv_line(*cells: str) -> bytes:
    """Returns a line of these cells, made harmless, with its end."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(map(harmless, cells))
    return out.getvalue().encode()
