"""Series: what happened by minute, hour and day, for people."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from heliograph.domain.series import WIDTH_MS, Cell, CellKey, Grain

DAY_MS: Final = WIDTH_MS[Grain.DAY]


@dataclass(frozen=True, slots=True)
class SeriesQuery:
    """Series of buckets that begin from `start` on and before `end`; None matches all."""

    grain: Grain
    start: int
    end: int
    account: int | None = None
    connector: int | None = None
    country: str | None = None


@dataclass(frozen=True, slots=True)
class SeriesCell:
    """The counts of the bucket of time that begins at `start`."""

    grain: Grain
    start: int
    key: CellKey
    cell: Cell


@dataclass(frozen=True, slots=True)
class CountedCommits:
    """A node's commits that were counted, up to number `upto`, but for the `odd` ones. `any_facts`: facts of one of
    them are among the counts."""

    node: int
    upto: int
    odd: tuple[int, ...] = ()
    any_facts: bool = True


class Series(Protocol):
    """Keeps counts by account, connector and country, for each minute, hour and day in which something happened."""

    async def add(self, cells: Sequence[SeriesCell], commits: CountedCommits) -> bool:
        """Adds the cells, deletes the trails of the commits that they count, and leaves those of the odd ones to
        `settle`, in one transaction. Returns False, and adds nothing, where the trails are gone: all was counted
        before."""

    async def settle(self, limit: int) -> int:
        """Counts from the rows what up to `limit` trails name that no node counts any more, and deletes these trails;
        returns how many there were."""

    async def points(self, query: SeriesQuery) -> list[tuple[int, Cell]]:
        """Returns plain counts of all cells of the query together, by the time at which each bucket begins."""

    async def totals(self, query: SeriesQuery) -> list[tuple[CellKey, Cell]]:
        """Returns plain counts over the whole query, by account, connector and country."""

    async def details(self, query: SeriesQuery, since: int = 0, until: int = DAY_MS) -> list[SeriesCell]:
        """Returns codes, reasons and delays of each cell of the query, in the order of time, of those buckets that
        begin from `since` on and before `until`, in ms after midnight of UTC."""

    async def forget(self, grain: Grain, before: int, limit: int) -> int:
        """Deletes up to `limit` cells of buckets that begin before `before`, oldest first; returns how many."""
