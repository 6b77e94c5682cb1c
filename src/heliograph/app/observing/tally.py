"""Tallies: cells of minutes that are being counted, from facts or from rows."""

from collections import Counter

from heliograph.domain.country import UNKNOWN, country_of
from heliograph.domain.ids import time_of
from heliograph.domain.receipt import Delivery
from heliograph.domain.series import WIDTH_MS, Cell, CellKey, Grain
from heliograph.domain.sketch import Sketch, bucket_of

MOST_CELLS = 5_000
"""The most cells that one tally counts apart by country; the numbers of further ones have no country."""

_MINUTE = WIDTH_MS[Grain.MINUTE]

CODE_DIGITS = 4
"""The first digits of a number, by which a cell is found again; they tell the country."""

Near = tuple[int, int, str]
"""Account, connector and the first digits of a number."""

Slot = tuple[int, int, int, str]
"""Key of a cell: the beginning of its minute, account, connector, country."""


class TallyCell(Cell):
    """A cell that is being counted. Delays are put into its sketches when all are there: equal ones cost once."""

    __slots__ = ("operator_ms", "receipt_ms")

    def __init__(self) -> None:
        super().__init__()
        self.operator_ms: list[int] = []
        self.receipt_ms: list[int] = []

    def settle(self) -> None:
        """Puts the delays into the sketches."""
        _put(self.operator_ms, self.to_operator)
        _put(self.receipt_ms, self.to_receipt)
        self.operator_ms, self.receipt_ms = [], []


def _put(delays: list[int], sketch: Sketch) -> None:
    for value, number in Counter(delays).items():
        bucket = bucket_of(value)
        sketch[bucket] = sketch.get(bucket, 0) + number


def failure_of(state: Delivery, code: str) -> str:
    """Returns how a failure is named: by state and the operator's own code."""
    return f"{state.name} {code}" if code else state.name


class Tally:
    """Counts of minutes."""

    def __init__(self) -> None:
        self._cells: dict[Slot, TallyCell] = {}
        self._minute = 0
        self._near: dict[Near, TallyCell] = {}
        """Cells of one minute by account, connector and first digits: nearly all that is counted is of one minute."""

    def __bool__(self) -> bool:
        return bool(self._cells)

    def cell(self, at: int, account: int, connector: int, number: str) -> TallyCell:
        """Returns the cell of a time, an account, a connector and the country of a number."""
        near = self.near(at)
        place = (account, connector, number[:CODE_DIGITS])
        cell = near.get(place)
        if cell is None:
            cell = near[place] = self._found(at - at % _MINUTE, account, connector, country_of(number))
        return cell

    def near(self, at: int) -> dict[Near, TallyCell]:
        """Returns the cells of the minute of a time that were found before, by account, connector and first digits."""
        minute = at - at % _MINUTE
        if minute != self._minute:
            self._minute = minute
            self._near = {}
        return self._near

    def _found(self, minute: int, account: int, connector: int, country: str) -> TallyCell:
        cells = self._cells
        slot = (minute, account, connector, country)
        if slot not in cells and len(cells) >= MOST_CELLS:
            slot = (minute, account, connector, UNKNOWN)
        cell = cells.get(slot)
        if cell is None:
            cell = cells[slot] = TallyCell()
        return cell

    def accepted(self, key: int, account: int, connector: int, number: str, segments: int, price: int) -> None:
        """Counts a message when its key was given."""
        cell = self.cell(time_of(key), account, connector, number)
        cell.accepted += 1
        cell.segments += segments
        cell.spend += price

    def sent(self, at: int, account: int, connector: int, number: str, due: int) -> None:
        """Counts a message whose first part an operator took; `due` is when it was to be sent."""
        cell = self.cell(at, account, connector, number)
        cell.submitted += 1
        cell.operator_ms.append(at - due)

    def ended(
        self, at: int, account: int, connector: int, number: str, state: Delivery, code: str, refund: int, waited: int
    ) -> None:
        """Counts a message that ended. `waited` is since the operator took it, below 0 where that is not known."""
        cell = self.cell(at, account, connector, number)
        if refund:
            cell.spend -= refund
        if state is not Delivery.DELIVRD:
            cell.fail(failure_of(state, code))
            return
        cell.delivered += 1
        if waited >= 0:
            cell.receipt_ms.append(waited)

    def cancelled(self, at: int, account: int, connector: int, number: str, refund: int) -> None:
        """Counts a message that was cancelled."""
        cell = self.cell(at, account, connector, number)
        cell.cancelled += 1
        cell.spend -= refund

    def inbound(self, at: int, account: int, connector: int, number: str, price: int) -> None:
        """Counts a message from a phone."""
        cell = self.cell(at, account, connector, number)
        cell.inbound += 1
        cell.spend += price

    def refused(self, at: int, account: int, reason: str, requests: int) -> None:
        """Counts requests that were refused within a minute."""
        self.cell(at, account, 0, UNKNOWN).refuse(reason, requests)

    def widened(self, grain: Grain) -> dict[tuple[int, CellKey], Cell]:
        """Returns the cells of wider buckets of time, in their order."""
        width = WIDTH_MS[grain]
        found: dict[tuple[int, CellKey], Cell] = {}
        for (minute, account, connector, country), cell in sorted(self._cells.items(), key=lambda each: each[0]):
            cell.settle()
            slot = (minute - minute % width, CellKey(account, connector, country))
            known = found.get(slot)
            if known is None:
                known = found[slot] = Cell()
            known.add(cell)
        return dict(sorted(found.items(), key=lambda each: each[0]))
