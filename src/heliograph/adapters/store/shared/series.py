"""`app.ports.Series`: counts by minute, hour, day, week and eight weeks.

A bucket of a minute, hour or day also has *sums*: a cell for each connector, each country and each network, and one for
everything. So a chart reads a row of each bucket instead of hundreds. The row of a sum has the number of its grain plus
SUMS, and ANY or ANYWHERE for each part of its key that is not told apart.
"""

import json
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from heliograph.adapters.store.shared.steps import Operations, Q, Rows, Steps, browse, first, listing, write
from heliograph.app.observing.tally import Tally
from heliograph.app.ports.series import SeriesCell, SeriesQuery
from heliograph.domain.series import COUNTS, Cell, CellKey, Grain, count
from heliograph.domain.sketch import add_packed, decode_sketch, encode_sketch, sketch_of

ANY: Final = -1
ANYWHERE: Final = "*"
SUMS: Final = 16
"""Difference between the numbers of a grain and of its sums."""

SUMS_OF_A_CELL: Final = 4
SUMMED: Final = (Grain.MINUTE, Grain.HOUR, Grain.DAY)


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
            [
                SeriesCell(grain, start, key, cell)
                for grain in Grain
                for (start, key), cell in tally.widened(grain).items()
            ]
        )
        yield Q.delete_series_owed(ids=[number for number, _, _ in owed])
        return len(owed)

    @listing
    def points(self, query: SeriesQuery) -> Steps[list[tuple[int, Cell]]]:
        if _has_sums(query):
            rows = yield Q.points_of_sums(**series_values(query, SUMS))
        else:
            rows = yield Q.series_points(**series_values(query))
        return [(start, Cell(map(int, counts))) for start, *counts in rows]

    @browse
    def totals(self, query: SeriesQuery) -> Steps[list[tuple[CellKey, Cell]]]:
        rows = yield Q.series_totals(**series_values(query))
        return [(CellKey(*row[:4]), Cell(map(int, row[4:]))) for row in rows]

    @browse
    def details(self, query: SeriesQuery) -> Steps[list[SeriesCell]]:
        rows = yield Q.series_details(**series_values(query))
        return [
            SeriesCell(query.grain, start, CellKey(account, connector, country, network), _detailed(Cell(), details))
            for start, account, connector, country, network, *details in rows
        ]

    @browse
    def sums(self, query: SeriesQuery) -> Steps[list[tuple[CellKey, Cell]]]:
        return _summed((yield Q.series_details(**series_values(query))))

    @browse
    def delays(self, query: SeriesQuery, bounds: Sequence[int]) -> Steps[list[Cell]]:
        if _has_sums(query):
            rows = yield Q.delays_of_sums(**series_values(query, SUMS))
        else:
            rows = yield Q.series_delays(**series_values(query))
        return _delays(rows, bounds)

    @write
    def forget(self, grain: Grain, before: int, limit: int) -> Steps[int]:
        yield Q.forget_series(grain=grain + SUMS, before=before, limit=SUMS_OF_A_CELL * limit)
        return len((yield Q.forget_series(grain=int(grain), before=before, limit=limit)))


def series_values(query: SeriesQuery, kind: int = 0) -> dict[str, Any]:
    """`kind`: SUMS for sums, 0 for cells."""
    return {
        "grain": query.grain + kind,
        "start": query.start,
        "end": query.end,
        "account": ANY if query.account is None else query.account,
        "connector": ANY if query.connector is None else query.connector,
        "country": ANYWHERE if query.country is None else query.country,
        "network": ANYWHERE if query.network is None else query.network,
    }


def _add(cells: Sequence[SeriesCell]) -> Steps[None]:
    """Adds to the stored cells. They are locked."""
    for kind, each in (*((0, cell) for cell in cells), *((SUMS, cell) for cell in sums_of(cells))):
        found = yield from first(Q.series_cell(**place_values(each, kind)))
        cell = Cell()
        if found is not None:
            cell = _detailed(Cell(found[: len(COUNTS)]), found[len(COUNTS) :])
        cell.add(each.cell)
        yield Q.put_series_cell(**place_values(each, kind), **cell_values(cell))


def sums_of(cells: Iterable[SeriesCell]) -> list[SeriesCell]:
    """Returns the sums of the cells."""
    sums: dict[tuple[Grain, int, CellKey], Cell] = {}
    for each in cells:
        if each.grain in SUMMED:
            for key in (
                CellKey(ANY, ANY, ANYWHERE, ANYWHERE),
                CellKey(ANY, each.key.connector, ANYWHERE, ANYWHERE),
                CellKey(ANY, ANY, each.key.country, ANYWHERE),
                CellKey(ANY, ANY, ANYWHERE, each.key.network),
            ):
                sums.setdefault((each.grain, each.start, key), Cell()).add(each.cell)
    return [SeriesCell(*place, cell) for place, cell in sums.items()]


def _has_sums(query: SeriesQuery) -> bool:
    """Returns True if the cells of each bucket that the query finds have a sum."""
    told_apart = [each for each in (query.connector, query.country, query.network) if each is not None]
    return query.grain in SUMMED and query.account is None and len(told_apart) <= 1


def place_values(cell: SeriesCell, kind: int = 0) -> dict[str, Any]:
    """`kind`: SUMS for sums, 0 for cells."""
    key = cell.key
    return {
        "grain": cell.grain + kind,
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


def _summed(rows: Rows) -> list[tuple[CellKey, Cell]]:
    """Adds up rows of details. There may be thousands, so this makes no cell or sketch for a row."""
    cells: dict[tuple[Any, ...], tuple[Cell, list[int], list[int]]] = {}
    for row in rows:
        failures, refusals, to_operator, to_receipt = row[5:]
        key = tuple(row[1:5])
        found = cells.get(key)
        if found is None:
            found = cells[key] = Cell(), [], []
        for text, counts in ((failures, found[0].failures), (refusals, found[0].refusals)):
            if text:
                for name, number in json.loads(text).items():
                    if name in counts:
                        counts[name] += number
                    else:
                        count(counts, name, number)
        add_packed(bytes(to_operator), found[1])
        add_packed(bytes(to_receipt), found[2])
    for cell, operator_delays, receipt_delays in cells.values():
        cell.to_operator, cell.to_receipt = sketch_of(operator_delays), sketch_of(receipt_delays)
    return [(CellKey(*key), cell) for key, (cell, _, _) in cells.items()]


def _delays(rows: Rows, bounds: Sequence[int]) -> list[Cell]:
    """Adds up rows of delays by steps of time."""
    steps: list[tuple[list[int], list[int]]] = [([], []) for _ in bounds[1:]]
    for start, to_operator, to_receipt in rows:
        operator_delays, receipt_delays = steps[bisect_right(bounds, start) - 1]
        add_packed(bytes(to_operator), operator_delays)
        add_packed(bytes(to_receipt), receipt_delays)
    cells = [Cell() for _ in steps]
    for cell, sums in zip(cells, steps, strict=True):
        cell.to_operator, cell.to_receipt = map(sketch_of, sums)
    return cells


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
