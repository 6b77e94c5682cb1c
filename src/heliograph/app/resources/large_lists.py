"""Lists that may have a million rows, such as routes and prices, read part by part."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from heliograph.app.ports.large_tables import Key

Row = dict[str, Any]


async def all_rows(find: Callable[[Key | None], Awaitable[Sequence[Row]]], order: Sequence[str]) -> list[Row]:
    """Returns all rows of a list. `find` returns the part behind a row, which it is given by the fields of `order`."""
    rows: list[Row] = []
    while part := await find(tuple(rows[-1][name] for name in order) if rows else None):
        rows += part
    return rows
