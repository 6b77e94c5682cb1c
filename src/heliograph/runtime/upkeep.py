"""Upkeep: the chores done in rounds, such as expiry, searches for lost receipts, and the index of numbers."""

import asyncio
from dataclasses import replace

from heliograph.app.notices.account_cache import AccountCache
from heliograph.app.ports import Unavailable
from heliograph.app.ports.carrier_state import NODE_REPORT_MS
from heliograph.app.routing.quality import measure, quality_query
from heliograph.domain.message.ids import first_key_at
from heliograph.domain.series import Grain
from heliograph.runtime.connector_health import ConnectorHealth, ReceiptDoubts
from heliograph.runtime.engine_parts import EngineParts
from heliograph.runtime.environment import Environment, NodeRoles, TimeLimits
from heliograph.runtime.lease import Lease
from heliograph.runtime.queue_orders import QueueOrders
from heliograph.runtime.receipt_questions import ReceiptQuestions

HOUSEKEEPING_S = 1.0
"""Seconds between two rounds of housekeeping."""

SWEEP_ROUNDS = 5
"""Rounds of housekeeping between two searches for messages with an ended validity, and for inbound messages with parts
that waited long enough.
"""

OVERDUE_ROUNDS = 30
"""Rounds between two searches for receipts that never came, and for receipts that matched nothing."""

GATHERED_ROUNDS = 600
"""Rounds between two searches for messages of a dead node that have all part ends and no end; each death starts
searches too.
"""

DEATH_SEARCH_ROUNDS = (6, 60)
"""Rounds from the death of a node to such searches. A search leaves out the last five seconds (`ENDS_AFTER_MS`), and a
dead node is found after less. The later search finds ends of a node with a clock up to 50 s ahead.
"""

GATHERED_SPANS = 8
"""Spans of time that a round of such a search reads: three idle days take some ten seconds, and a busy span is still
read in small pieces.
"""

NODE_ROUNDS = round(NODE_REPORT_MS / 1_000 / HOUSEKEEPING_S)
"""Rounds of housekeeping between two reports of the node on itself."""

STATE_ROUNDS = 3
"""Rounds between two reports of the connectors' states for people."""

SERIES_ROUNDS = 10
"""Rounds between two searches for messages that series must count from their rows: cancelled messages, and messages of
nodes that died before they counted them."""

OWED_SERIES = 500
"""Messages that series count from their rows in a transaction."""

SERIES_KEPT_ROUNDS = 600
"""Rounds between two looks for series that are older than they are kept."""

NUMBERS_ROUNDS = 5
"""Rounds between two checks for enough new messages to be indexed by number."""

NUMBERS_BLOCK = 8_192
"""Messages that are indexed by number in a transaction. Smaller blocks make a search read more blocks; larger blocks
delay other transactions for longer.
"""

NUMBERS_BLOCKS = 4
"""Transactions of NUMBERS_BLOCK messages that a round of housekeeping may have: twice the messages that may come in a
second."""

RESUMED_BATCHES = 5
"""Transactions of BATCH messages of resumed accounts that a round may make due."""

BATCH = 2_000
"""Rows that housekeeping takes at once."""

ORPHAN_DAYS = 7
"""Days for which receipts that matched nothing are kept."""

REFUSED_DAYS = 14
"""Days for which counts of refused requests, and the last of these requests, are kept."""

ORPHANS = 1_000_000
"""Most receipts that matched nothing and are kept, the latest first: an operator may send more than the disk can
hold."""

EARLY_KEPT_MS = 60_000
"""Milliseconds for which early receipts stay in memory if nodes share a store: another node may have the message."""

SUPPRESSED_MS = 30_000
"""Milliseconds. Suppressions by other processes are searched this far back: more than their clocks differ."""

DOUBT_ROUNDS = 3_600
"""Rounds between two looks for receipts that are too good to be true."""

QUALITY_ROUNDS = 60
"""Rounds between two readings of the connectors' quality."""

HOUR_MS = 3_600_000


