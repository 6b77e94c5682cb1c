"""Adding to the stored series what a node has counted, every few seconds."""

from typing import Final

from heliograph.app.observing.refusals import Refusals
from heliograph.app.observing.series_counter import SeriesBatch, SeriesCounter
from heliograph.app.ports import Series, Unavailable
from heliograph.app.ports.series import CountedCommits, SeriesCell
from heliograph.domain.series import Grain
from heliograph.runtime.background import Background, every

WRITE_S: Final = 5.0
"""Seconds between two writes, by which charts lag behind. A crash loses nothing of it but refused requests."""


class SeriesWriter:
    """Writes what `counter` and `refusals` have counted."""

    def __init__(self, counter: SeriesCounter, refusals: Refusals, store: Series, node: int) -> None:
        """Does nothing yet; `start` begins. `node` is who records the commits that `counter` watches."""
        self._counter = counter
        self._refusals = refusals
        self._store = store
        self._node = node
        self._batch: SeriesBatch | None = None
        self._task = Background("series", every(WRITE_S, self.write))

    def start(self) -> None:
        """Starts to write every WRITE_S."""
        self._task.start()

    async def stop(self) -> None:
        """Stops, and writes what is left if the store takes it."""
        await self._task.stop()
        await self.write()

    async def write(self) -> None:
        """Writes what was counted since the last time. What the store did not take is written again as it was, and what
        was counted since then after it: so the store can tell what it has."""
        while True:
            if self._batch is None:
                batch = self._counter.take()
                for (minute, account, reason), requests in self._refusals.take_minutes().items():
                    batch.tally.refused(minute, account, reason.value, requests)
                if not batch:
                    return
                self._batch = batch
            try:
                await self._add(self._batch)
            except Unavailable:
                return
            self._batch = None

    async def _add(self, batch: SeriesBatch) -> None:
        cells = [
            SeriesCell(grain, start, key, cell)
            for grain in Grain
            for (start, key), cell in batch.tally.widened(grain).items()
        ]
        await self._store.add(cells, CountedCommits(self._node, batch.upto, tuple(batch.odd), batch.counted))
