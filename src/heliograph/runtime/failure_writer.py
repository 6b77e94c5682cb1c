"""Writes failed sign-ins, known places and uses of keys; reads those of other nodes."""

from contextlib import suppress
from typing import Final

from heliograph.app.ports import Clock, SignIns, Unavailable
from heliograph.app.records import KeyUse, SignInFailure, SignInPlace
from heliograph.app.sending.failure_register import DAILY, PLACES, UNWRITTEN, FailureRegister
from heliograph.domain.calendar import DAY_MS
from heliograph.runtime.tasks import Background, Watch, every

WRITE_S: Final = 1.0
"""Seconds between two writes; a crash loses the failures since the last write."""

LATE_MS: Final = 5_000
"""Milliseconds by which another node's failures may be late: its clock differs, and its commit takes time."""

READ: Final = 20_000
"""Rows that are read at once."""

SOME: Final = 500
"""Rows of a transaction."""

FORGET_ROUNDS: Final = 60
"""Writes between two rounds of forgetting."""

PLACE_DAYS: Final = 90
"""Days for which a place stays known after its last success."""


class FailureWriter:
    """Writes the registers' notes once a second; reads those of earlier runs and other nodes."""

    def __init__(
        self, registers: list[FailureRegister], store: SignIns, clock: Clock, node: int, *, shared: bool
    ) -> None:
        """`shared`: other nodes write to the same store."""
        self._registers = {each.kind: each for each in registers}
        self._store = store
        self._clock = clock
        self._node = node
        self._shared = shared
        self._window_ms = int(max(each.counts.window for each in registers if each.kind != DAILY) * 1000)
        self._task = Background("sign-in failures", every(WRITE_S, self._round))
        self._rounds = 0
        self._since = 0
        self._seen: set[tuple[int, int, bytes]] = set()
        """Rows that were read and may be found again: time, node and name."""

    async def start(self, watch: Watch) -> None:
        """Reads the notes of earlier runs and other nodes, then starts to write. Raises Unavailable."""
        await self.read()
        places = await self._store.places(PLACES)
        for kind, register in self._registers.items():
            register.merge_places(each for each in reversed(places) if each.door == kind)
        self._task.start(watch)

    async def stop(self) -> None:
        """Stops, and writes the rest if the store is available."""
        await self._task.stop()
        await self.write()

    async def _round(self) -> None:
        await self.write()
        with suppress(Unavailable):  # the next round reads it again
            if self._shared:
                await self.read()
            self._rounds += 1
            if self._rounds % FORGET_ROUNDS == 0:
                await self.forget()

    async def write(self) -> None:
        """Writes the notes since the last call. Notes that the store does not accept stay in this process."""
        failures: list[SignInFailure] = []
        places: list[SignInPlace] = []
        uses: list[KeyUse] = []
        now = self._clock.now()
        for kind, register in self._registers.items():
            unwritten = register.take()
            for name, number in unwritten.failures.items():
                failures.append(SignInFailure(kind, name, self._node, now, number))
            places += [SignInPlace(kind, name, at) for name, at in unwritten.places.items()]
            uses += [KeyUse(account, key, at) for (account, key), at in unwritten.uses.items()]
        try:
            for start in range(0, max(len(failures), len(places), len(uses)), SOME):
                end = start + SOME
                await self._store.add(failures[start:end], places[start:end], uses[start:end])
        except Unavailable:
            return

    async def read(self) -> None:
        """Counts other nodes' failures since the last call. Raises Unavailable."""
        now = self._clock.now()
        fresh_from = self._since - LATE_MS
        since, daily_since = max(fresh_from, now - self._window_ms), max(fresh_from, now - DAY_MS)
        found = await self._store.failures(since, daily_since, self._node, READ)
        fresh = [each for each in found if (each.at, each.node, each.name) not in self._seen]
        for kind, register in self._registers.items():
            register.merge_failures((each for each in fresh if each.door == kind), self._clock.monotonic())
        self._since = now
        self._seen = {(each.at, each.node, each.name) for each in found}

    async def forget(self) -> None:
        """Deletes expired failures. Raises Unavailable."""
        now = self._clock.now()
        limit = UNWRITTEN * FORGET_ROUNDS
        places_before = now - PLACE_DAYS * DAY_MS
        await self._store.forget(now - 2 * self._window_ms, now - DAY_MS - LATE_MS, places_before, limit)
