"""The rounds of the pumping guard: counts watched accounts' traffic, and holds traffic that looks like pumping."""

import asyncio
from contextlib import suppress
from typing import Final

from heliograph.app.configuration import TrafficHold
from heliograph.app.observing.traffic import TrafficWatch
from heliograph.app.ports import Accounts, Clock, Guard, Journal, Unavailable
from heliograph.app.sending.directory import Directory
from heliograph.domain.calendar import DAY_MS
from heliograph.domain.limits.pumping import TrafficCount, suspicion
from heliograph.runtime.tasks import Background

ROUND_S: Final = 5.0
"""Seconds between two rounds."""

ACCOUNTS_ROUNDS: Final = 120
"""Rounds after which the watched accounts are selected again even without a change, because young accounts grow old."""

PAIRS: Final = 200
"""Pairs of account and range in a transaction."""

BATCH: Final = 2_000
"""Rows that a round makes due, or deletes."""

HISTORY_MS: Final = 8 * DAY_MS
"""The time for which hours are kept for comparison."""

QUIET_MS: Final = DAY_MS
"""The time for which a released range is not held again."""


class TrafficGuard:
    """Judges the traffic that `watch` collects."""

    def __init__(
        self,
        watch: TrafficWatch,
        store: Guard,
        accounts: Accounts,
        directory: Directory,
        clock: Clock,
        journal: Journal,
        young_days: float,
    ) -> None:
        """`young_days`: days from their opening for which accounts with the guard `auto` are watched."""
        self._watch = watch
        self._store = store
        self._accounts = accounts
        self._directory = directory
        self._clock = clock
        self._journal = journal
        self._young_ms = int(young_days * DAY_MS)
        self._generation = -1
        self._rounds = 0
        self._names: dict[int, str] = {}
        self._task = Background("guard", self._run)

    def start(self) -> None:
        """Starts the rounds."""
        self._task.start()

    async def stop(self) -> None:
        """Stops; traffic not counted yet is lost."""
        await self._task.stop()

    async def _run(self) -> None:
        while True:
            with suppress(Unavailable):  # the commits log that the store is away
                await self.round()
            await asyncio.sleep(ROUND_S)

    async def round(self) -> None:
        """Does a round. Raises Unavailable."""
        now = self._clock.now()
        await self._look_for_accounts(now)
        counts = self._watch.take(now)
        for start in range(0, len(counts), PAIRS):
            await self._judge(counts[start : start + PAIRS], now)
        await self._store.let_go(now, BATCH)
        if self._rounds % ACCOUNTS_ROUNDS == 0:
            await self._store.forget(now - HISTORY_MS, BATCH)
        self._rounds += 1

    async def _look_for_accounts(self, now: int) -> None:
        generation = self._directory.generation
        if generation == self._generation and self._rounds % ACCOUNTS_ROUNDS:
            return
        found = [account for account, _ in await self._accounts.all()]
        self._generation = generation
        self._names = {account.id: account.name for account in found}
        self._watch.watched = frozenset(
            account.id
            for account in found
            if account.guard == "on" or (account.guard == "auto" and now - account.created < self._young_ms)
        )

    async def _judge(self, counts: list[TrafficCount], now: int) -> None:
        for figures in await self._store.add(counts, now - HISTORY_MS):
            why = suspicion(figures)
            if why is None:
                continue
            account, prefix = figures.now.account, figures.now.prefix
            if await self._store.hold(TrafficHold(account, prefix, now, why), now - QUIET_MS):
                name = self._names.get(account, str(account))
                self._journal.log("warning", "guard.held", account=name, prefix=prefix, problem=why)
