"""Tallies: cells of minutes that are being counted, from facts or from rows."""

from typing import Final

from heliograph.domain.message.ids import time_of
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.numbers.country import UNKNOWN, country_and_area_of
from heliograph.domain.series import WIDTH_MS, Cell, CellKey, Grain

MOST_CELLS = 5_000
"""Most cells that a tally counts by country and network. Numbers in further cells are counted without both."""

MINUTE: Final = WIDTH_MS[Grain.MINUTE]
"""Milliseconds."""

Slot = tuple[int, int, int, str, str]
"""Key of a cell: the beginning of its minute, account, connector, country, network."""


def failure_of(state: Delivery, code: str) -> str:
    """Returns the name of a failure, by state and the operator's own code, such as `UNDELIV 011`."""
    return f"{state.name} {code}" if code else state.name


class Tally:
    """Counts of minutes."""

    def __init__(self) -> None:
        self._cells: dict[Slot, Cell] = {}
        self._last = Cell()
        """The cell of the latest call, and its key. Facts of a commit are mostly of the same cell."""
        self._begin = self._end = 0
        self._account = self._connector = -1
        self._area = self._network = ""

    def __bool__(self) -> bool:
        return bool(self._cells)

    def cell(self, at: int, account: int, connector: int, number: str, network: str = "") -> Cell:
        """Returns the cell of a time, an account, a connector, the country of a number and its network."""
        if (
            self._begin <= at < self._end
            and connector == self._connector
            and account == self._account
            and network == self._network
            and number.startswith(self._area)
        ):
            return self._last
        minute = at - at % MINUTE
        country, self._area = country_and_area_of(number)
        self._begin = minute
        self._end = minute + MINUTE if self._area else 0
        self._account, self._connector, self._network = account, connector, network
        self._last = self._found((minute, account, connector, country, network))
        return self._last

    def _found(self, slot: Slot) -> Cell:
        cells = self._cells
        if slot not in cells and len(cells) >= MOST_CELLS:
            slot = (*slot[:3], UNKNOWN, "")
        cell = cells.get(slot)
        if cell is None:
            cell = cells[slot] = Cell()
        return cell

    def accepted(
        self, key: int, account: int, connector: int, number: str, network: str, segments: int, price: int
    ) -> None:
        """Counts a message when its key was given."""
        cell = self.cell(time_of(key), account, connector, number, network)
        cell.accepted += 1
        cell.segments += segments
        cell.spend += price

    def cancelled(self, at: int, account: int, connector: int, number: str, network: str, refund: int) -> None:
        """Counts a message that was cancelled."""
        cell = self.cell(at, account, connector, number, network)
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
        for (minute, account, connector, country, network), cell in sorted(
            self._cells.items(), key=lambda each: each[0]
        ):
            slot = (minute - minute % width, CellKey(account, connector, country, network))
            known = found.get(slot)
            if known is None:
                known = found[slot] = Cell()
            known.add(cell)
        return dict(sorted(found.items(), key=lambda each: each[0]))
