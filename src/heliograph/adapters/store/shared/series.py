"""`app.ports.Series`: counts by minute, hour and day."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from heliograph.adapters.store.shared.steps import Operations, Q, Query, Row, Rows, Steps, browse, first, listing, write
from heliograph.app.observing.tally import Tally
from heliograph.app.observing.trail import read_trail
from heliograph.app.ports.series import DAY_MS, CountedCommits, SeriesCell, SeriesQuery
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.series import COUNTS, Cell, CellKey, Grain
from heliograph.domain.sketch import decode_sketch, encode_sketch

KEYS: Final = 500
"""Keys that one statement is given."""

ANY: Final = -1
ANYWHERE: Final = "*"


class StoredSeries(Operations):
    @write
    def add(self, cells: Sequence[SeriesCell], commits: CountedCommits) -> Steps[bool]:
        yield Q.lock_series()
        if commits.odd:
            yield Q.leave_trails(node=commits.node, odd=list(commits.odd))
        if commits.upto:
            trails = yield Q.trails_counted(node=commits.node, upto=commits.upto)
            if commits.any_facts and not trails:
                return False
        yield from _add(cells)
        return True

    async def settle(self, limit: int) -> int:
        if not await self._any_left():
            return 0  # and nobody waited
        return await self._settle(limit)

    @browse
    def _any_left(self) -> Steps[bool]:
        return bool((yield Q.any_trail_left()))

    @write
    def _settle(self, limit: int) -> Steps[int]:
        yield Q.lock_series()
        trails = yield Q.trails_left(limit=limit)
        if not trails:
            return 0
        tally = yield from _count_rows([bytes(keys) for _, keys in trails])
        yield from _add(
            SeriesCell(grain, start, key, cell)
            for grain in Grain
            for (start, key), cell in tally.widened(grain).items()
        )
        yield Q.delete_trails(ids=[number for number, _ in trails])
        return len(trails)

    @listing
    def points(self, query: SeriesQuery) -> Steps[list[tuple[int, Cell]]]:
        rows = yield Q.series_points(**series_values(query))
        return [(start, Cell(map(int, counts))) for start, *counts in rows]

    @browse
    def totals(self, query: SeriesQuery) -> Steps[list[tuple[CellKey, Cell]]]:
        rows = yield Q.series_totals(**series_values(query))
        return [(CellKey(*row[:3]), Cell(map(int, row[3:]))) for row in rows]

    @browse
    def details(self, query: SeriesQuery, since: int = 0, until: int = DAY_MS) -> Steps[list[SeriesCell]]:
        rows = yield Q.series_details(**series_values(query), since=since, until=until)
        return [
            SeriesCell(query.grain, start, CellKey(account, connector, country), _detailed(Cell(), details))
            for start, account, connector, country, *details in rows
        ]

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
    }


def _add(cells: Iterable[SeriesCell]) -> Steps[None]:
    """Adds to the cells that are kept. They are locked."""
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
    }


def cell_values(cell: Cell) -> dict[str, Any]:
    return {
        **dict(zip(COUNTS, cell.counts, strict=True)),
        "failures": _encode(cell.failures),
        "refusals": _encode(cell.refusals),
        "to_operator": encode_sketch(cell.to_operator),
        "to_receipt": encode_sketch(cell.to_receipt),
    }


def _encode(counts: dict[str, int]) -> str:
    return json.dumps(counts, separators=(",", ":")) if counts else ""


def _detailed(cell: Cell, details: Sequence[Any]) -> Cell:
    """Fills in what is kept encoded."""
    failures, refusals, to_operator, to_receipt = details
    cell.failures = json.loads(failures) if failures else {}
    cell.refusals = json.loads(refusals) if refusals else {}
    cell.to_operator = decode_sketch(bytes(to_operator))
    cell.to_receipt = decode_sketch(bytes(to_receipt))
    return cell


def _count_rows(trails: Iterable[bytes]) -> Steps[Tally]:
    """Counts what trails name, as far as there are rows: each once, and an end only at the time that the trail says."""
    accepted: dict[int, None] = {}
    sent: dict[tuple[int, int], None] = {}
    ended: dict[tuple[int, int], None] = {}
    inbound: dict[int, None] = {}
    for trail in trails:
        entries = read_trail(trail)
        accepted |= dict.fromkeys(entries.accepted)
        sent |= dict.fromkeys(entries.sent)
        ended |= dict.fromkeys(entries.ended)
        inbound |= dict.fromkeys(entries.inbound)
    tally = Tally()
    for key, account, connector, number, segments, price in (yield from _in_pieces(Q.trail_accepted, accepted)):
        tally.accepted(key, account, connector, number, segments, price)
    for key, at, account, connector, number, due in (
        yield from _in_pieces(Q.trail_sent, dict.fromkeys(key for key, _ in sent))
    ):
        if (key, at) in sent:
            tally.sent(at, account, connector, number, due)
    for key, at, *rest in (yield from _in_pieces(Q.trail_ended, dict.fromkeys(key for key, _ in ended))):
        if (key, at) in ended:
            _end(tally, at, *rest)
    for _, at, account, connector, sender, price in (yield from _in_pieces(Q.trail_inbound, inbound)):
        tally.inbound(at, account, connector, sender, price)
    return tally


def _end(
    tally: Tally, at: int, account: int, connector: int, number: str, state: int | None, err: str, refund: int,
    taken: int | None,
) -> None:  # fmt: skip
    if state is None:
        tally.cancelled(at, account, connector, number, refund)
    else:
        waited = -1 if taken is None else at - taken
        tally.ended(at, account, connector, number, Delivery(state), err, refund, waited)


def _in_pieces(query: Callable[..., Query], keys: Iterable[int]) -> Steps[list[Row]]:
    """Returns the rows of a statement over any number of keys."""
    found: list[Row] = []
    wanted = list(keys)
    for start in range(0, len(wanted), KEYS):
        rows: Rows = yield query(keys=wanted[start : start + KEYS])
        found += rows
    return found
