"""Long lists of prices, costs, routes and networks, written in batches, so that no other change waits for a whole list.

    begin --> end rows, add rows ... --> swap --> tidy ... --> done
              the old list holds           |      the new list holds
              a crash: tidy                |      a crash: tidy

A row has a *side*. Rows with side 0 hold before and after the swap, with side 1 until the swap, and with side 2 from
then on. `list_import` has the side that is hidden from readers: 2, and after the swap 1. `tidy` removes hidden rows,
and gives the others side 0. So it undoes an import before its swap, and completes it afterwards.

An import has a lease, and a ticket as its fencing token. If it stalls, another import or the housekeeping takes over,
and its next batch fails. Other changes of the same table go on meanwhile. A row that is set during an import holds
until the swap if the list has the row too.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from heapq import merge
from typing import Any, Final

import msgspec

from heliograph.adapters.store.shared.listed_tables import LISTED_TABLES
from heliograph.adapters.store.shared.steps import (
    Operations,
    Q,
    Query,
    R,
    Runner,
    Steps,
    batch,
    first,
    lookup,
    read,
    write,
)
from heliograph.app.configuration import Missing
from heliograph.app.ports import Unavailable

FEW: Final = 500
"""Rows that are written, or removed, in a single transaction: up to 30 ms."""

BATCH: Final = 1_000
"""Rows of a transaction: 5 to 20 ms. Behind each there is a pause as long, because SQLite lets waiting processes try
again at intervals, and they would rarely find the file free."""

LEASE_MS: Final = 10_000
"""Milliseconds without a batch after which an import counts as interrupted."""

KEPT_REVISIONS: Final = 1_000
"""Revisions for which changed rows are noted. A reader that is further behind reads whole tables again."""

MOST_NOTED: Final = 500
"""Rows that a change may note one by one; a larger change notes the whole table."""

WHOLE: Final = "*"
"""The prefix of a note that stands for a whole table."""

ALL: Final = ("",)
"""The owners of a table without owners: a list replaces all its rows."""


class LongList(Operations):
    """Writes a list of a kind. The owners of prices are plans, and of costs connectors."""

    def __init__(self, runner: Runner, kind: str) -> None:
        super().__init__(runner)
        self._kind = kind
        self._table = LISTED_TABLES[kind]

    async def is_needed(self, rows: int, replaced: Sequence[str] | Sequence[int]) -> bool:
        """Returns whether a list has more than FEW rows, or replaces as many."""
        return rows > FEW or (len(replaced) > 0 and await self._count(replaced) > FEW)

    @read
    def _count(self, owners: Sequence[str] | Sequence[int]) -> Steps[int]:
        found = 0
        for owner in owners:
            if found > FEW:
                break
            ((count,),) = yield Query(f"count_listed_{self._kind}", {"owner": owner, "limit": FEW + 1})
            found += count
        return found

    async def put(
        self,
        parts: Sequence[Sequence[Sequence[Any]]],
        replaced: Sequence[str] | Sequence[int],
        keys: Collection[tuple[str, str, str]] | None,
        connectors: Collection[int] = (),
        removed: Sequence[Sequence[Any]] = (),
    ) -> int:
        """Sets the rows, and removes the rows with the keys `removed` and all others of the owners `replaced`. `parts`
        are added one after the other. `keys` are noted as changed; None is the whole table. Returns the number of rows
        that were written.

        Raises Unavailable, also during another import, and Missing if a removed row or a connector does not exist.
        """
        ticket = await self._begin(connectors)
        await self._tidy_all(ticket)
        for owner in replaced:
            after: Mapping[str, Any] | None = self._table.first
            while after is not None:
                after = await _paused(self._end(ticket, owner, after))
        for start in range(0, len(removed), BATCH):
            await _paused(self._end_listed(ticket, removed[start : start + BATCH]))
        added = 0
        for part in parts:
            for start in range(0, len(part), BATCH):
                added += await _paused(self._add(ticket, part[start : start + BATCH]))
        await self._swap(ticket, None if replaced else keys, connectors, added)
        with suppress(Unavailable):  # the list holds, and the housekeeping tidies up
            await self._tidy_all(ticket, is_last=True)
        return added

    async def tidy(self) -> None:
        """Removes the rows that an interrupted import left. Raises Unavailable."""
        with suppress(Unavailable):  # another node was first
            await self._tidy_all(await self._begin(()), is_last=True)

    @batch
    def _begin(self, connectors: Collection[int]) -> Steps[int]:
        yield from _check(connectors)
        taken = yield from first(Q.take_list(kind=self._kind, now=_now(), until=_now() + LEASE_MS))
        if taken is None:
            raise Unavailable(f"another list of {self._kind}s is being imported")
        return int(taken[0])

    @batch
    def _end(self, ticket: int, owner: str | int, after: Mapping[str, Any]) -> Steps[dict[str, Any] | None]:
        """Lets the next rows of an owner hold only until the swap. Returns the key of the last, or None at the end."""
        yield from self._hold(ticket)
        ended = yield Query(f"end_owned_{self._kind}", {"owner": owner, "limit": BATCH, **after})
        return dict(zip(after, max(ended), strict=True)) if len(ended) == BATCH else None

    @batch
    def _end_listed(self, ticket: int, keys: Sequence[Sequence[Any]]) -> Steps[None]:
        """Lets rows hold only until the swap."""
        yield from self._hold(ticket)
        ended = yield Query(f"end_listed_{self._kind}", {"rows": msgspec.json.encode(keys).decode()})
        if len(ended) < len(keys):
            raise Missing(f"no such {self._kind}")

    @batch
    def _add(self, ticket: int, rows: Sequence[Sequence[Any]]) -> Steps[int]:
        yield from self._hold(ticket)
        values = {"rows": msgspec.json.encode(rows).decode()}
        if not self._table.keeps:
            yield Query(f"end_listed_{self._kind}", values)
        return len((yield Query(f"put_listed_{self._kind}", values)))

    @write
    def _swap(
        self, ticket: int, keys: Collection[tuple[str, str, str]] | None, connectors: Collection[int], added: int
    ) -> Steps[int]:
        """Returns `added`, for the line of the audit log."""
        yield from self._hold(ticket)
        yield from _check(connectors)
        yield Q.swap_list(kind=self._kind)
        yield Q.tables_changed()
        yield from note(self._kind, keys)
        return added

    async def _tidy_all(self, ticket: int, *, is_last: bool = False) -> None:
        while not await _paused(self._tidy(ticket, is_last)):
            pass

    @batch
    def _tidy(self, ticket: int, is_last: bool) -> Steps[bool]:
        """Removes or keeps a batch of an owner's rows. Returns True if none was left."""
        hidden = yield from self._hold(ticket)
        for side, name in ((hidden, f"drop_sided_{self._kind}"), (3 - hidden, f"keep_sided_{self._kind}")):
            owner = yield from first(Query(f"sided_{self._kind}", {"side": side}))
            if owner is not None:
                yield Query(name, {"owner": owner[0], "side": side, "limit": BATCH})
                return False
        yield Q.end_list(kind=self._kind, until=0 if is_last else _now() + LEASE_MS)
        return True

    def _hold(self, ticket: int) -> Steps[int]:
        """Renews the lease, lets other changes of the tables wait, and returns the hidden side."""
        yield Q.lock_tables()
        held = yield from first(Q.hold_list(kind=self._kind, ticket=ticket, until=_now() + LEASE_MS))
        if held is None:
            raise Unavailable(f"another list of {self._kind}s was imported meanwhile")
        return int(held[0])


