"""The engine: the parts of the gateway in a process, from recovery to drain.

    start:  lease (several nodes) -> recover from the store -> _make: matcher, dispatcher, reception, notifier
            -> _take_up: work of the last run goes back to memory -> tasks

    tasks   commit        group commit, with the four hooks below
            feed          claims due rows of the queue for lanes that want rows
            lookup        searches the rows for receipts and repeated messages from phones
            housekeeping  expiry, marks, links of carriers, once a second
            retention     redacts and deletes old rows, on one node
            lease         keeps this node's lease; a lost lease stops all carriers
            past          moves the mark of this data directory on; a store that lost commits is refused

    commit  _prepare -> written -> requests are answered -> _committed: receipts are acknowledged, callbacks posted,
            _pump submits parts. Or _refused: the store was away.

    stop:   no new requests -> lanes park -> carriers drain -> commit -> callbacks in flight -> rows are released

What can go wrong: a task dies (`failed` is set, and the process ends), the store is away at the start (Unavailable),
other nodes took over (`Fenced` ends the commits, and the process as planned), or the stop takes longer than its seconds
(the rest waits in the store).
"""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from math import inf
from typing import Any

from heliograph.app.configuration import Connector
from heliograph.app.dispatch.dispatcher import Dispatcher
from heliograph.app.dispatch.lane import Lane
from heliograph.app.facts import Facts, InboundMessage, Message, MessageEnd
from heliograph.app.inbound.opt_outs import OptOuts
from heliograph.app.inbound.reading import Reader
from heliograph.app.inbound.reception import Reception
from heliograph.app.inbound.replies import PhoneReplies
from heliograph.app.marks import AWAITING, CALLBACK, DISPATCH, GATHERED, Recovery, attempted
from heliograph.app.notice import LowBalance, ReachedState, notice_of
from heliograph.app.notices.account_cache import AccountCache
from heliograph.app.notices.balance_form import BalanceRenderer
from heliograph.app.notices.inbound_form import InboundRenderer
from heliograph.app.notices.notifier import Notifier
from heliograph.app.notices.receipt_form import ReceiptRenderer
from heliograph.app.notices.webhook import SubjectRenderer, WebhookDeliverer
from heliograph.app.ports import CarrierState, Fenced, LeaseEnd, Unavailable
from heliograph.app.receipts.lookup import ReceiptLookup
from heliograph.app.receipts.matcher import ReceiptMatcher
from heliograph.domain.display import origin_of
from heliograph.domain.message.ids import worker_of
from heliograph.domain.message.way import Way
from heliograph.runtime.carriers import Carriers
from heliograph.runtime.connector_health import ConnectorHealth
from heliograph.runtime.engine_parts import EngineParts
from heliograph.runtime.environment import Environment, NodeRoles, TimeLimits
from heliograph.runtime.feeder import Feeder
from heliograph.runtime.group_commit import GroupCommit, Hooks
from heliograph.runtime.lease import Lease
from heliograph.runtime.operator_caps import OperatorCaps
from heliograph.runtime.outage import Outage
from heliograph.runtime.pace_memory import PaceMemory
from heliograph.runtime.queue_orders import QueueOrders
from heliograph.runtime.retention import RetentionKeeper
from heliograph.runtime.tasks import end
from heliograph.runtime.upkeep import Housekeeping, save_identity

HOUR_MS = 3_600_000

CALLBACKS_END_S = 5.0
"""Seconds that a graceful stop waits for callbacks in flight; the rest are tried again at the next start."""

LANDING_S = 0.02
"""Seconds between two looks at the callbacks in flight, at the end."""

FENCED_S = 2.0
"""Seconds that a fenced node has to end."""


