"""Adds a node's counts to the stored series every few seconds."""

from typing import Final

from heliograph.app.observing.refusals import Refusals
from heliograph.app.observing.series_counter import SeriesCounter
from heliograph.app.observing.tally import Tally
from heliograph.app.ports import Series, Unavailable
from heliograph.app.ports.series import SeriesCell
from heliograph.domain.series import Grain
from heliograph.runtime.tasks import Background, every

WRITE_S: Final = 5.0
"""Seconds between two writes. Charts lag behind by as much, and a crash loses the counts of as much time."""


class SeriesWriter:
    """Writes the counts of `counter` and `refusals`."""

    def __init__(self, counter: SeriesCounter, refusals: Refusals, store: Series) -> None:
        """The writer does nothing until `start`."""
        self._counter = counter
        self._refusals = refusals
        self._store = store
        self._unwritten: Tally | None = None
        self._task = Background("series", every(WRITE_S, self.write))

    def start(self) -> None:
        """Starts to write every WRITE_S."""
        self._task.start()

    async def stop(self) -> None:
        """Stops, and writes the remaining counts if the store takes them."""
        await self._task.stop()
        await self.write()

    async def write(self) -> None:
        """Writes the counts since the last call. Counts that the store did not take then come first."""
        while True:
            if self._unwritten is None:
                tally = self._counter.take()
                for (minute, account, reason), requests in self._refusals.take_minutes().items():
                    tally.refused(minute, account, reason.value, requests)
                if not tally:
                    return
                self._unwritten = tally
            try:
                await self._add(self._unwritten)
            except Unavailable:
                return
            self._unwritten = None

    async def _add(self, tally: Tally) -> None:
        await self._store.add(
            [
                SeriesCell(grain, start, key, cell)
                for grain in Grain
                for (start, key), cell in tally.widened(grain).items()
            ]
        )
