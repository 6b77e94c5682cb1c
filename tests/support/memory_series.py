"""Series in the in-memory store."""

from bisect import bisect_right
from collections.abc import Sequence

from heliograph.app.observing.tally import Tally
from heliograph.app.ports.series import SeriesCell, SeriesQuery
from heliograph.domain.money.amounts import EntryKind
from heliograph.domain.series import COUNTS, Cell, CellKey, Grain
from heliograph.domain.sketch import merge
from tests.support.memory_rows import MemoryPart, MemoryState, OwedRow, Rows


def owe_series(place: MemoryState, key: int, at: int = 0) -> None:
    """Leaves a message to be counted from its row."""
    place.rows.series_owed.append(OwedRow(place.next("series_owed"), key, at))


class MemorySeries(MemoryPart):
    """`app.ports.Series`."""

    async def add(self, cells: Sequence[SeriesCell]) -> None:
        _add(self._open(), cells)

    async def settle(self, limit: int) -> int:
        rows = self._open()
        owed, rows.series_owed = rows.series_owed[:limit], rows.series_owed[limit:]
        tally = _count(rows, owed)
        for grain in Grain:
            _add(rows, [SeriesCell(grain, *place, cell) for place, cell in tally.widened(grain).items()])
        return len(owed)

    async def points(self, query: SeriesQuery) -> list[tuple[int, Cell]]:
        points: dict[int, Cell] = {}
        for each in self._found(query):
            points.setdefault(each.start, Cell()).add(Cell(each.cell.counts))
        return sorted(points.items(), key=lambda each: each[0])

    async def totals(self, query: SeriesQuery) -> list[tuple[CellKey, Cell]]:
        totals: dict[CellKey, Cell] = {}
        for each in self._found(query):
            totals.setdefault(each.key, Cell()).add(Cell(each.cell.counts))
        return sorted(totals.items(), key=lambda each: each[0])

    async def details(self, query: SeriesQuery) -> list[SeriesCell]:
        found = []
        for each in self._found(query):
            cell = Cell()
            cell.add(each.cell)
            for name in COUNTS:
                setattr(cell, name, 0)
            if cell.failures or cell.refusals or cell.to_operator or cell.to_receipt:
                found.append(SeriesCell(each.grain, each.start, each.key, cell))
        return found

    async def sums(self, query: SeriesQuery) -> list[tuple[CellKey, Cell]]:
        cells: dict[CellKey, Cell] = {}
        for each in await self.details(query):
            cells.setdefault(each.key, Cell()).add(each.cell)
        return list(cells.items())

    async def delays(self, query: SeriesQuery, bounds: Sequence[int]) -> list[Cell]:
        delays = [Cell() for _ in bounds[1:]]
        for each in await self.details(query):
            cell = delays[bisect_right(bounds, each.start) - 1]
            merge(cell.to_operator, each.cell.to_operator)
            merge(cell.to_receipt, each.cell.to_receipt)
        return delays

    async def forget(self, grain: Grain, before: int, limit: int) -> int:
        series = self._open().series
        old = sorted(place for place in series if place[0] == grain and place[1] < before)[:limit]
        for place in old:
            del series[place]
        return len(old)

    def _found(self, query: SeriesQuery) -> list[SeriesCell]:
        return [
            SeriesCell(grain, start, key, cell)
            for (grain, start, key), cell in sorted(self._open().series.items(), key=lambda each: each[0])
            if grain == query.grain
            and query.start <= start < query.end
            and query.account in (None, key.account)
            and query.connector in (None, key.connector)
            and query.country in (None, key.country)
            and query.network in (None, key.network)
        ]


def _add(rows: Rows, cells: Sequence[SeriesCell]) -> None:
    for each in cells:
        rows.series.setdefault((each.grain, each.start, each.key), Cell()).add(each.cell)


def _count(rows: Rows, owed: Sequence[OwedRow]) -> Tally:
    tally = Tally()
    for each in owed:
        message, end = rows.messages.get(each.key), rows.finals.get(each.key)
        if message is None:
            continue
        of = message.account, message.connector, message.destination, message.network
        if not each.at:
            tally.accepted(each.key, *of, message.segments, message.price)
        elif end is not None:
            refund = sum(e.amount for e in rows.ledger if e.message == each.key and e.kind is EntryKind.REFUND)
            tally.cancelled(end.at, *of, refund)
    return tally