class Engine:
    """Owns the tasks of a process: commits, the queue's feeder, housekeeping. `fallbacks` are connectors outside the
    store, such as the simulated operator of a development run.
    """

    def __init__(
        self,
        environment: Environment,
        limits: TimeLimits,
        *,
        worker: int = 0,
        node: int,
        fallbacks: tuple[Connector, ...] = (),
        roles: NodeRoles | None = None,
    ) -> None:
        """`worker` is leased if the environment has leases."""
        self._environment = environment
        self._roles = roles = roles or NodeRoles()
        self._outage = outage = Outage(environment.clock, environment.journal)
        self._lease: Lease | None = None
        if environment.leases is not None:
            self._lease = Lease(environment.leases, node, environment.clock, environment.journal, outage, self._lapsed)
        self._lease_end = LeaseEnd() if self._lease is None else self._lease.end
        self._past = environment.past
        if self._past is not None:
            self._past.on_lost = self._past_lost
        self._limits = limits
        self._worker = worker
        self._node = node
        self._carriers = Carriers(environment, node, roles, fallbacks, self._lease)
        self._paces = PaceMemory(environment.store.measurements, self._carriers, environment.clock)
        self.caps = OperatorCaps(environment.store.measurements, environment.taken, self._carriers, environment.clock)
        self._tasks: list[asyncio.Task[None]] = []
        self._pump_timer: asyncio.TimerHandle | None = None
        self._accounts = AccountCache(environment.store.accounts)
        self.failed = asyncio.Event()
        """Set when a task has died: the process should end and be started again."""

    # --- life

    async def start(self) -> None:
        """Recovers the work that was in flight when the last run ended, and resumes it. Raises Unavailable."""
        environment = self._environment
        await environment.directory.refresh(environment.clock.now())
        shared = self._lease is not None
        if self._past is not None:
            self._past.begin()
            self._spawn(self._past.keep(environment.store.past, self._outage), "past")
        if self._lease is not None:
            self._worker = await self._lease.begin()
            self._spawn(self._lease.keep(), "lease")
        recovery = await environment.store.commits.recover(self._worker, self._node)
        parts = self._make(recovery, shared=shared)
        orders = QueueOrders(environment.store.backlog, self._node, parts.gatherer, parts.dispatcher)
        await self._take_up(recovery, orders, shared=shared)
        await parts.carriers.share_binds()
        await save_identity(environment)
        if reports := parts.carriers.reports(environment.clock.now()):
            await environment.store.network.save_link_states(reports)  # orders for waiting messages await this node
        await self.caps.look()  # before the first part is sent
        await parts.paces.look()
        self._spawn(parts.gatherer.run(), "commit")
        feeder = Feeder(environment, self._node, self._roles, parts)
        self._spawn(feeder.run(), "feed")
        self._spawn(feeder.look_up(), "lookup")
        health = ConnectorHealth(environment.directory, parts.dispatcher, environment.clock, environment.journal)
        self._spawn(health.run(), "health")
        upkeep = Housekeeping(
            environment, self._limits, self._node, self._roles, parts, self._accounts, self._lease, orders, health
        )
        self._spawn(upkeep.run(), "housekeeping")
        if self._roles.upkeep:
            self._spawn(self._make_keeper().run(), "retention")
        parts.gatherer.wake()
        parts.gatherer.wake_feeder()

    def _make_keeper(self) -> RetentionKeeper:
        environment = self._environment
        return RetentionKeeper(
            environment.store,
            environment.retention,
            environment.clock,
            environment.journal,
            self._outage,
            environment.retained,
        )

    def _make(self, recovery: Recovery, *, shared: bool) -> EngineParts:
        """Makes the parts of the core. Their marks continue those of the last run."""
        environment, marks = self._environment, recovery.marks
        # No key may be given below a mark, though the message that moved it was never stored and clocks go back.
        last_key = max(recovery.last_key, *(marks.get(name, 0) for name in (DISPATCH, AWAITING, CALLBACK)))
        self.gatherer = gatherer = self._make_gatherer(last_key)
        self.matcher = ReceiptMatcher(
            gatherer,
            environment.clock,
            environment.store.receipts,
            self._finish,
            marks.get(AWAITING, 0),
            worker=self._worker if shared else None,
        )
        self.replies = PhoneReplies(
            gatherer, environment.directory, environment.journal, environment.clock, environment.answer_limits
        )
        further = {way: make(gatherer, self._accounts) for way, make in environment.ways.items()}
        self.notifier = Notifier(
            gatherer,
            environment.clock,
            {Way.WEBHOOK: self._make_webhooks(), **further},
            self._accounts,
            environment.jitter,
            mark=marks.get(CALLBACK, 0),
            keeps=self._keeps_callback,
        )
        self.dispatcher = Dispatcher(
            gatherer,
            environment.clock,
            self.matcher,
            self._finish,
            environment.directory,
            marks.get(DISPATCH, 0),
            shared=shared,
            policy_of=environment.directory.claim_policy,
        )
        self.reception = self._make_reception(recovery, shared=shared)
        gatherer.attach(Hooks(self._prepare, self._spill, self._committed, self._refused))
        self._carriers.attach(self.dispatcher, self.matcher.awaited, self.reception)
        self._lookup = ReceiptLookup(self.matcher, gatherer, environment.clock, marks.get(GATHERED, 0))
        return EngineParts(
            gatherer,
            self._carriers,
            self.caps,
            self._paces,
            self.dispatcher,
            self.matcher,
            self._lookup,
            self.notifier,
            self.reception,
            self._outage,
        )

    def _make_gatherer(self, last_key: int) -> GroupCommit:
        environment = self._environment
        return GroupCommit(
            environment.store.commits,
            self._worker,
            last_key,
            environment.ids,
            environment.clock,
            environment.journal,
            self._outage,
            environment.watchers,
        )

    def _make_webhooks(self) -> WebhookDeliverer:
        environment = self._environment
        renderers: dict[type, SubjectRenderer] = {
            ReachedState: ReceiptRenderer(environment.encode_json),
            InboundMessage: InboundRenderer(environment.encode_json),
            LowBalance: BalanceRenderer(environment.encode_json, environment.journal),
        }
        return WebhookDeliverer(
            environment.sender, self._accounts, renderers, self.replies, self._limits.callback_retry
        )

    def _make_reception(self, recovery: Recovery, *, shared: bool) -> Reception:
        environment = self._environment
        return Reception(
            self.gatherer,
            environment.clock,
            environment.store.inbound,
            Reader(environment.directory, environment.policy),
            OptOuts(
                environment.opt_out_words,
                environment.directory,
                environment.journal,
                int(self._limits.validity * HOUR_MS),
                environment.answer_limits,
            ),
            self.notifier.owe,
            self.dispatcher.withdraw,
            self._node,
            healthy=lambda: self.gatherer.healthy,
            shared=shared,
            unanswered=recovery.unanswered,
            parts_ms=int(self._limits.inbound_parts * HOUR_MS),
        )

    async def _take_up(self, recovery: Recovery, orders: QueueOrders, *, shared: bool) -> None:
        """Takes the recovered work into memory. Raises Unavailable."""
        live = self._carriers.live()
        for number, connector in live.items():
            self._carriers.configure_lane(connector).mark = recovery.marks.get(attempted(number), 0)
        for outstanding in recovery.outstanding:
            self.matcher.restore(outstanding)
        if not shared:
            for early in recovery.early:
                self.matcher.restore_early(early)
        await self.dispatcher.claims.recover(recovery.unsent)
        await orders.catch_up()
        if not shared:
            for number in live:
                await self.dispatcher.claims.open(self.dispatcher.lane(number), self._environment.store.queue)
        for notice in recovery.owed:
            if self._accounts.known(notice.account) is None:
                await self._accounts.learn(notice.account)
        self.notifier.resume(recovery.owed, rowed=False)
        self._environment.journal.log(
            "info",
            "recovered",
            unsent=len(recovery.unsent),
            awaiting_receipts=len(recovery.outstanding),
            callbacks_pending=len(recovery.owed),
        )

    async def stop(self, seconds: float) -> None:
        """Takes no new requests, waits for the operators' answers, commits, unbinds; for at most `seconds`."""
        clock = self._environment.clock
        if self.failed.is_set() and not self._may_act:
            seconds = min(seconds, FENCED_S)
        deadline = clock.monotonic() + seconds
        gatherer = self.gatherer
        gatherer.shut()
        for name in ("feed", "lookup", "health", "housekeeping", "retention"):
            await self._cancel(name)
        self.matcher.turn_away()
        self.reception.close()
        self.dispatcher.park()
        await self._within(self._carriers.drain(deadline - 1.0), deadline)
        self.reception.repeats.finish()
        await self._within(gatherer.flushed(), deadline)
        self.dispatcher.park()
        await self._within(gatherer.flushed(), deadline)
        # The drain may have ended a part of a message whose other parts ended at other nodes. The feeder, which reads
        # the other parts, has stopped. Other nodes do not search after a planned end.
        with suppress(Unavailable):
            await self._within(self._lookup.finish(), deadline)
        await self._within(gatherer.flushed(), deadline)
        await self._within(self._callbacks_landed(), min(deadline, clock.monotonic() + CALLBACKS_END_S))
        gatherer.wake()
        await self._within(gatherer.flushed(), deadline)
        await self._cancel("commit")
        gatherer.refuse_waiting()
        if self._pump_timer is not None:
            self._pump_timer.cancel()
        with suppress(Unavailable):
            await self._environment.store.queue.release(self._node)
            await self._environment.store.nodes.remove(self._node)
            await self.caps.write()
            await self._paces.keep()
        if self._lease is not None:
            await self._cancel("lease")
            await self._lease.give_back()
        await self._cancel("past")
        if self._past is not None and not self.failed.is_set():
            await self._past.finish(self._environment.store.past)
        await self._environment.sender.close()

    async def _callbacks_landed(self) -> None:
        for _ in range(int(CALLBACKS_END_S / LANDING_S)):
            if not self.notifier.in_the_air:
                return
            await asyncio.sleep(LANDING_S)

    # --- around a commit

    def _prepare(self, facts: Facts, now: int) -> None:
        self.dispatcher.prepare(facts, now)
        self.matcher.prepare()
        self.reception.prepare()
        self.notifier.prepare()

    def _spill(self, facts: Facts, now: int, last_key: int) -> None:
        self.dispatcher.spill(facts, now, last_key)
        self.matcher.spill(facts, now, last_key)
        self.notifier.spill(facts, now, last_key)

    def _committed(self) -> None:
        self.matcher.committed()
        self.notifier.committed()
        self.dispatcher.committed()
        # messages to a phone that opted out in this commit are withdrawn
        self.reception.committed()
        self._pump()
        if self.dispatcher.wants_rows:
            self.gatherer.wake_feeder()
        if self.dispatcher.can_send:
            self.gatherer.wake_later()

    def _refused(self) -> None:
        self.dispatcher.refused()
        self.reception.refused()

    def _pump(self) -> None:
        """Submits the parts that may go now, and schedules itself for the time at which a rate allows the next part."""
        if self._pump_timer is not None:
            self._pump_timer.cancel()
            self._pump_timer = None
        if not self._may_act:
            return
        again = self.dispatcher.pump()
        if again is not None:
            delay = max(0.001, again - self._environment.clock.monotonic())
            self._pump_timer = asyncio.get_running_loop().call_later(delay, self._pump_again)

    def _pump_again(self) -> None:
        self._pump_timer = None
        self._pump()
        self.gatherer.wake()

    def _keeps_callback(self, key: int) -> bool:
        """Whether this node both makes and recovers the callbacks of such messages."""
        return self._roles.notify and (self._lease is None or worker_of(key) == self._worker)

    def _finish(self, message: Message, final: MessageEnd) -> None:
        if final.owed:
            self.notifier.owe(notice_of(message, final))

    @property
    def _may_act(self) -> bool:
        """Whether this node may act in the outside world: its lease holds, and the store has its commits."""
        return self._environment.clock.monotonic() < self._lease_end.at

    def _past_lost(self) -> None:
        """Stops all effects at once. A renewal of the lease allows them again, if a server without the loss takes over.
        An embedded store has none."""
        self._lease_end.at = -inf
        self._lapsed()

    def _lapsed(self) -> None:
        self._carriers.lapsed()
        if hasattr(self, "gatherer"):  # the lease begins before the recovery
            self.gatherer.lapse()

    # --- for people

    @property
    def lease_end(self) -> LeaseEnd:
        """The end of this node's lease, for carriers."""
        return self._lease_end

    @property
    def away(self) -> bool:
        """True while requests are refused: the store takes no commits, this node's lease has lapsed, or commits are
        lost."""
        return self.gatherer.away or not self._may_act

    @property
    def past_lost(self) -> bool:
        """True while the store is refused because it lost confirmed commits."""
        return self._past is not None and bool(self._past.problem)

    @property
    def node(self) -> int:
        """The number of this run."""
        return self._node

    def connector_names(self) -> dict[int, str]:
        """Names of all connectors, with or without binds on this node."""
        return {number: connector.name for number, connector in self._carriers.live().items()}

    def carrier_states(self) -> list[tuple[Connector, CarrierState]]:
        """Returns each connector with a carrier in this process, and its state."""
        return self._carriers.states()

    def carried(self) -> list[Connector]:
        """Returns the connectors with a carrier in this process."""
        return self._carriers.carried()

    def obstacle(self, connector: int) -> str:
        """Returns why a connector cannot send now; empty if it can."""
        return self._environment.directory.obstacle(connector)

    def lane(self, connector: int) -> Lane:
        """The connector's lane."""
        return self.dispatcher.lane(connector)

    # --- tasks

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self.watch(task)
        self._tasks.append(task)

    def watch(self, task: asyncio.Task[None]) -> None:
        """Sets `failed` if the task ends by an error, and logs that. The task may belong to another part."""
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or (problem := task.exception()) is None:
            return
        if not isinstance(problem, Fenced):
            self._environment.journal.log("critical", "task.died", task=task.get_name(), **origin_of(problem))
        elif not self.failed.is_set():  # several tasks learn of it
            self._environment.journal.log("error", "node.fenced", node=self._node, problem=str(problem))
        self.failed.set()

    async def _cancel(self, name: str) -> None:
        for task in self._tasks:
            if task.get_name() == name:
                await end(task)

    async def _within(self, work: Any, deadline: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(work, max(0.1, deadline - self._environment.clock.monotonic()))
