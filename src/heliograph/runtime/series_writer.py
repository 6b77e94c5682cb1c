"""Adds a node's counts to the stored series every few seconds."""

from typing import Final

from heliograph.app.observing.refusals import Refusals
from heliograph.app.observing.series_counter import SeriesCounter
from heliograph.app.ports import Series, Unavailable
from heliograph.app.ports.series import SeriesCell
from heliograph.domain.series import Grain
from heliograph.runtime.tasks import Background, Watch, every

MOST_CELLS: Final = 500
"""Cells of a transaction: some 30 ms of the store's writer, after which it has its turn for messages."""

WRITE_S: Final = 5.0
"""Seconds between two writes. Charts lag behind by as much, and a crash loses the counts of as much time."""


class SeriesWriter:
    """Writes the counts of `counter` and `refusals`."""

    def __init__(self, counter: SeriesCounter, refusals: Refusals, store: Series) -> None:
        """The writer does nothing until `start`."""
        self._counter = counter
        self._refusals = refusals
        self._store = store
        self._unwritten: list[SeriesCell] = []
        self._task = Background("series", every(WRITE_S, self.write))

    def start(self, watch: Watch) -> None:
        """Starts to write every WRITE_S."""
        self._task.start(watch)

    async def stop(self) -> None:
        """Stops, and writes the remaining counts if the store takes them."""
        await self._task.stop()
        await self.write()

    async def write(self) -> None:
        """Writes the counts that the store did not take before, and the counts since the last call. Under load there
        are new counts after each write; they wait for the next call."""
        if await self._write_cells():
            self._unwritten = self._take()
            await self._write_cells()

    async def _write_cells(self) -> bool:
        """Writes the cells; returns whether the store took all of them."""
        while self._unwritten:
            try:
                await self._store.add(self._unwritten[:MOST_CELLS])
            except Unavailable:
                return False
            del self._unwritten[:MOST_CELLS]
        return True

    def _take(self) -> list[SeriesCell]:
        tally = self._counter.take()
        for (minute, account, reason), requests in self._refusals.take_minutes().items():
            tally.refused(minute, account, reason.value, requests)
        return [
            SeriesCell(grain, start, key, cell)
            for grain in Grain
            for (start, key), cell in tally.widened(grain).items()
        ]
