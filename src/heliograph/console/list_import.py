"""The import of a list of prices or routes: its bad lines, a preview of the changes, and the changes after a yes."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from heliograph.app.admin.csv_rows import BadLine
from heliograph.app.resources.desk import Invalid
from heliograph.console.request import FormProblem, PageRequest, PageResponse
from heliograph.domain.display import counted

BAD_SHOWN: Final = 20
"""The most bad lines that a page shows."""


class ReadList(Protocol):
    """A list, as `PriceSheet` and `Sheet` have it."""

    bad: list[BadLine]
    ignored: list[str]


@dataclass(slots=True)
class ListPreview:
    """The part of a page about a list that was sent, but is not imported."""

    bad: Sequence[BadLine] = ()
    """The first lines that cannot be used. The list then has no changes."""
    changes: Mapping[str, int] = field(default_factory=dict)
    """The counts `added`, `changed`, `same` and `removed`."""
    owners: Sequence[str] = ()
    """The plans of the prices, or the connectors of the routes."""
    ignored: Sequence[str] = ()
    """Columns without a meaning."""
    note: str = ""
    """Sentences on what to check before the import."""


async def import_step(
    request: PageRequest,
    path: str,
    read: Callable[[list[str]], ReadList],
    put: Callable[[Any, bool, bool], Awaitable[Mapping[str, Any]]],
    owners: Callable[[Any], set[str]],
    show: Callable[..., Awaitable[PageResponse]],
) -> PageResponse:
    """Shows the page with the bad lines or the changes of the list in the form's `csv`. After the confirmation it makes
    the changes, and goes to `path`. Raises Invalid if there is no list.

    `read` gets the lines, and `put` the list, `replace` and `dry_run`; its answer may have a `note`. `show` shows the
    page with a problem and a `preview`.
    """
    form = request.form
    text, replace, confirmed = form.get("csv", ""), form.get("replace") == "yes", form.get("confirmed") == "yes"
    if not text.strip():
        raise Invalid("csv", "there is no list; paste a list or choose a file")
    found = await asyncio.to_thread(read, text.splitlines(keepends=True))
    if found.bad:
        unusable = counted(len(found.bad), "line cannot be used", "lines cannot be used")
        problem = FormProblem(f"{unusable}. Nothing was changed.", "csv")
        return await show(request, problem, preview=ListPreview(found.bad[:BAD_SHOWN]))
    changes = await put(found, replace, not confirmed)
    if not confirmed:
        preview = ListPreview((), changes, sorted(owners(found)), found.ignored, changes.get("note", ""))
        return await show(request, None, preview=preview)
    removed = f", {changes['removed']:,} removed" if replace else ""
    counts = f"{changes['added']:,} added, {changes['changed']:,} changed{removed}"
    return request.go(path, f"The list was imported: {counts}. {changes.get('note', '')}".rstrip())