class Housekeeping:
    """Runs the rounds of housekeeping."""

    def __init__(
        self,
        environment: Environment,
        limits: TimeLimits,
        node: int,
        roles: NodeRoles,
        parts: EngineParts,
        accounts: AccountCache,
        lease: Lease | None,
        orders: QueueOrders,
        health: ConnectorHealth,
    ) -> None:
        """Makes the rounds; `run` starts them. `lease` is None unless other nodes may share the store."""
        self._environment = environment
        self._limits = limits
        self._node = node
        self._roles = roles
        self._parts = parts
        self._accounts = accounts
        self._lease = lease
        self._orders = orders
        self._health = health
        self._questions = ReceiptQuestions(environment.store.receipts, parts.carriers.asking)
        self._doubts = ReceiptDoubts(
            environment.store.series, environment.directory, environment.clock, environment.journal
        )
        self._round = 0
        self._orphans_read = 0
        """Receipts without a message, the newest, that have been searched for since the last begin at the newest."""
        self._unfinished = {"orphans"}
        self._searches: list[int] = []
        """Rounds in which messages of dead nodes are searched for."""

    async def run(self) -> None:
        """Runs rounds until cancelled."""
        while True:
            await asyncio.sleep(HOUSEKEEPING_S)
            try:
                await self._keep_house()
                self._parts.outage.found_there("housekeeping")
            except Unavailable as problem:
                self._parts.outage.found_away("housekeeping", problem)

    async def _keep_house(self) -> None:
        environment = self._environment
        self._round += 1
        changed = await environment.directory.refresh(environment.clock.now())
        if changed:
            self._accounts.invalidate()
            if self._lease is None:
                self._parts.carriers.sync()
        # First in each round, because the chores after it may fail and end the round.
        await self._heed_rules(environment.clock.now(), changed=changed)
        await self._heed_suppressions(environment.clock.now())
        await self._orders.heed()
        await self._look_after_nodes()
        await self._accounts.refresh()
        now = environment.clock.now()
        self._parts.dispatcher.reroute(self._parts.carriers.live())
        await self._parts.caps.look()
        await self._parts.paces.look()
        if self._due("sweep", SWEEP_ROUNDS):
            self._parts.dispatcher.sweep(now)
            if self._roles.upkeep:
                self._repeat(
                    "sweep",
                    await self._parts.dispatcher.claims.drop_expired(environment.store.queue, self._node, BATCH),
                )
        if self._roles.upkeep:
            await self._keep_rows(now)
        self._parts.reception.repeats.tick()
        if self._round % SWEEP_ROUNDS == 1:
            await self._parts.reception.keep_house()
        await self._report(now)
        if environment.directory.wants_quality and (changed or self._round % QUALITY_ROUNDS == 1):
            totals = await environment.store.series.totals(quality_query(now))
            environment.directory.judge_quality(measure(totals, now))
        await self._questions.ask(now)
        if len(self._parts.matcher.awaited) or self._parts.notifier.in_the_air or self._parts.dispatcher.busy:
            self._parts.gatherer.wake()

    async def _report(self, now: int) -> None:
        """Saves the reports of this node and of its binds, and reads those of the others."""
        environment = self._environment
        if self._round % NODE_ROUNDS == 0:
            await save_identity(environment)
        if self._round % STATE_ROUNDS == 1:
            if reports := self._parts.carriers.reports(now):
                await environment.store.network.save_link_states(reports)
            if self._lease is not None:
                self._health.reports = await environment.store.network.link_states()

    async def _heed_suppressions(self, now: int) -> None:
        """Withdraws waiting messages to recently opted-out phones, because other processes and nodes suppress numbers
        too. A message requested twice is withdrawn once.
        """
        if self._parts.dispatcher.busy:
            made = await self._environment.store.suppressions.made_since(now - SUPPRESSED_MS)
            if made:
                self._parts.dispatcher.withdraw_all({(of, number): first_key_at(since) for of, number, since in made})

    async def _heed_rules(self, now: int, *, changed: bool) -> None:
        """Calls back messages that accounts' rules now hold, and makes messages of resumed accounts due."""
        if self._environment.directory.judges_claims and (changed or self._round % SWEEP_ROUNDS == 0):
            # repeated with each sweep: the operator may have deferred messages in flight meanwhile
            self._parts.dispatcher.judge_anew()
        resumed, batches = BATCH, 0
        while self._roles.upkeep and resumed == BATCH and batches < RESUMED_BATCHES:
            resumed = await self._environment.store.queue.resume(now, BATCH)
            batches += 1
            if resumed:
                self._parts.gatherer.wake_feeder()

    async def _keep_rows(self, now: int) -> None:
        store = self._environment.store
        oldest = now - int((self._limits.validity + self._limits.receipt_grace) * HOUR_MS)
        await self._keep_receipts(now)
        if self._due("refusals", OVERDUE_ROUNDS):
            refused = store.refused_requests
            self._repeat("refusals", await refused.forget(now - self._at_most(REFUSED_DAYS), BATCH))
        await self._keep_tables(now)
        if self._due("numbers", NUMBERS_ROUNDS):
            for _ in range(NUMBERS_BLOCKS):
                if await store.upkeep.index_numbers(now, NUMBERS_BLOCK) == 0:
                    self._unfinished.discard("numbers")
                    break
        if self._lease is None or self._environment.leases is None:
            return
        if "orphans" in self._unfinished or self._round % OVERDUE_ROUNDS == 0:
            await self._reconsider_orphans()
        if any(at <= self._round for at in self._searches):
            self._searches = [at for at in self._searches if at > self._round]
            self._unfinished.add("gathered")
        if self._due("gathered", GATHERED_ROUNDS):
            for _ in range(GATHERED_SPANS):
                if not await self._parts.lookup.find_gathered(self._environment.leases, oldest):
                    self._unfinished.discard("gathered")
                    break

    async def _reconsider_orphans(self) -> None:
        """Searches for the messages of the receipts of a page: the pages go from the newest receipt to the oldest, and
        begin again. After the start, and when a node is gone, each round reads a page until the oldest, because a node
        that is gone may have left receipts before their messages had rows."""
        orphans = await self._environment.store.receipts.orphans(BATCH, self._orphans_read)
        await self._parts.lookup.reconsider(orphans)
        self._orphans_read += BATCH
        if len(orphans) < BATCH:
            self._orphans_read = 0
            self._unfinished.discard("orphans")

    async def _keep_receipts(self, now: int) -> None:
        receipts, lookup = self._environment.store.receipts, self._parts.lookup
        expired = now - int(self._limits.receipt_grace * HOUR_MS)
        if self._due("overdue", OVERDUE_ROUNDS) and not await lookup.give_up(expired, BATCH):
            self._unfinished.discard("overdue")
        if self._due("forget", OVERDUE_ROUNDS):
            self._repeat("forget", await receipts.forget(now - self._at_most(ORPHAN_DAYS), ORPHANS, BATCH))
        if self._round % OVERDUE_ROUNDS == 2:
            await lookup.drop_repeats(await receipts.orphans(BATCH))

    async def _keep_tables(self, now: int) -> None:
        if self._round % OVERDUE_ROUNDS == 1:
            await self._environment.store.upkeep.tidy_lists()
        series = self._environment.store.series
        if self._due("series", SERIES_ROUNDS) and await series.settle(OWED_SERIES) < OWED_SERIES:
            self._unfinished.discard("series")
        if self._due("old series", SERIES_KEPT_ROUNDS):
            days = self._limits.series_days
            found = [
                # a week must outlast the days in it
                await series.forget(grain, now - int(days[min(grain, Grain.DAY)] * 24 * HOUR_MS) - grain.ms, BATCH)
                for grain in Grain
            ]
            self._repeat("old series", max(found))
        if self._round % DOUBT_ROUNDS == 0:
            await self._doubts.look()

    async def _look_after_nodes(self) -> None:
        """Takes over from nodes that are gone, and takes the binds that are free; for nodes that share a store."""
        if self._lease is None or not self._lease.holds:
            return
        self._parts.matcher.early.drop(self._environment.clock.now() - EARLY_KEPT_MS)
        if self._roles.upkeep and await self._lease.release_dead():
            self._searches += [self._round + rounds for rounds in DEATH_SEARCH_ROUNDS]
            self._unfinished.add("orphans")
            self._orphans_read = 0
            self._parts.gatherer.wake_feeder()
        await self._parts.carriers.share_binds()

    def _at_most(self, days: int) -> int:
        """Milliseconds for which something is kept: the given days, or as long as any text or number is kept."""
        shortest = self._environment.retention.shortest
        return int((days if shortest is None else min(days, shortest)) * 24 * HOUR_MS)

    def _due(self, chore: str, rounds: int) -> bool:
        """True if a chore that runs every `rounds` rounds is due in this round."""
        if self._round % rounds == 0:
            self._unfinished.add(chore)
        return chore in self._unfinished

    def _repeat(self, chore: str, found: int) -> None:
        """Keeps a chore due in the next round unless it found fewer than BATCH rows. A failed chore stays due, too."""
        if found < BATCH:
            self._unfinished.discard(chore)


async def save_identity(environment: Environment) -> None:
    """Saves this node's report of itself."""
    if environment.identity is not None:
        await environment.store.nodes.report(replace(environment.identity, at=environment.clock.now()))
