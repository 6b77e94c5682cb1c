"""Lists that may have a million rows, such as routes and prices: read part by part, and imported."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from heliograph.app.ports.large_tables import Key, PriceQuery, RouteQuery
from heliograph.app.resources.fields import Field, Whole

Row = dict[str, Any]

Query = TypeVar("Query", RouteQuery, PriceQuery)


def page_of(query: Query, page: int, total: int) -> tuple[Query, int]:
    """Returns the query of a page with `query.limit` of `total` rows, and its number, counted from 1. A page behind the
    last is the last. A page of the second half is read from the end, because the store counts the rows it skips."""
    page = max(1, min(page, -(-total // query.limit)))
    first = (page - 1) * query.limit
    size = min(query.limit, total - first)
    behind = total - first - size
    if behind < first:
        return replace(query, first=behind, limit=size, is_from_end=True), page
    return replace(query, first=first), page


async def all_rows(find: Callable[[Key | None], Awaitable[Sequence[Row]]], order: Sequence[str]) -> list[Row]:
    """Returns all rows of a list. `find` returns the part behind a row, which it is given by the fields of `order`."""
    rows: list[Row] = []
    while part := await find(tuple(rows[-1][name] for name in order) if rows else None):
        rows += part
    return rows


def change_counts(things: str, changed: str = "changes") -> tuple[Field, ...]:
    """Returns the fields of the answer to an import: `added`, `changed`, `same` and `removed`. `things` is for example
    "Prices", and `changed` the verb for things that are not the same."""
    does = {"added": "adds", "changed": changed, "same": "leaves as they are", "removed": "removes"}
    return tuple(Field(name, Whole(), f"{things} that the list {verb}.") for name, verb in does.items())
