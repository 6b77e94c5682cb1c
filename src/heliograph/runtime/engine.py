"""The engine: the gateway's core as it lives in one process, from recovery to drain."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from heliograph.app.accounts import Connector, LinkState
from heliograph.app.directory import Directory
from heliograph.app.dispatch import Dispatcher, LaneEvents
from heliograph.app.doubt import unknown_wait_ms
from heliograph.app.facts import Facts, Final, Message
from heliograph.app.lane import Lane, joins_parts
from heliograph.app.marks import AWAITING, CALLBACK, DISPATCH, attempted
from heliograph.app.notify import Notifier
from heliograph.app.ports import (
    Carrier,
    CarrierEvents,
    Clock,
    Ids,
    Journal,
    Leases,
    Sender,
    Store,
    Unavailable,
    Watcher,
)
from heliograph.app.receivers import KnownReceivers
from heliograph.app.report import Reporter
from heliograph.domain.ids import worker_of
from heliograph.runtime.ending import end
from heliograph.runtime.gather import Gatherer, Hooks
from heliograph.runtime.lease import MARGIN_S, Lease
from heliograph.runtime.slots import Slots

TICK_S = 0.25
"""Seconds between two looks at the queue when nothing says that there is work."""

HOUSEKEEPING_S = 1.0
"""Seconds between two rounds of housekeeping."""

SWEEP_ROUNDS = 5
"""Rounds of housekeeping between two searches for messages whose validity is over."""

OVERDUE_ROUNDS = 30
"""Rounds between two searches for receipts that never came, and for receipts that matched nothing."""

GATHERED_ROUNDS = 600
"""Rounds between two searches for messages that a node which died left with all parts ended and no end; each death
begins one too."""

STATE_ROUNDS = 3
"""Rounds between two reports of the links' states for people."""

NUMBERS_ROUNDS = 5
"""Rounds between two looks whether there are enough new messages to be indexed by number."""

NUMBERS_BLOCK = 8_192
"""Messages that are indexed by number in one transaction: of fewer there are more places to look at, more of them hold
up other transactions for longer."""

NUMBERS_BLOCKS = 4
"""Such transactions that a round of housekeeping may have: twice the messages that may come in a second."""

BATCH = 2_000
"""Rows that housekeeping takes at once."""

ORPHAN_DAYS = 7
"""Days that receipts which matched nothing are kept."""

CALLBACKS_END_S = 5.0
"""Seconds that a graceful stop waits for callbacks in the air; the rest are tried again at the next start."""

LANDING_S = 0.02
"""Seconds between two looks at the callbacks in the air, at the end."""

DRAIN_S = 10.0
"""Seconds that a carrier which is taken down waits for the operator's answers."""

EARLY_KEPT_MS = 60_000
"""How long an early receipt is in memory where nodes share a store: another node may have found its message."""

FENCED_S = 2.0
"""Seconds for the end of a node whose work is others' already."""

HOUR_MS = 3_600_000

MakeCarrier = Callable[[Connector, CarrierEvents], Carrier]


@dataclass(slots=True)
class Deadlines:
    """How long messages, receipts and callbacks are waited for, in hours."""

    validity: float
    receipt_grace: float
    callback_retry: float


@dataclass(slots=True)
class World:
    """Everything outside the core that the engine needs."""

    store: Store
    directory: Directory
    sender: Sender
    make_carrier: MakeCarrier
    ids: Ids
    clock: Clock
    journal: Journal
    jitter: Callable[[], float]
    encode_json: Callable[[dict[str, str]], bytes]
    encode_state: Callable[[dict[str, Any]], str]
    watchers: tuple[Watcher, ...] = ()
    leases: Leases | None = None
    """Where other nodes may be on the same store; None where this one is alone."""


@dataclass(frozen=True, slots=True)
class Duties:
    """What this node does of all that is to be done. `most_binds` is of one connector; 0 is all that are free."""

    dispatch: bool = True
    notify: bool = True
    upkeep: bool = True
    most_binds: int = 0


