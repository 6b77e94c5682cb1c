"""`app.ports.Series`: counts by minute, hour and day."""

import json
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from heliograph.adapters.store.shared.steps import Operations, Q, Rows, Steps, browse, first, listing, write
from heliograph.app.observing.tally import Tally
from heliograph.app.ports.series import DAY_MS, SeriesCell, SeriesQuery
from heliograph.domain.series import COUNTS, WIDTH_MS, Cell, CellKey, Grain, count
from heliograph.domain.sketch import decode_sketch, encode_sketch, merge

ANY: Final = -1
ANYWHERE: Final = "*"


class StoredSeries(Operations):
    @write
    def add(self, cells: Sequence[SeriesCell]) -> Steps[None]:
        yield Q.lock_series()
        yield from _add(cells)

    async def settle(self, limit: int) -> int:
        if not await self._any_owed():
            return 0  # without waiting for the writer
        return await self._settle(limit)

    @browse
    def _any_owed(self) -> Steps[bool]:
        return bool((yield Q.any_series_owed()))

    @write
    def _settle(self, limit: int) -> Steps[int]:
        yield Q.lock_series()
        owed = yield Q.series_owed(limit=limit)
        if not owed:
            return 0
        tally = yield from _count_rows({key for _, key, at in owed if not at}, {key for _, key, at in owed if at})
        yield from _add(
            SeriesCell(grain, start, key, cell)
            for grain in Grain
            for (start, key), cell in tally.widened(grain).items()
        )
        yield Q.delete_series_owed(ids=[number for number, _, _ in owed])
        return len(owed)

    @listing
    def points(self, query: SeriesQuery) -> Steps[list[tuple[int, Cell]]]:
        rows = yield Q.series_points(**series_values(query))
        return [(start, Cell(map(int, counts))) for start, *counts in rows]

    @browse
    def totals(self, query: SeriesQuery) -> Steps[list[tuple[CellKey, Cell]]]:
        rows = yield Q.series_totals(**series_values(query))
        return [(CellKey(*row[:4]), Cell(map(int, row[4:]))) for row in rows]

    @browse
    def details(self, query: SeriesQuery, since: int = 0, until: int = DAY_MS) -> Steps[list[SeriesCell]]:
        rows = yield Q.series_details(**series_values(query), since=since, until=until)
        return [
            SeriesCell(query.grain, start, CellKey(account, connector, country, network), _detailed(Cell(), details))
            for start, account, connector, country, network, *details in rows
        ]

    @browse
    def sums(self, query: SeriesQuery, bounds: Sequence[int]) -> Steps[tuple[list[tuple[CellKey, Cell]], list[Cell]]]:
        rows = yield Q.series_details(**series_values(query), since=0, until=DAY_MS)
        return _summed(rows, WIDTH_MS[query.grain] // 2, bounds)

    @write
    def forget(self, grain: Grain, before: int, limit: int) -> Steps[int]:
        return len((yield Q.forget_series(grain=int(grain), before=before, limit=limit)))


def series_values(query: SeriesQuery) -> dict[str, Any]:
    return {
        "grain": int(query.grain),
        "start": query.start,
        "end": query.end,
        "account": ANY if query.account is None else query.account,
        "connector": ANY if query.connector is None else query.connector,
        "country": ANYWHERE if query.country is None else query.country,
        "network": ANYWHERE if query.network is None else query.network,
    }


def _add(cells: Iterable[SeriesCell]) -> Steps[None]:
    """Adds to the stored cells. They are locked."""
    for each in cells:
        found = yield from first(Q.series_cell(**place_values(each)))
        cell = Cell()
        if found is not None:
            cell = _detailed(Cell(found[: len(COUNTS)]), found[len(COUNTS) :])
        cell.add(each.cell)
        yield Q.put_series_cell(**place_values(each), **cell_values(cell))


def place_values(cell: SeriesCell) -> dict[str, Any]:
    key = cell.key
    return {
        "grain": int(cell.grain),
        "start": cell.start,
        "account": key.account,
        "connector": key.connector,
        "country": key.country,
        "network": key.network,
    }


def cell_values(cell: Cell) -> dict[str, Any]:
    return {
        **dict(zip(COUNTS, cell.counts, strict=True)),
        "failures": _encode(cell.failures),
        "refusals": _encode(cell.refusals),
        "to_operator": encode_sketch(cell.to_operator),
        "to_receipt": encode_sketch(cell.to_receipt),
    }


def _summed(rows: Rows, to_middle: int, bounds: Sequence[int]) -> tuple[list[tuple[CellKey, Cell]], list[Cell]]:
    """Adds up rows of details, which are in the order of time. `to_middle`: half the width of a bucket.

    A year has tens of thousands of rows. So this makes no cell for a row, and reads equal texts of JSON once.
    """
    cells: dict[tuple[int, int, str, str], Cell] = {}
    steps = [Cell() for _ in bounds[1:]]
    texts: dict[str, dict[str, int]] = {"": {}}
    at, step = -1, Cell()
    for start, account, connector, country, network, failures, refusals, to_operator, to_receipt in rows:
        if start != at:
            at, step = start, steps[bisect_right(bounds, start + to_middle) - 1]
        key = (account, connector, country, network)
        cell = cells.get(key)
        if cell is None:
            cell = cells[key] = Cell()
        for text, counts in ((failures, cell.failures), (refusals, cell.refusals)):
            if text not in texts:
                texts[text] = json.loads(text)
            for name, number in texts[text].items():
                count(counts, name, number)
        if to_operator:
            sketch = decode_sketch(bytes(to_operator))
            merge(cell.to_operator, sketch)
            merge(step.to_operator, sketch)
        if to_receipt:
            sketch = decode_sketch(bytes(to_receipt))
            merge(cell.to_receipt, sketch)
            merge(step.to_receipt, sketch)
    return [(CellKey(*key), cell) for key, cell in cells.items()], steps


def _encode(counts: dict[str, int]) -> str:
    return json.dumps(counts, separators=(",", ":")) if counts else ""


def _detailed(cell: Cell, details: Sequence[Any]) -> Cell:
    """Fills in the encoded columns."""
    failures, refusals, to_operator, to_receipt = details
    cell.failures = json.loads(failures) if failures else {}
    cell.refusals = json.loads(refusals) if refusals else {}
    cell.to_operator = decode_sketch(bytes(to_operator))
    cell.to_receipt = decode_sketch(bytes(to_receipt))
    return cell


def _count_rows(accepted: Collection[int], ended: Collection[int]) -> Steps[Tally]:
    """Counts messages from their rows. A reply to a phone may have been refused; then it has no row."""
    tally = Tally()
    if accepted:
        for row in (yield Q.owed_accepted(keys=sorted(accepted))):
            tally.accepted(*row)
    if ended:
        for row in (yield Q.owed_ended(keys=sorted(ended))):
            tally.cancelled(*row)
    return tally
