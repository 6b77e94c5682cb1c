"""The rounds of the pumping guard: counts watched accounts' traffic, and tells of traffic that looks like pumping, or
holds it."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Final

from heliograph.app.configuration import TrafficHold
from heliograph.app.observing.traffic import TrafficWatch
from heliograph.app.ports import Accounts, Clock, Guard, Journal, Unavailable
from heliograph.app.sending.directory import Directory
from heliograph.domain.calendar import DAY_MS
from heliograph.domain.limits.pumping import QUIET_MS, GuardMode, TrafficCount, suspicion
from heliograph.runtime.tasks import Background, Watch

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
        mode: GuardMode,
        young_days: float,
    ) -> None:
        """`mode` is for accounts without a mode of their own, which are watched for `young_days` from their opening."""
        self._watch = watch
        self._store = store
        self._accounts = accounts
        self._directory = directory
        self._clock = clock
        self._journal = journal
        self._mode = mode
        self._young_ms = int(young_days * DAY_MS)
        self._generation = -1
        self._rounds = 0
        self._watched: dict[int, tuple[str, GuardMode]] = {}
        self._task = Background("guard", self._run)

    def start(self, watch: Watch) -> None:
        """Starts the rounds."""
        self._task.start(watch)

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
        modes = {each.id: self._mode if each.guard is None else GuardMode(each.guard) for each in found}
        self._watched = {
            each.id: (each.name, modes[each.id])
            for each in found
            if modes[each.id] is not GuardMode.OFF and (each.guard is not None or now - each.created < self._young_ms)
        }
        self._watch.watched = frozenset(self._watched)
        await self._end_holds(modes)
        self._generation = generation  # only now: if the store is away meanwhile, the next round does it again

    async def _end_holds(self, modes: dict[int, GuardMode]) -> None:
        """Ends the holds of accounts that are not to be held any more. They may be held again at once."""
        for held in await self._store.holds(0):
            mode = modes.get(held.hold.account, GuardMode.OFF)
            if mode is GuardMode.OFF:
                await self._store.release_all(held.hold.account, 0)
            elif mode is GuardMode.OBSERVE and not held.hold.is_observed:
                await self._store.hold(replace(held.hold, is_observed=True), 0)

    async def _judge(self, counts: list[TrafficCount], now: int) -> None:
        for figures in await self._store.add(counts, now - HISTORY_MS):
            why = suspicion(figures)
            if why is None:
                continue
            account, prefix = figures.now.account, figures.now.prefix
            if account not in self._watched:  # since a moment
                continue
            name, mode = self._watched[account]
            observes = mode is GuardMode.OBSERVE
            if not await self._store.hold(TrafficHold(account, prefix, now, why, observes), now - QUIET_MS):
                continue
            if observes:
                self._journal.log("warning", "guard.suspected", account=name, prefix=prefix, problem=why)
            else:
                self._journal.log("warning", "guard.held", account=name, prefix=prefix, problem=why)
