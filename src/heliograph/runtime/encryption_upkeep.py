"""The chores of encryption: reads the store's keys, re-encrypts old rows, and logs the rows that cannot be opened."""

import asyncio
from collections.abc import Callable

from heliograph.app.ports import Clock, Journal, Unavailable
from heliograph.app.ports.encryption import Encryption, KeyRefused
from heliograph.runtime.tasks import Background, Watch

REFRESH_S = 5.0
"""Seconds between two looks at the keys; far less than until a new key counts."""

BATCH = 200
"""Rows that are re-encrypted in a transaction."""

PAUSE_S = 0.02
"""Seconds between two such transactions, in which others write."""


class EncryptionUpkeep:
    """Runs the chores of a process."""

    def __init__(
        self, encryption: Encryption, clock: Clock, journal: Journal, refused: Callable[[], None], *, reseals: bool
    ) -> None:
        """`refused` is called once the keys cannot be used any more: the process must end, or it would take sealed rows
        for plain rows. `reseals`: whether this process seals old rows."""
        self._encryption = encryption
        self._clock = clock
        self._journal = journal
        self._refused = refused
        self._reseals = reseals
        self._sealing = False
        self._task = Background("encryption", self._run)

    def start(self, watch: Watch) -> None:
        """Starts the rounds."""
        self._task.start(watch)

    async def stop(self) -> None:
        """Ends the rounds. The next run continues with the remaining rows."""
        await self._task.stop()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(PAUSE_S if self._sealing else REFRESH_S)
            try:
                await self.step()
            except Unavailable:
                continue  # other tasks log the outage
            except KeyRefused as problem:
                self._journal.log("critical", "encryption.refused", problem=str(problem))
                self._refused()
                return

    async def step(self) -> None:
        """Reads the keys, logs damaged rows, and re-encrypts some rows. Raises Unavailable, KeyRefused."""
        for column, row in self._encryption.unreadable.take_fresh():
            self._journal.log("error", "encryption.unreadable", column=column, row=row)
        await self._encryption.refresh(self._clock.now())
        if not self._reseals:
            return
        more = await self._encryption.advance(self._clock.now(), BATCH)
        if more != self._sealing:
            self._sealing = more
            if more:
                self._journal.log("info", "encryption.resealing")
            else:
                self._journal.log("info", "encryption.resealed")
