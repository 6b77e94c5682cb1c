"""Series in the in-memory store."""

from collections.abc import Sequence

from heliograph.app.observing.tally import Tally
from heliograph.app.observing.trail import ended_trail, read_trail
from heliograph.app.ports.series import DAY_MS, CountedCommits, SeriesCell, SeriesQuery
from heliograph.domain.money.amounts import EntryKind
from heliograph.domain.series import Cell, CellKey, Grain
from tests.support.memory_rows import MemoryPart, MemoryState, Rows, TrailRow


def keep_ended(place: MemoryState, keys: list[int], at: int) -> None:
    """Keeps the trail of messages that were cancelled."""
    if keys:
        place.rows.trails.append(TrailRow(place.next("trail"), 0, 0, ended_trail(keys, at)))


class MemorySeries(MemoryPart):
    """`app.ports.Series`."""

    async def add(self, cells: Sequence[SeriesCell], commits: CountedCommits) -> bool:
        rows = self._open()
        for trail in rows.trails:
            if trail.node == commits.node and trail.seq in commits.odd:
                trail.node = 0
        counted = [each for each in rows.trails if each.node == commits.node and each.seq <= commits.upto]
        if commits.upto and commits.any_facts and not counted:
            return False
        rows.trails = [each for each in rows.trails if each not in counted]
        _add(rows, cells)
        return True

    async def settle(self, limit: int) -> int:
        rows = self._open()
        trails = sorted((each for each in rows.trails if each.node == 0), key=lambda each: each.id)[:limit]
        tally = _count(rows, trails)
        for grain in Grain:
            _add(rows, [SeriesCell(grain, *place, cell) for place, cell in tally.widened(grain).items()])
        rows.trails = [each for each in rows.trails if each not in trails]
        return len(trails)

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

    async def details(self, query: SeriesQuery, since: int = 0, until: int = DAY_MS) -> list[SeriesCell]:
        found = []
        for each in (each for each in self._found(query) if since <= each.start % DAY_MS < until):
            cell = Cell()
            cell.add(each.cell)
            for name in ("accepted", "segments", "submitted", "delivered", "failed", "cancelled", "inbound", "refused"):
                setattr(cell, name, 0)
            cell.spend = 0
            if cell.failures or cell.refusals or cell.to_operator or cell.to_receipt:
                found.append(SeriesCell(each.grain, each.start, each.key, cell))
        return found

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
        ]


def _add(rows: Rows, cells: Sequence[SeriesCell]) -> None:
    for each in cells:
        rows.series.setdefault((each.grain, each.start, each.key), Cell()).add(each.cell)


def _count(rows: Rows, trails: Sequence[TrailRow]) -> Tally:
    tally = Tally()
    all_entries = [read_trail(each.keys) for each in trails]
    for key in {key for entries in all_entries for key in entries.accepted} & rows.messages.keys():
        message = rows.messages[key]
        tally.accepted(key, message.account, message.connector, message.destination, message.segments, message.price)
    for key, at in {each for entries in all_entries for each in entries.sent}:
        answer = rows.sent.get((key, 0))
        if answer is not None and answer.status == 0 and answer.at == at:
            message = rows.messages[key]
            tally.sent(at, message.account, answer.connector, message.destination, message.time)
    for key, at in {each for entries in all_entries for each in entries.ended}:
        end = rows.finals.get(key)
        if end is not None and end.at == at:
            message = rows.messages[key]
            answers = [answer for (of, _), answer in rows.sent.items() if of == key]
            connector = max((answer.connector for answer in answers), default=message.connector)
            taken = max((answer.at for answer in answers if answer.status == 0), default=None)
            refund = sum(e.amount for e in rows.ledger if e.message == key and e.kind is EntryKind.REFUND)
            if end.state is None:
                tally.cancelled(at, message.account, connector, message.destination, refund)
            else:
                waited = -1 if taken is None else at - taken
                tally.ended(at, message.account, connector, message.destination, end.state, end.err, refund, waited)
    for key in {key for entries in all_entries for key in entries.inbound} & rows.inbound.keys():
        each = rows.inbound[key]
        tally.inbound(each.at, each.account, each.connector, each.sender, each.price)
    return tally
