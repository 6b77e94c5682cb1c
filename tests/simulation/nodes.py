"""Worlds with several nodes: they share a database, and take over from each other.

    customers ---+--> node 1 --+            +--- operators, over the binds of any node
    with repeats +--> node 2 --+- Database -+--- phones, likewise
                 +--> node 3 --+

Each node runs on its own machine, in a process of its own, with a clock that may be wrong. What happens to them:

| trouble | what | may it cost a node its lease? |
|---|---|---|
| kill, stop | a process ends at any moment, or as planned; its machine starts another | yes |
| pause | a process is stopped, and goes on as if nothing had happened | if it is longer than the lease |
| sleep | all processes are stopped, as on a machine that sleeps | no: nobody could renew |
| cut | the network between a node and the database is cut | if it is longer than the lease |
| outage | the database is away for all nodes | no |
| loss | an older copy of the database answers for a while | no |

Customers send a part of their requests with a `reference`, and repeat these at any node until they have a 200.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from heliograph.app.configuration import Connector
from heliograph.app.facts import Accept, Facts, Verdict
from heliograph.app.ports import Carrier, CarrierEvents, Part, Store, Unavailable
from heliograph.domain.past import KnownPast
from heliograph.runtime import past
from heliograph.runtime.environment import NodeRoles
from heliograph.runtime.lease import LATE_S, LEASE_S
from heliograph.runtime.past import PastKeeper
from tests.simulation import checks
from tests.simulation.database import Database, NodeStore
from tests.simulation.faults import PartName, ScriptedCarrier
from tests.simulation.node import Node
from tests.simulation.world import Simulation
from tests.support.memory_store import MemoryStore
from tests.support.virtual_time import Process, VirtualClock, later

PATIENCE_S = 8.0
"""Seconds after which a customer takes a request for lost."""

CALM_S = 300.0
"""Seconds to the end once nothing goes wrong any more, beside the validity: the grace of receipts, and three rounds of
the housekeeping that gives receipts up."""

TROUBLE_S = 600.0
"""Seconds in which every trouble has ended, the longest pause and some restarts after it included."""

EXCUSED_S = LEASE_S + LATE_S
"""Seconds after a pause or a cut in which other nodes may still give the node up: no renewal may have come yet."""

SILENT_S = (5.0, 90.0)
"""Seconds after which an operator drops the link of a process that does not answer."""

PAUSES_S = (0.5, 3.0, 5.5, 7.0, 8.0, 10.0, 14.0, 25.0, 60.0)
SLEEPS_S = (1.0, 3.0, 5.5, 9.0, 20.0)
CUTS_S = (0.3, 1.0, 3.0, 5.0, 8.0, 15.0)
OUTAGES_S = (0.2, 1.0, 3.0, 4.4, 4.6, 4.8, 5.0, 9.0, 20.0)
"""Seconds. An outage of 4.5 to 5 s ends the leases of some nodes, and not of the others."""

MID_CALL_S = 3.0
"""Seconds in which a pause waits for a commit that marks parts, because a process that continues would send these. A
sleep of all machines also waits for a call that gives up dead nodes, because none could renew when it continues. A kill
waits for a commit with a message from a phone, because the operator repeats that over another node."""


@dataclass(eq=False)
class Machine:
    """A machine that runs one node after the other."""

    number: int
    clock: VirtualClock
    node: "MemberNode | None" = None
    """The node, once it has started."""
    has_trouble: bool = False


@dataclass(eq=False)
class Order:
    """A request of a customer, with its repeats."""

    template: Accept
    is_answered: bool = False
    """Whether the customer needs no further answer."""
    attempts: int = 0


class MemberNode(Node):
    """A node among others."""

    world: "Nodes"
    process: Process
    store: NodeStore
    excused_until = 0.0
    """Until when other nodes may give this one up."""
    is_counted = False
    """Whether the parts in its windows at its end are counted."""

    def make_carrier(self, connector: Connector, events: CarrierEvents) -> Carrier:
        carrier = super().make_carrier(connector, events)
        assert isinstance(carrier, ScriptedCarrier)
        carrier.on_submit = partial(self.world.written, self)
        carrier.on_bind = partial(self.world.bound, carrier)
        return carrier

    @property
    def in_flight(self) -> list[PartName]:
        """Parts without a committed outcome."""
        return [part for carrier in self.carriers for part, count in carrier.places.items() if count]

    @property
    def is_marking(self) -> bool:
        """Whether a commit is under way after which parts are sent."""
        return any(lane.window.marked for lane in self.engine.dispatcher.lanes.values())

    def excuse(self, seconds: float) -> None:
        """Lets other nodes give this node up until it has renewed its lease after so many seconds."""
        self.excused_until = max(self.excused_until, self.clock.monotonic() + seconds + EXCUSED_S)


@dataclass
class Nodes(Simulation):
    """A world with several nodes."""

    orders: list[Order] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.database = Database(self.shards[0])
        self.database.on_release = self._released
        self.roles = NodeRoles(most_binds=self.seed % 3)  # 0: the first node has all binds
        self.live_odds.receipt_doubled = 0.0  # the later of two contradicting receipts may count: a known weak point
        chance, most = self.chance, self.plan.skew_ms
        self.machines = [
            Machine(number, VirtualClock(ahead=chance.randint(-most, most))) for number in range(1, self.plan.nodes + 1)
        ]
        self._files: dict[Path, KnownPast] = {}
        self._members: dict[int, MemberNode] = {}
        """All nodes that have been there, by number."""
        self._chores: set[asyncio.Task[None]] = set()

    # --- the story

    def _open(self) -> Store:
        self.stores = []
        return MemoryStore(self.shards[0])  # the world's own way to the rows has no faults

    async def run(self) -> list[str]:
        with ExitStack() as patches:
            patches.enter_context(patch.object(past, "load_past", self._files.get))
            patches.enter_context(patch.object(past, "save_past", self._files.__setitem__))
            await self._live()
        return self.wrong

    async def _live(self) -> None:
        asyncio.get_running_loop().set_exception_handler(self._on_raised)
        self.store = self._open()
        await self._furnish()
        for machine in self.machines:
            self._begin(self._boot(machine))
        await asyncio.sleep(2.0)
        await self._customers()
        last = self.clock.monotonic() + TROUBLE_S
        while any(machine.has_trouble for machine in self.machines) and self.clock.monotonic() < last:  # noqa: ASYNC110 - on a virtual clock
            await asyncio.sleep(0.5)
        self.live_odds.stop()
        await asyncio.sleep(10.0)
        self.database.calm = True
        calm = self.database.now()
        await asyncio.sleep(CALM_S + self.plan.validity_ms / 1000)
        nodes = [machine.node for machine in self.machines if machine.node is not None]
        if len(nodes) < len(self.machines):
            self.wrong.append("a machine has no node")
        for node in nodes:
            await self._read(node.engine)
        await self._judge(calm, [node.engine for node in nodes])
        self.wrong += checks.repeats(self.rows, [(each.template, each.is_answered) for each in self.orders])
        for machine in self.machines:
            if machine.node is not None:
                await self._stop(machine, machine.node)
        for chore in self._chores:
            chore.cancel()

    def _begin(self, chore: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(chore)
        self._chores.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, chore: asyncio.Task[None]) -> None:
        self._chores.discard(chore)
        if not chore.cancelled() and (problem := chore.exception()) is not None:
            self.wrong.append(f"the world broke: {problem!r}")

    # --- machines and their nodes

    async def _boot(self, machine: Machine) -> None:
        """Starts nodes until one comes up, and another each time that it ends by itself."""
        machine.has_trouble = True
        while True:
            node = self._make(machine)
            try:
                await node.process.create_task(node.start())
                break
            except Unavailable:
                await self._kill(node)
                await asyncio.sleep(1.0)
        machine.node = node
        machine.has_trouble = False
        await node.engine.failed.wait()
        if machine.node is node:  # it was fenced
            machine.has_trouble = True
            await self._stop(machine, node)
            await asyncio.sleep(self.chance.random() * 3)
            self._begin(self._boot(machine))

    def _make(self, machine: Machine) -> MemberNode:
        self.runs += 1
        guard = PastKeeper(Path(f"/{machine.number}"), machine.clock, self.journal, _at_once)
        store = NodeStore(self.database, self.runs, self.chance, self.live_odds, guard)
        node = MemberNode(self, self.runs, store, machine.clock, process=Process(), past=guard)
        store.watchers.append(partial(self._committed_by, node))
        self._members[node.number] = node
        return node

    async def _stop(self, machine: Machine, node: MemberNode) -> None:
        """Ends a node as planned, or because it was fenced."""
        machine.node = None
        node.excuse(60.0)
        await node.process.create_task(node.engine.stop(20.0))
        await self._kill(node)

    async def _kill(self, node: MemberNode) -> None:
        self._count_doubts(node)
        node.excuse(1e9)
        node.kill_links()
        await node.process.kill()
        node.store.end()

    def _count_doubts(self, node: MemberNode) -> None:
        """Notes the parts that another node may write again: those in the windows of a dead node."""
        if not node.is_counted:
            node.is_counted = True
            for part in node.in_flight:
                self.doubts[part] = self.doubts.get(part, 0) + 1

    # --- what happens to them

    async def _customers(self) -> None:
        end = self.clock.monotonic() + self.plan.busy_s * self.chance.uniform(0.7, 1.3)
        while self.clock.monotonic() < end:
            await asyncio.sleep(self.chance.expovariate(self.plan.requests_s))
            if self.chance.random() < 0.92:
                for _ in range(self.chance.choice((1, 1, 1, 5, 30)) if self.chance.random() < 0.05 else 1):
                    self._order()
            else:
                await self._change_mind()
            if self.chance.random() < self.plan.phones:
                self.phones.write()
            if self.chance.random() < self.plan.troubles:
                self._trouble()

    def _trouble(self) -> None:
        """Lets something happen. Mostly the other nodes are sound, so that they can take over."""
        chance = self.chance
        kind, sound = chance.choice(self.plan.kinds), [each for each in self.machines if not each.has_trouble]
        if len(sound) < len(self.machines) and chance.random() < 0.8:
            return
        if kind == "loss":
            if len(sound) == len(self.machines):
                self._begin(self._lose())
        elif kind == "outage":
            self.database.go_away(chance.choice(OUTAGES_S), hangs=chance.random() < 0.5)
        elif kind == "sleep":
            if len(sound) == len(self.machines):
                self._begin(self._pause(sound, chance.choice(SLEEPS_S)))
        elif not sound:
            return
        elif kind == "pause":
            self._begin(self._pause([chance.choice(sound)], chance.choice(PAUSES_S)))
        elif kind == "cut":
            self._cut(chance.choice(sound), chance.choice(CUTS_S))
        else:
            self._begin(self._end_one(chance.choice(sound), killed=kind == "kill"))

    async def _end_one(self, machine: Machine, *, killed: bool) -> None:
        node = machine.node
        assert node is not None
        machine.has_trouble = True
        until = self.clock.monotonic() + (MID_CALL_S if killed and self.plan.phones else 0.0)
        while not self.database.receiving[node.number] and self.clock.monotonic() < until:  # noqa: ASYNC110
            await asyncio.sleep(0.002)
        if machine.node is not node:
            return  # it was fenced meanwhile
        if killed:
            machine.node = None
            await self._kill(node)
        else:
            await self._stop(machine, node)
        await asyncio.sleep(self.chance.random() * 8)
        self._begin(self._boot(machine))

    async def _pause(self, machines: list[Machine], seconds: float) -> None:
        """Stops the processes of one machine for a while, or of all at the same moment."""
        until = self.clock.monotonic() + (MID_CALL_S if self.chance.random() < 0.7 else 0.0)
        releases = len(machines) > 1 and self.chance.random() < 0.5
        while self.clock.monotonic() < until:
            nodes = [machine.node for machine in machines if machine.node is not None]
            if any(self.database.releasing[node.number] if releases else node.is_marking for node in nodes):
                break
            await asyncio.sleep(0.002)
        machines = [machine for machine in machines if machine.node is not None and not machine.has_trouble]
        nodes = [machine.node for machine in machines if machine.node is not None]
        for machine in machines:
            machine.has_trouble = True
        for node in nodes:
            node.process.stop()
            if len(machines) < len(self.machines):  # a machine in trouble starts a node meanwhile
                node.excuse(seconds)
            for carrier in node.carriers:
                later(self.chance.uniform(*SILENT_S), self._drop_silent, node, carrier)
        await asyncio.sleep(seconds)
        for node in nodes:
            node.process.go_on()
        for machine in machines:
            machine.has_trouble = False

    def _drop_silent(self, node: MemberNode, carrier: ScriptedCarrier) -> None:
        if not node.process.runs:
            carrier.drop()

    def _cut(self, machine: Machine, seconds: float) -> None:
        node = machine.node
        assert node is not None
        node.store.cut_until = self.clock.monotonic() + seconds
        node.excuse(seconds)

    async def _lose(self) -> None:
        """Lets an older copy of the database answer for a while, which lacks a confirmed commit of each node."""
        chance, database = self.chance, self.database
        for machine in self.machines:
            machine.has_trouble = True
        copy = database.snapshot()
        await asyncio.sleep(chance.uniform(0.5, 4.0))
        if database.has_lost_something_of_each(copy):
            seconds = chance.choice((0.1, 1.0, 3.0))
            database.go_away(seconds, hangs=chance.random() < 0.5)
            await asyncio.sleep(seconds / 2)
            database.become(copy)
            await asyncio.sleep(chance.uniform(1.0, 15.0))
            database.go_away(1.0, hangs=False)
            database.become(None)
            await asyncio.sleep(10.0)
        for machine in self.machines:
            machine.has_trouble = False

    # --- customers

    def _order(self) -> None:
        """Sends a request to any node that is up, as a balancer does."""
        up = [machine.node for machine in self.machines if machine.node is not None]
        if not up:
            return
        node = self.chance.choice(up)
        template = self._compose(node)
        order = Order(template)
        if self.chance.random() < 0.5:
            template.reference = f"order {len(self.orders)}"
            template.fingerprint = b"fingerprint"
            for message in template.messages:
                message.reference = template.reference
        self.orders.append(order)
        self._ask(order, node)

    def _ask(self, order: Order, node: MemberNode) -> None:
        order.attempts += 1
        attempt, template = order.attempts, order.template
        accept = replace(template, messages=[replace(message) for message in template.messages])
        if not accept.scheduled:
            accept.at = now = node.clock.now()
            for message in accept.messages:
                message.time, message.expires = now, now + self.plan.validity_ms

        def enter() -> None:
            if not node.intake.accept(accept, partial(self._settled, order)):
                later(0.2 + self.chance.random(), self._try_again, order, attempt)

        node.enter(enter)
        later(PATIENCE_S, self._try_again, order, attempt)

    def _settled(self, order: Order, accept: Accept) -> None:
        """Takes an answer, which may come after the customer's patience has ended."""
        if accept.verdict in (Verdict.ACCEPTED, Verdict.REPLAYED):
            self.told.update(message.key for message in accept.messages)
        else:
            self.wrong += checks.refused(self.shards, accept)
        if accept.verdict in (Verdict.UNAVAILABLE, Verdict.IN_DOUBT):
            later(self.chance.random() * 3, self._try_again, order, order.attempts)
        else:
            order.is_answered = True

    def _try_again(self, order: Order, attempt: int) -> None:
        """Repeats a request with a reference, at any node, unless a later attempt is under way."""
        if order.is_answered or order.template.reference is None or order.attempts != attempt:
            return
        up = [machine.node for machine in self.machines if machine.node is not None]
        if up:
            self._ask(order, self.chance.choice(up))
        else:
            later(1.0, self._try_again, order, attempt)

    # --- checks at the moment

    def _committed_by(self, node: MemberNode, facts: Facts) -> None:
        for carrier in node.carriers:
            carrier.committed(facts)
        self._look(facts)

    def written(self, node: MemberNode, part: Part) -> None:
        """Looks at each part that a node writes to an operator."""
        self.wrong += checks.takeover(self.shards[0], node.number, part)

    def bound(self, carrier: ScriptedCarrier) -> None:
        """Looks at the links of nodes that hold their leases. Others are about to take theirs down."""
        now, operator = self.clock.monotonic(), carrier.operator
        holding = [each for node in self._members.values() if node.engine.lease_end.at > now for each in node.carriers]
        links = sum(each.binds for each in holding if each.operator is operator and each.up)
        self.wrong += checks.links(operator, links)

    def _released(self, number: int, by: int) -> None:
        node = self._members[number]
        self._count_doubts(node)
        self.wrong += checks.released(number, by, is_excused=self.clock.monotonic() <= node.excused_until)


async def _at_once(work: Any, *args: Any) -> None:
    """Writes a file without a thread."""
    work(*args)