class Engine:
    """Owns the tasks of one process: commits, the queue's feeder, housekeeping. `fallbacks` are connectors that are
    not in the store, such as the simulated operator of a development run."""

    def __init__(
        self,
        world: World,
        deadlines: Deadlines,
        *,
        worker: int = 0,
        node: int,
        fallbacks: tuple[Connector, ...] = (),
        duties: Duties | None = None,
    ) -> None:
        """`worker` is leased anew where the world has leases."""
        self._world = world
        self._duties = duties = duties or Duties()
        self._lease: Lease | None = None
        self._slots: Slots | None = None
        if world.leases is not None:
            self._lease = Lease(world.leases, node, world.clock, world.journal, self._lapsed)
            self._slots = Slots(world.leases, node, duties.most_binds)
        self._deadlines = deadlines
        self._worker = worker
        self._node = node
        self._fallbacks = fallbacks
        self._carriers: dict[int, tuple[Connector, Carrier]] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._pump_timer: asyncio.TimerHandle | None = None
        self._receivers = KnownReceivers(world.store)
        self._round = 0
        self._unfinished: set[str] = set()
        self.failed = asyncio.Event()
        """Set when a task has died: the process should end and be started again."""

    # --- life

    async def start(self) -> None:
        """Recovers what was in the air, and takes it up. Raises Unavailable."""
        world = self._world
        await world.directory.refresh()
        shared = self._lease is not None
        if self._lease is not None:
            self._worker = await self._lease.begin()
            self._spawn(self._lease.keep(), "lease")
        recovery = await world.store.recover(self._worker, self._node)
        marks = recovery.marks
        # No key may be given below a mark, though the message that moved it was never stored and clocks go back.
        last_key = max(recovery.last_key, *(marks.get(name, 0) for name in (DISPATCH, AWAITING, CALLBACK)))
        self.gatherer = gatherer = Gatherer(
            world.store, self._worker, last_key, world.ids, world.clock, world.journal, world.watchers
        )
        self.reporter = Reporter(gatherer, world.clock, self._finish, marks.get(AWAITING, 0), shared=shared)
        self.notifier = Notifier(
            gatherer,
            world.clock,
            world.sender,
            self._receivers,
            world.jitter,
            mark=marks.get(CALLBACK, 0),
            retry_hours=self._deadlines.callback_retry,
            encode_json=world.encode_json,
            keeps=self._keeps_callback,
        )
        self.dispatcher = Dispatcher(
            gatherer,
            world.clock,
            self.reporter,
            self._finish,
            world.directory.route,
            marks.get(DISPATCH, 0),
            shared=shared,
        )
        gatherer.attach(Hooks(self._prepare, self._spill, self._committed, self.dispatcher.refused))
        for number, connector in self._live().items():
            lane = self.dispatcher.lane(number)
            lane.mark = marks.get(attempted(number), 0)
            lane.unknown_wait_ms = unknown_wait_ms(connector.options)
            lane.joins = joins_parts(connector.options)
        for outstanding in recovery.outstanding:
            self.reporter.restore(outstanding)
        if not shared:
            for early in recovery.early:
                self.reporter.restore_early(early)
        await self.dispatcher.recover(recovery.unsent, world.store)
        if not shared:
            for number in self._live():
                await self.dispatcher.open(self.dispatcher.lane(number), world.store)
        for owed in recovery.owed:
            if self._receivers.known(owed.message.account) is None:
                await self._receivers.learn(owed.message.account)
        self.notifier.resume(recovery.owed, rowed=False)
        world.journal.say(
            "info",
            "recovered",
            unsent=len(recovery.unsent),
            awaiting_receipts=len(recovery.outstanding),
            callbacks_owed=len(recovery.owed),
        )
        await self._share_binds()
        self._spawn(gatherer.run(), "commit")
        self._spawn(self._feed(), "feed")
        self._spawn(self._keep_house(), "housekeeping")
        gatherer.wake()
        gatherer.stir()

    async def stop(self, seconds: float) -> None:
        """Takes nothing more, waits for the operators' answers, commits, unbinds; at most `seconds`."""
        clock = self._world.clock
        if self._lease is not None and self.failed.is_set() and not self._lease.holds:
            seconds = min(seconds, FENCED_S)
        deadline = clock.monotonic() + seconds
        gatherer = self.gatherer
        gatherer.shut()
        for name in ("feed", "housekeeping"):
            await self._cancel(name)
        self.dispatcher.park()
        drains = [carrier.drain(deadline - 1.0) for _, carrier in self._carriers.values()]
        await self._within(asyncio.gather(*drains, *self._ending, return_exceptions=True), deadline)
        self.reporter.turn_away()
        await self._within(gatherer.flushed(), deadline)
        self.dispatcher.park()
        await self._within(gatherer.flushed(), deadline)
        await self._within(self._callbacks_landed(), min(deadline, clock.monotonic() + CALLBACKS_END_S))
        gatherer.wake()
        await self._within(gatherer.flushed(), deadline)
        await self._cancel("commit")
        gatherer.refuse_waiting()
        if self._pump_timer is not None:
            self._pump_timer.cancel()
        with suppress(Unavailable):
            await self._world.store.release(self._node)
        if self._lease is not None:
            await self._cancel("lease")
            await self._lease.give_back()
        await self._world.sender.close()

    async def _callbacks_landed(self) -> None:
        for _ in range(int(CALLBACKS_END_S / LANDING_S)):
            if not self.notifier.in_the_air:
                return
            await asyncio.sleep(LANDING_S)

    # --- around a commit

    def _prepare(self, facts: Facts, now: int) -> None:
        self.dispatcher.prepare(facts, now)
        self.reporter.prepare()
        self.notifier.prepare()

    def _spill(self, facts: Facts, now: int, last_key: int) -> None:
        self.dispatcher.spill(facts, now, last_key)
        self.reporter.spill(facts, now, last_key)
        self.notifier.spill(facts, now, last_key)

    def _committed(self) -> None:
        self.reporter.committed()
        self.notifier.committed()
        self.dispatcher.committed()
        self._pump()
        if self.dispatcher.hungry:
            self.gatherer.stir()
        if self.dispatcher.eager:
            self.gatherer.wake()

    def _pump(self) -> None:
        """Writes what may go; sees to it that what may not yet goes when its time comes."""
        if self._pump_timer is not None:
            self._pump_timer.cancel()
            self._pump_timer = None
        if self._lease is not None and not self._lease.holds:
            return
        again = self.dispatcher.pump()
        if again is not None:
            delay = max(0.001, again - self._world.clock.monotonic())
            self._pump_timer = asyncio.get_running_loop().call_later(delay, self._pump_again)

    def _pump_again(self) -> None:
        self._pump_timer = None
        self._pump()
        self.gatherer.wake()

    def _keeps_callback(self, key: int) -> bool:
        """Whether this node both makes and recovers the callbacks of such messages."""
        return self._duties.notify and (self._lease is None or worker_of(key) == self._worker)

    def _finish(self, message: Message, final: Final) -> None:
        if final.owed:
            self.notifier.owe(message, final)

    # --- the queue's feeder

    async def _feed(self) -> None:
        """Looks up receipts, claims what is due, sends callbacks that are due."""
        world = self._world
        pause = TICK_S
        while True:
            await self.gatherer.stirred(pause)
            try:
                pause = await self._feed_once()
            except Unavailable as problem:
                world.journal.say("warning", "feed.unavailable", problem=str(problem))
                pause = 1.0

    async def _feed_once(self) -> float:
        """Returns the seconds until there is something to do again."""
        store, clock = self._world.store, self._world.clock
        if self.reporter.has_work:
            await self.reporter.look_up(store)
        await self.reporter.look_again(store)
        await self.dispatcher.hindsight.settle(store)
        due = await store.next_due() if self._duties.dispatch else {}
        now = clock.now()
        more = await self._feed_lanes(due, now)
        wake_at = min([now + int(TICK_S * 1000), *(at for at in due.values() if at > now)])
        callback_due = await self.notifier.next_due(store) if self._duties.notify else None
        if callback_due is not None:
            if callback_due > now:
                wake_at = min(wake_at, callback_due)
            elif await self.notifier.take_up(store, self._node):
                more = True
        return 0.0 if more else max(0.0, (wake_at - clock.now()) / 1000)

    async def _feed_lanes(self, due: dict[int, int], now: int) -> bool:
        """Claims messages for the lanes that run low; True if there may be more for them at once."""
        store, dispatcher = self._world.store, self.dispatcher
        live = self._live()
        more = False
        for connector in [connector for connector, at in due.items() if at <= now]:
            lane = dispatcher.lane(connector)
            if connector not in live:
                await dispatcher.reclaim(lane, store, self._node)
                more = True
            elif not self._may_fill(lane):
                lane.more = False
            elif await dispatcher.refill(lane, store, self._node):
                more = True
        for lane in list(dispatcher.lanes.values()):
            if due.get(lane.connector, inf) > now:
                lane.more = False
                if lane.backlogs.expectant and self._may_fill(lane):
                    await dispatcher.refill(lane, store, self._node)
        return more

    def _may_fill(self, lane: Lane) -> bool:
        """Where others may send it too, nothing is claimed that could not be sent."""
        return self._lease is None or (not lane.closed and lane.capacity > 0)

    # --- housekeeping

    async def _keep_house(self) -> None:
        while True:
            await asyncio.sleep(HOUSEKEEPING_S)
            try:
                await self._keep_house_once()
            except Unavailable as problem:
                self._world.journal.say("warning", "housekeeping.unavailable", problem=str(problem))

    async def _keep_house_once(self) -> None:
        world = self._world
        self._round += 1
        if await world.directory.refresh():
            self._receivers.doubt()
            if self._lease is None:
                self._sync_carriers()
        await self._look_after_nodes()
        await self._receivers.refresh()
        now = world.clock.now()
        self.dispatcher.reroute(self._live())
        if self._due("sweep", SWEEP_ROUNDS):
            self.dispatcher.sweep(now)
            if self._duties.upkeep:
                self._repeat("sweep", await self.dispatcher.drop_expired(world.store, self._node, BATCH))
        if self._duties.upkeep:
            await self._keep_rows(now)
        if self._round % STATE_ROUNDS == 1:
            await self._report_links(now)
        if self.reporter.awaited() or self.notifier.in_the_air or self.dispatcher.busy:
            self.gatherer.wake()

    async def _keep_rows(self, now: int) -> None:
        store = self._world.store
        oldest = now - int((self._deadlines.validity + self._deadlines.receipt_grace) * HOUR_MS)
        if self._due("overdue", OVERDUE_ROUNDS):
            self._repeat("overdue", await self.reporter.give_up(store, oldest, BATCH))
        if self._due("forget", OVERDUE_ROUNDS):
            self._repeat("forget", await store.forget(now - ORPHAN_DAYS * 24 * HOUR_MS, BATCH))
        if self._due("numbers", NUMBERS_ROUNDS):
            for _ in range(NUMBERS_BLOCKS):
                if await store.index_numbers(now, NUMBERS_BLOCK) == 0:
                    self._unfinished.discard("numbers")
                    break
        if self._lease is None or self._world.leases is None:
            return
        if self._round % OVERDUE_ROUNDS == 0:
            await self.reporter.reconsider(store, await store.orphans(BATCH))
        if self._due("gathered", GATHERED_ROUNDS) and not await self.reporter.find_gathered(self._world.leases, oldest):
            self._unfinished.discard("gathered")

    async def _look_after_nodes(self) -> None:
        """Where nodes share the store: takes over from those that are gone, and takes what binds are free."""
        if self._lease is None or not self._lease.holds:
            return
        self.reporter.drop_early(self._world.clock.now() - EARLY_KEPT_MS)
        if self._duties.upkeep and await self._lease.release_dead():
            self._unfinished.add("gathered")
            self.gatherer.stir()
        await self._share_binds()

    def _due(self, chore: str, rounds: int) -> bool:
        """Whether a chore of every so many rounds is due in this one."""
        if self._round % rounds == 0:
            self._unfinished.add(chore)
        return chore in self._unfinished

    def _repeat(self, chore: str, found: int) -> None:
        """A chore that found as much as it may take at once goes on in the next round, and so does one that failed."""
        if found < BATCH:
            self._unfinished.discard(chore)

    async def _report_links(self, now: int) -> None:
        states = [
            LinkState(connector.id, self._node, self._world.encode_state(self._state(connector, carrier)), now)
            for connector, carrier in self._carriers.values()
            if connector.id > 0
        ]
        if states:
            await self._world.store.save_link_states(states)

    def _state(self, connector: Connector, carrier: Carrier) -> dict[str, Any]:
        """What the carrier says, and how its lane goes."""
        lane = self.dispatcher.lane(connector.id)
        pace = lane.pace.rate
        return {
            **carrier.state(),
            "rate": connector.rate,
            "pace": round(pace, 1) if pace < inf else None,
            "throttles": lane.pace.throttles,
            "window_used": lane.in_flight,
            "waiting": len(lane),
        }

    # --- carriers

    def _live(self) -> dict[int, Connector]:
        """The connectors that there are, by id."""
        connectors = {connector.id: connector for connector in self._fallbacks}
        connectors.update((connector.id, connector) for connector in self._world.directory.connectors())
        return connectors

    async def _share_binds(self) -> None:
        """Takes the binds that this node may have, and brings carriers and lanes in line. Raises Unavailable."""
        if self._slots is not None and self._duties.dispatch:
            own = {connector.id for connector in self._fallbacks}
            live = [connector for number, connector in self._live().items() if number not in own]
            await self._slots.share_out(live, self._is_down)
            for number in self._live():
                lane = self.dispatcher.lane(number)
                if number in own or self._slots.of(number):
                    if lane.closed:
                        await self.dispatcher.open(lane, self._world.store)
                    continue
                lane.closed = True
                if not lane.idle:
                    self.dispatcher.hand_back(lane)
        self._sync_carriers()

    def _is_down(self, connector: int, binds: int) -> bool:
        """Whether no more than so many binds of the connector are up or may be."""
        up = self._carriers.get(connector)
        return not self._is_ending(connector) and (up is None or up[0].binds <= binds)

    def _is_ending(self, connector: int) -> bool:
        return any(task.get_name() == _ending_name(connector) for task in self._ending)

    def _carried(self) -> dict[int, Connector]:
        """The connectors that this node has carriers for, as it has them."""
        live = self._live()
        if self._slots is None:
            return live
        own = {connector.id for connector in self._fallbacks}
        if not self._duties.dispatch:
            return {}
        return {
            number: connector if number in own else self._slots.part(connector)
            for number, connector in live.items()
            if number in own or self._slots.of(number)
        }

    def _lapsed(self) -> None:
        """The lease was not renewed in time: nothing is sent any more, and the links go down before others bind. What
        is with the operator has its answers or is in doubt."""
        if self._slots is not None:
            self._slots.lose()
            if self._carriers:
                self._sync_carriers(MARGIN_S)

    def _sync_carriers(self, drain: float = DRAIN_S) -> None:
        """Starts carriers of new and changed connectors; drains those of changed, disabled and removed ones."""
        live = self._carried()
        for number, (connector, carrier) in list(self._carriers.items()):
            wanted = live.get(number)
            if wanted is None or not wanted.enabled or wanted != connector:
                if wanted is not None and wanted.enabled and _differs_in_pace_only(wanted, connector):
                    self._carriers[number] = (wanted, carrier)
                    continue
                del self._carriers[number]
                lane = self.dispatcher.lane(number)
                lane.carrier = None
                lane.unready()
                self._end_carrier(number, carrier, drain)
        for number, connector in live.items():
            lane = self.dispatcher.lane(number)
            lane.pace.limit(self._world.clock.monotonic(), connector.rate)
            lane.unknown_wait_ms = unknown_wait_ms(connector.options)
            lane.joins = joins_parts(connector.options)
            if connector.enabled and number not in self._carriers and not (self._lease and self._is_ending(number)):
                carrier = self._world.make_carrier(connector, LaneEvents(self.dispatcher, lane))
                self._carriers[number] = (connector, carrier)
                lane.carrier = carrier

    def _end_carrier(self, connector: int, carrier: Carrier, seconds: float) -> None:
        deadline = self._world.clock.monotonic() + seconds
        task = asyncio.create_task(carrier.drain(deadline), name=_ending_name(connector))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def links(self) -> list[tuple[Connector, dict[str, Any]]]:
        """Each connector with the state of its binds, for people."""
        return [(connector, carrier.state()) for connector, carrier in self._carriers.values()]

    def lane(self, connector: int) -> Lane:
        """The connector's lane, for people."""
        return self.dispatcher.lane(connector)

    # --- tasks

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(self._ended)
        self._tasks.append(task)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (problem := task.exception()) is not None:
            self._world.journal.say("critical", "task.died", task=task.get_name(), problem=repr(problem))
            self.failed.set()

    async def _cancel(self, name: str) -> None:
        for task in self._tasks:
            if task.get_name() == name:
                await end(task)

    async def _within(self, work: Any, deadline: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(work, max(0.1, deadline - self._world.clock.monotonic()))


def _ending_name(connector: int) -> str:
    return f"ending {connector}"


def _differs_in_pace_only(one: Connector, other: Connector) -> bool:
    """Whether a connector changed in nothing that its binds would notice."""
    return replace(one, rate=other.rate, name=other.name, enabled=other.enabled) == other
