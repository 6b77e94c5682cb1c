"""Series: counts of events by minute, hour, day, week and eight weeks, for people."""

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
    network: str | None = None


def recent_hours(now: int, hours: int) -> SeriesQuery:
    """Returns the query of the last hours, the present hour included."""
    width = WIDTH_MS[Grain.HOUR]
    end = (now // width + 1) * width
    return SeriesQuery(Grain.HOUR, end - hours * width, end)


@dataclass(frozen=True, slots=True)
class SeriesCell:
    """The counts of the bucket of time that begins at `start`."""

    grain: Grain
    start: int
    key: CellKey
    cell: Cell


class Series(Protocol):
    """Keeps counts by account, connector, country and network, for each bucket of time in which something happened."""

    async def add(self, cells: Sequence[SeriesCell]) -> None:
        """Adds the cells, in a single transaction."""

    async def settle(self, limit: int) -> int:
        """Counts up to `limit` messages without facts from their rows: cancelled messages, and replies to phones.
        Returns their number."""

    async def points(self, query: SeriesQuery) -> list[tuple[int, Cell]]:
        """Returns plain counts of all cells of the query together, by the time at which each bucket begins."""

    async def totals(self, query: SeriesQuery) -> list[tuple[CellKey, Cell]]:
        """Returns plain counts over the whole query, by account, connector, country and network."""

    async def details(self, query: SeriesQuery) -> list[SeriesCell]:
        """Returns codes, reasons and delays of each cell of the query, oldest first."""

    async def sums(self, query: SeriesQuery) -> list[tuple[CellKey, Cell]]:
        """Returns the sums of these details over the whole query, by account, connector, country and network."""

    async def delays(self, query: SeriesQuery, bounds: Sequence[int]) -> list[Cell]:
        """Returns the delays of all cells of the query together, for each step of time. A step lies between two
        successive `bounds` (ms), of which the first is the start of the query; it has the buckets that begin in it. A
        cell has no other counts."""

    async def forget(self, grain: Grain, before: int, limit: int) -> int:
        """Deletes up to `limit` cells of buckets that begin before `before`, oldest first; returns how many."""