class StoredLists(Operations):
    """The lists whose import was interrupted."""

    async def tidy(self) -> None:
        """Removes the rows that interrupted imports left. Raises Unavailable."""
        for kind in await self._interrupted():
            await LongList(self.runner, kind).tidy()

    @lookup
    def _interrupted(self) -> Steps[list[str]]:
        return [kind for (kind,) in (yield Q.interrupted_lists(now=_now()))]


def in_order(rows: Sequence[Any], key: Callable[[Any], Any] | None = None) -> list[Any]:
    """Sorts the rows of a long list, in steps of some milliseconds. A single sort of 200,000 rows would hold the
    interpreter's lock for 0.9 s, from another thread too, and no other task would run meanwhile."""
    steps = [sorted(rows[start : start + BATCH], key=key) for start in range(0, len(rows), BATCH)]
    return list(merge(*steps, key=key))


async def _paused(work: Awaitable[R]) -> R:
    """Awaits a batch, then waits as long."""
    started = time.monotonic()
    result = await work
    await asyncio.sleep(time.monotonic() - started)
    return result


def note(kind: str, keys: Collection[tuple[str, str, str]] | None) -> Steps[None]:
    """Notes rows that changed, after `tables_changed`, so that gateways read these alone; None is the whole table. A
    key is a plan or connector, a network and a prefix."""
    if keys is None or len(keys) > MOST_NOTED:
        keys = [("", "", WHOLE)]
    for owner, network, prefix in keys:
        yield Q.note_change(kind=kind, owner=owner, network=network, prefix=prefix)
    yield Q.forget_changes(kept=KEPT_REVISIONS)


def _check(connectors: Collection[int]) -> Steps[None]:
    for connector in sorted(connectors):
        if not (yield Q.connector_exists(connector=connector)):
            raise Missing("no such connector")


def _now() -> int:
    return time.time_ns() // 1_000_000
