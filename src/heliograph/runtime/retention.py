"""Retention at work: small transactions with pauses between them, so that commits rarely wait."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from heliograph.app.configuration import Account
from heliograph.app.kept_data import RetentionSweep
from heliograph.app.observing.counters import RetentionCounters
from heliograph.app.ports import Clock, Journal, Store, Unavailable
from heliograph.domain.calendar import DAY_MS
from heliograph.domain.message.ids import time_of
from heliograph.domain.message.retention import SCHEDULED, RetentionDays, Stage
from heliograph.runtime.outage import Outage

PASS_S: Final = 60.0
"""Seconds between two passes over all accounts."""

AWAY_S: Final = 1.0
"""Seconds before the next try after the store was away."""

RETRY_PASSES: Final = 30
"""Passes between two checks of messages with pending work; messages to be erased are checked in each pass."""

TARGET_S: Final = 0.006
"""Seconds that a transaction may take: usually the longest wait of a commit for it."""

SHARE: Final = 0.2
"""Share of the time that its transactions may take."""

PAUSE_S: Final = 0.01
"""Least seconds between two transactions."""

LEAST: Final = 32
MOST: Final = 512
"""Fewest and most messages that a transaction reads; with fewer, a slow disk would do nothing but sync."""

QUIET_S: Final = 600.0
"""Seconds without an event before a message's row is deleted. A failed commit may be on disk after all, and is
repeated: its facts must still find their message."""

NUMBERS: Final = 500
"""Numbers of suppressions that a transaction forgets, and lists or notices of balances that it deletes."""


@dataclass(slots=True)
class TransactionSize:
    """Finds how many messages fit a transaction of TARGET_S."""

    messages: int = LEAST

    def learn(self, seconds: float) -> float:
        """Notes the seconds that a transaction took. Returns the seconds to pause now."""
        if seconds > 1.5 * TARGET_S:
            self.messages = max(LEAST, self.messages // 2)
        elif seconds < TARGET_S / 2:
            self.messages = min(MOST, self.messages * 2)
        return max(PAUSE_S, seconds * (1 / SHARE - 1))


class RetentionKeeper:
    """Redacts and deletes data older than the settings and the accounts allow."""

    def __init__(
        self,
        store: Store,
        kept: RetentionDays,
        clock: Clock,
        journal: Journal,
        outage: Outage,
        counters: RetentionCounters,
    ) -> None:
        """`kept`: retention of accounts without their own, and of data without an account."""
        self._store = store
        self._kept = kept
        self._clock = clock
        self._journal = journal
        self._outage = outage
        self._counters = counters
        self._size = TransactionSize()
        self._passes = 0
        self._away: tuple[int, int] | None = None
        """The last outage of the store, as noticed here: times (ms) when the store was first and last found away."""

    async def run(self) -> None:
        """Makes passes until cancelled. While the store is down, it retries each second: an outage ends when all tasks
        that noticed it have used the store again.
        """
        pause = PASS_S
        while True:
            await asyncio.sleep(pause)
            try:
                await self.look_through()
                self._outage.found_there("retention")
                pause = PASS_S
            except Unavailable as problem:
                self._outage.found_away("retention", problem)
                pause = AWAY_S
                now = self._clock.now()
                self._away = (now if self._away is None else self._away[0], now)

    async def look_through(self) -> None:
        """Makes a pass over all accounts. Raises Unavailable."""
        before = self._counters.done.copy()
        now = self._clock.now()
        rules = {0: self._kept}
        for account, _ in await self._store.accounts.all():
            rules[account.id] = retention_of(account, self._kept)
        try:
            for number, rule in rules.items():
                await self._look_at(number, rule, now)
            await self._retry(rules, self._quiet(now))
            if self._counters.done - before:
                await self._store.retention.scrub()
        finally:
            self._counters.lag_ms.clear()
            done = self._counters.done - before
            if done:
                counts = {f"{stage.label}s": done[stage] for stage in Stage if done[stage]}
                self._journal.log("info", "retention.done", **counts)
        self._passes += 1

    def _quiet(self, now: int) -> int:
        """Returns the time since which a message must have had no event before its row is deleted: QUIET_S ago, and as
        long before an outage that has just ended, because commits from before it may still be repeated.
        """
        quiet = int(QUIET_S * 1000)
        if self._away is not None:
            first, last = self._away
            if now - last < quiet:
                return first - quiet
            self._away = None
        return now - quiet

    async def _look_at(self, account: int, rule: RetentionDays, now: int) -> None:
        for stage in SCHEDULED:
            before = rule.before(stage, now)
            if before is None:
                continue
            for inbound in (False, True):
                if account or inbound:
                    await self._sweep(RetentionSweep(account, stage, inbound, before, self._quiet(now)))
            if account and stage is Stage.NUMBER:
                await self._repeat(self._store.retention.forget_suppressed, account, before)
            if account and stage is Stage.ROW:
                await self._repeat(self._store.retention.drop_lists, account, min(before, self._quiet(now)))
                await self._repeat(self._store.retention.drop_balance_notices, account, min(before, self._quiet(now)))
        if account and rule.shortest is not None:
            await self._store.retention.forget_refused(account, now - int(rule.shortest * DAY_MS))

    async def _repeat(self, work: Callable[[int, int, int], Awaitable[int]], account: int, before: int) -> None:
        """Calls an operation of the store until it finds no further rows."""
        done = NUMBERS
        while done == NUMBERS:
            done = await work(account, before, NUMBERS)
            await asyncio.sleep(PAUSE_S)

    async def _sweep(self, sweep: RetentionSweep) -> None:
        while True:
            limit, started = self._size.messages, self._clock.monotonic()
            step = await self._store.retention.advance(sweep, limit)
            pause = self._size.learn(self._clock.monotonic() - started)
            self._counters.done[sweep.stage] += step.done
            self._counters.left[sweep.stage] += step.looked - step.done
            if step.looked < limit:
                self._counters.lag_ms[sweep.stage] = 0
                return
            reached = time_of(step.key) if sweep.inbound else step.time
            self._counters.lag_ms[sweep.stage] = max(0, sweep.before - reached)
            await asyncio.sleep(pause)

    async def _retry(self, rules: dict[int, RetentionDays], quiet: int) -> None:
        """Checks messages with pending work again, if the stage is still wanted."""
        for stage in Stage if self._passes % RETRY_PASSES == 0 else (Stage.ERASURE,):
            for account in await self._store.retention.accounts_kept(stage):
                rule = rules.get(account)
                if stage is Stage.ERASURE or (rule is not None and rule.before(stage, 0) is not None):
                    await self._retry_all(account, stage, quiet)

    async def _retry_all(self, account: int, stage: Stage, quiet: int) -> None:
        beyond = 0
        while True:
            limit, started = self._size.messages, self._clock.monotonic()
            step = await self._store.retention.retry(account, stage, beyond, limit, quiet)
            pause = self._size.learn(self._clock.monotonic() - started)
            self._counters.done[stage] += step.done
            if step.looked < limit:
                return
            beyond = step.key
            await asyncio.sleep(pause)


def retention_of(account: Account, kept: RetentionDays) -> RetentionDays:
    """Returns how long the account's data are kept."""
    return kept.override(account.retain_text_days, account.retain_number_days, account.retain_days)
