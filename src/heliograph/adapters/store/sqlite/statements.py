"""Statements over many rows at once."""

import sqlite3
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Final

import msgspec

Row = tuple[Any, ...]

_encode: Final = msgspec.json.encode

_MOST = 8
"""Most rows a statement. A prepared statement stays in memory. The first commit with as many rows prepares it, hours
after the start maybe: all kinds together take 0.4 MiB with 8 rows, 1.8 MiB with 32, and 14 MiB with 256. A row costs a
tenth less with 32 than with 8, and a message 1 % less."""


class Insert:
    """Inserts any number of rows by statements of 8, 4, 2 and 1 rows, so that few texts exist and each is prepared
    once."""

    def __init__(self, head: str, columns: int, tail: str = "", last: str = "?") -> None:
        """`head` ends before VALUES; `tail` is what follows the rows; `last` is the SQL of each row's last values,
        which count as a single column."""
        row = f"({', '.join([*'?' * (columns - 1), last])})"
        self._texts = {1 << n: f"{head} VALUES {', '.join([row] * (1 << n))} {tail}" for n in range(_MOST.bit_length())}

    def __call__(self, db: sqlite3.Connection, rows: Sequence[Row]) -> None:
        """Inserts the rows."""
        start, left = 0, len(rows)
        while left:
            size = _MOST if left >= _MOST else 1 << (left.bit_length() - 1)
            piece = rows if size == left and not start else rows[start : start + size]
            db.execute(self._texts[size], tuple(chain.from_iterable(piece)))
            start += size
            left -= size


def many(values: Iterable[int | str]) -> str:
    """Makes a single parameter of a list: `SELECT value FROM json_each(?)` has its items, and `key` their order."""
    return _encode(list(values)).decode()
