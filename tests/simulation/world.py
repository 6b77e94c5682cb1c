"""The gateway's core on a virtual clock between customers, operators and receivers, with the faults of its world.

A world has one node at a time here; `tests.simulation.nodes` has several.
"""

import asyncio
import random
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, cast

from heliograph.app.configuration import Account, ApiKey, Missing, Price, Route
from heliograph.app.facts import Accept, Facts, Message, Verdict
from heliograph.app.ports import NotScheduled, Store, Unavailable
from heliograph.app.sending.directory import Directory
from heliograph.app.webhook_job import WebhookJob
from heliograph.domain.message.state import Kind, State
from heliograph.domain.message.way import Way
from heliograph.domain.money.pricing import BUILT_IN_PRICE
from heliograph.domain.numbers.number_rules import InboundNumber
from heliograph.domain.text.segment import count
from heliograph.runtime.engine import Engine
from heliograph.runtime.environment import NodeRoles
from heliograph.runtime.group_commit import GroupCommit
from tests.simulation import checks, failovers, forgetting, phones
from tests.simulation.consents import Consents
from tests.simulation.days import Days
from tests.simulation.esmes import ESME_TERMS, Esmes
from tests.simulation.failovers import Failovers
from tests.simulation.faults import NUL, Broken, FaultyStore, Odds, Operator, PartName
from tests.simulation.node import GRACE_MS, Node
from tests.simulation.suspensions import Suspensions
from tests.support.connectors import smpp_connector
from tests.support.memory_retention import with_archive
from tests.support.memory_rows import Rows, merged
from tests.support.shards import SLOTS, Shards
from tests.support.store import CREDIT
from tests.support.virtual_time import VirtualClock

MOST_BEHIND_MS = -500_000
"""How far a clock may be behind: once it is set right, the repeats of the last ten minutes are still known."""

CALM_S = 600.0
"""How long everything has to come to its end once nothing goes wrong any more; twice that where clocks were wrong."""

READ_STEPS = 200
"""Hundredths of a second that a look at the rows may take which housekeeping has begun right before the end."""

DAILY_MESSAGES, DAILY_SPEND = 25, 8 * CREDIT
"""Limits of each day, where days are simulated: on most of them both are reached."""

CONTENTS = ("Hello", "ä" * 171, "[" * 160, "x" * 480, "Grüße 😀" * 20)


@dataclass
class Plan:
    """The kind of a world."""

    busy_s: float = 40.0
    requests_s: float = 6.0
    """Requests a second, on average."""
    lives: int = 3
    """Runs of the gateway; all but the last end by a crash or, `graceful`, by being stopped."""
    graceful: bool = False
    clock_jumps: bool = False
    remove_connector: bool = False
    ids_again: bool = False
    """The operators' counters start again with each crash."""
    rate: float = 0.0
    validity_ms: int = 180_000
    longest_outage_s: float = 3.0
    unknown_wait_s: float = 0.0
    """Time for which connectors wait for unanswered parts; 0: they send them again at once."""
    whole: bool = False
    """Whether operators take long messages as a single part."""
    recipients: int = 0
    """Number of repeated destinations for each operator; 0: each message goes to another number."""
    short_memory: bool = False
    """Whether memory is small, so that the rows carry nearly everything."""
    nodes: int = 1
    """Number of nodes that share the store."""
    troubles: float = 0.0
    """The share of steps at which something happens to a node, or to the database of all nodes."""
    kinds: tuple[str, ...] = ()
    """The kinds of what happens, from which one is chosen each time: see `nodes`."""
    skew_ms: int = 0
    """Milliseconds by which the clock of a node may be wrong."""
    shards: int = 1
    """Number of stores that share the accounts."""
    phones: float = 0.0
    """The share of steps at which a phone writes to the gateway."""
    opt_outs: bool = False
    """Phones send words such as STOP, and much is sent to them."""
    replies: bool = False
    """Receivers reply to phones in the answers of their webhooks."""
    retain_s: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Seconds after which texts and numbers are redacted, and rows dropped; 0: never."""
    day_s: float = 0.0
    """Days are that short, and accounts have limits for each; 0: they have none."""
    suspensions: float = 0.0
    """The share of steps at which an account is suspended or resumed."""
    esmes: float = 0.0
    """The share of steps at which customers' SMPP clients send, or misbehave."""
    failover: float = 0.0
    """The share of steps at which an operator gets into trouble, or out of it; 0: each prefix has a single operator."""
    failover_unknown: bool = False
    """Whether another operator tries a message without an answer."""
    failover_receipts: bool = False
    """Whether another operator tries a message that the first did not deliver."""
    doubts: bool = False
    """Whether the store loses answers to commits with requests."""
    unfit: float = 0.0
    """The share of values from operators, receivers and customers that all stores reject."""


class NoJournal:
    def __init__(self) -> None:
        self.deaths: list[object] = []

    def log(self, level: str, event: str, **fields: object) -> None:
        if level == "critical" or event == "answer.failed":
            self.deaths.append(fields)


class SeededIds:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def tail(self) -> int:
        return self._chance.getrandbits(62)


@dataclass
class Simulation:
    make_node: ClassVar[type[Node]] = Node
    """Makes the runs of the gateway."""
    roles = NodeRoles()

    seed: int
    plan: Plan
    odds: Odds | None = None
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chance = chance = random.Random(self.seed)
        self.odds = Odds.of(chance) if self.odds is None else self.odds
        if self.plan.failover and chance.random() < 0.5:  # only a sound store lets messages leave an operator in time
            self.odds.store_fails = self.odds.store_fails_after = 0.0
        self.shards = [Rows(archive=Rows() if any(self.plan.retain_s) else None) for _ in range(self.plan.shards)]
        goes_back = self.plan.failover_receipts
        self.marks = [checks.Marks(rows, goes_back=goes_back) for rows in self.shards]
        self.clock = VirtualClock()
        self.journal = NoJournal()
        Broken.sentences.clear()
        self.told: set[int] = set()
        self.planned: set[int] = set()
        """Messages that were not to be sent at once, and the gateway's own."""
        self.arrived: dict[int, list[bytes]] = {}
        self.doubts: dict[PartName, int] = {}
        self.operators: dict[int, Operator] = {}
        self.runs = 0
        """Runs of the gateway so far."""
        self.ids = SeededIds(chance)
        self.watch: asyncio.Task[None] | None = None
        self.phones = phones.Phones(chance, self.odds, self.operators, lambda: self.rows, self.wrong)
        self.phones.reachable = self.plan.replies or self.plan.opt_outs
        self.phones.answered = self.plan.replies
        self.phones.wishes = self.plan.opt_outs
        self.consents = Consents(self.phones, self.operators)
        self.limited_days = Days()
        self.suspensions = Suspensions(chance, self.operators, self.clock.monotonic)
        self.failovers = Failovers(
            chance,
            self.operators,
            unknown=self.plan.failover_unknown,
            receipts=self.plan.failover_receipts,
            short_memory=self.plan.short_memory,
        )
        self.esmes = Esmes(random.Random(self.seed), lambda: self.shards, self._recipient, self.arrived, self.wrong)

    @property
    def rows(self) -> Rows:
        """Copies the rows that all shards have, or had before they were dropped: too dear for each commit."""
        return with_archive(self.shards[0]) if len(self.shards) == 1 else merged(self.shards)

    @property
    def administered(self) -> Rows:
        """The rows that have accounts, connectors and routes."""
        return self.shards[0]

    def _is_inbound(self, key: int) -> bool:
        kept = [rows for shard in self.shards for rows in (shard, shard.archive) if rows is not None]
        return any(key in rows.inbound for rows in kept)

    # --- set up

    def _open(self) -> Store:
        self.stores = stores = [
            FaultyStore(rows, self.chance, self.live_odds, doubts=self.plan.doubts) for rows in self.shards
        ]
        for store in stores:
            store.watchers.append(self._on_commit)
            store.unheard = self.suspensions.unheard
        if len(stores) == 1:
            return stores[0]
        firsts = [SLOTS * number // len(stores) for number in range(len(stores))]
        return cast("Store", Shards(stores, firsts))

    async def run(self) -> list[str]:
        """Everything that was found wrong."""
        asyncio.get_running_loop().set_exception_handler(self._on_raised)
        self.store = self._open()
        await self._furnish()
        node = await self._start()
        for _ in range(self.plan.lives - 1):
            await self._customers()
            await self._end(node)
            if self.plan.suspensions and self.chance.random() < 0.5:  # from another node, or by a command
                await self._change_standing()
            node = await self._start()
        await self._customers()
        for account in (1, 2):
            if self.suspensions.is_suspended(account):
                await self._suspend(account, suspended=False)
        self.live_odds.stop()
        self.failovers.calm()
        self.esmes.calm()
        self.clock.ahead = max(0, self.clock.ahead)
        calm = self.clock.now()
        if self.plan.failover:
            await self._probe()
        await asyncio.sleep(CALM_S * (2 if self.plan.clock_jumps else 1))
        await self._read(node.engine)
        await self._judge(calm, [node.engine])
        await node.engine.stop(5.0)
        return self.wrong

    async def _read(self, engine: Engine) -> None:
        """Waits for the end of a look at the rows."""
        for _ in range(READ_STEPS):
            if not engine.matcher.awaited.reads:
                break
            await asyncio.sleep(0.01)

    async def _judge(self, calm: int, engines: list[Engine]) -> None:
        """Checks the rows and the memory of the engines, a while after the last fault at `calm` (ms)."""
        if any(engine.failed.is_set() for engine in engines) or self.journal.deaths:
            self.wrong.append(f"a task died: {self.journal.deaths} {Broken.sentences}")
        operators, rows = list(self.operators.values()), self.rows
        lifetime = self.plan.validity_ms + GRACE_MS
        self.wrong += checks.messages(rows, self.told, operators, lifetime, ids_again=self.plan.ids_again)
        right_clocks = not (self.plan.clock_jumps or self.plan.skew_ms)
        self.wrong += checks.submits(rows, operators, self.doubts, in_time=right_clocks)
        if right_clocks:  # a clock that was ahead has ended validities too early
            self.wrong += checks.liveness(rows, calm)
        self.wrong += checks.rates(operators)
        if self.plan.nodes == 1:  # each node keeps the order of its own messages only
            self.wrong += checks.order(operators, self.planned | self.suspensions.held, tried_again=self.plan.doubts)
        if self.plan.failover:
            self.wrong += self.failovers.end(self.directory, rows)
        if self.plan.esmes:
            self.wrong += self.esmes.end(rows)
            await self.esmes.stop()
        self.wrong += checks.callbacks(rows, self.arrived)
        self.wrong += checks.leftovers(rows)
        self.wrong += phones.check(rows, self.phones, self.arrived)
        for engine in engines:
            self.wrong += checks.nothing_left(engine) + phones.leftovers(engine.reception)
        self.wrong += self.consents.end(rows)
        self.wrong += await self.store.upkeep.audit()
        if any(self.plan.retain_s):
            self.wrong += forgetting.end(self.shards[0], self.plan.retain_s)

    async def _furnish(self) -> None:
        for name in ("rich", "poor"):
            account = Account(0, name, "", bytes(32), created=self.clock.now())
            await self.store.accounts.create(
                account, ApiKey("k", 0, b"", 0), (10_000 if name == "rich" else 15) * CREDIT, ()
            )
        for name, terms in ESME_TERMS.items() if self.plan.esmes else ():
            account = Account(0, name, "", bytes(32), created=self.clock.now(), smpp=terms)
            key = ApiKey("k", 0, b"", 0)
            created = await self.store.accounts.create(account, key, (60 if name == "plain" else 10_000) * CREDIT, ())
            self.esmes.add(name, created.id, terms)
        for number in (1, 2, 3) if self.plan.failover else (1, 2):
            window = self.chance.choice((1, 2, 5, 10))
            connector = smpp_connector(0, f"op{number}", "", 0, "", "", window=window, rate=self.plan.rate)
            if self.plan.nodes > 1:
                connector.binds = self.chance.choice((1, 2, 3))
            if self.plan.unknown_wait_s:
                connector.settings |= {"unknown": "wait", "unknown_wait_s": self.plan.unknown_wait_s}
            if self.plan.whole:
                connector.settings |= {"concatenation": "whole"}
            if self.plan.failover:
                connector.settings |= {
                    "failover_after_s": failovers.AFTER_S,
                    "failover_unknown": self.plan.failover_unknown,
                }
            if self.plan.failover_receipts:
                connector.settings |= {"failover_receipts": failovers.RECEIPTS}
            connector = await self.store.network.add_connector(connector)
            operator = self.operators[connector.id] = Operator(connector, self.chance, self.live_odds, self.clock.now)
            operator.longest_outage_s = self.plan.longest_outage_s
            operator.unfit = self.plan.unfit
            operator.on_submit = self._on_submit
            if self.plan.failover:
                operator.on_answer = self.failovers.answered
                operator.on_undelivered = self.failovers.undelivered
            else:
                await self.store.network.add_route(Route(0, str(number), connector.id))
            if self.plan.failover_receipts:
                operator.gives_up = failovers.gives_up
        for route in failovers.routes() if self.plan.failover else ():
            await self.store.network.add_route(route)

        if self.plan.day_s:
            await self.store.accounts.update(1, {"daily_messages": DAILY_MESSAGES})
            await self.store.accounts.update(2, {"daily_spend": DAILY_SPEND, "daily_messages": DAILY_MESSAGES})
        if self.plan.phones:
            reply = "body" if self.plan.replies else "off"
            changes: dict[str, Any] = {"inbound_url": "http://example.com/inbound", "inbound_reply": reply}
            if self.plan.opt_outs:
                changes |= {"stop_text": "You get no more.", "help_text": "Nobody can help."}
            if self.plan.esmes:
                changes |= {"inbound_way": "bind", "smpp": ESME_TERMS["plain"]}
                self.esmes.add("rich", 1, ESME_TERMS["plain"])
            await self.store.accounts.update(1, changes)
            await self.store.inbound.add_number(InboundNumber(0, phones.OWNED_NUMBER, 1))
            await self.store.network.set_price(Price("default", "", BUILT_IN_PRICE, 5))

    @property
    def live_odds(self) -> Odds:
        """The odds of this world, which become 0 at its end."""
        assert self.odds is not None
        return self.odds

    async def _start(self) -> Node:
        for store in self.stores:
            store.forget_doubts()
        while True:
            self.runs += 1
            self.node = node = self.make_node(self, self.runs, self.store, self.clock)
            try:
                await node.start()
            except Unavailable:
                self._kill_links(node)
                await asyncio.sleep(1.0)
                continue
            if self.plan.failover and self.live_odds.store_fails == self.live_odds.store_fails_after == 0:
                self.watch = asyncio.create_task(self._watch(node.engine), name="watch")
            if self.plan.esmes:
                await node.listen()
            self.suspensions.started()
            return node

    @property
    def directory(self) -> Directory:
        return self.node.directory

    @property
    def intake(self) -> GroupCommit:
        return self.node.intake

    def arrived_at_receiver(self, job: WebhookJob) -> None:
        if not self._is_inbound(job.key):
            self.wrong += forgetting.told(job.key, job.body)
        self.arrived.setdefault(job.key, []).append(job.body)

    def _on_commit(self, facts: Facts) -> None:
        for carrier in self.node.carriers if self.runs else ():
            carrier.committed(facts)
        self._look(facts)

    def _look(self, facts: Facts) -> None:
        """Looks at the rows after each commit."""
        self.planned.update(message.key for each in facts.accepts if each.scheduled for message in each.messages)
        replies = [each.reply for each in facts.inbound if each.reply is not None]
        self.planned.update(message.key for each in replies for message in each.messages)
        if not self.wrong:
            self.wrong += checks.accounts(self.shards, facts)
            for rows, marks in zip(self.shards, self.marks, strict=True):
                self.wrong += marks.look() + checks.credit(rows)
            self.wrong += self.consents.commit(lambda: self.rows, facts)
            self.wrong += self.limited_days.commit(self.administered, facts)
            if self.plan.suspensions:
                self.wrong += self.suspensions.commit(self.shards)
            if self.plan.esmes:
                self.wrong += self.esmes.look()

    def _on_submit(self, connector: int, message: Message) -> None:
        self.wrong += forgetting.submitted(message)
        if not self.wrong:
            self.wrong += checks.attempt(self.shards, connector, message) + self.suspensions.submit(message)
            self.wrong += self.consents.submit(lambda: self.rows, message)
        if self.plan.failover:
            self.wrong += self.failovers.submit(connector, message)

    async def _watch(self, engine: Engine) -> None:
        """Looks at waiting messages until cancelled."""
        while True:
            await asyncio.sleep(failovers.LOOK_S)
            if not self.wrong:
                self.wrong += self.failovers.look(lambda: self.rows, engine, self.directory, self.clock.monotonic())

    def _on_raised(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Exceptions of timers and callbacks, which would otherwise only be logged."""
        self.wrong.append(f"the loop was told: {context.get('exception')!r} {context['message']}")

    # --- ends

    async def _end(self, node: Node) -> None:
        if self.watch is not None:
            self.watch.cancel()
        if self.plan.graceful and self.chance.random() < 0.7:
            if self.plan.esmes:
                await self.esmes.stop()
            await node.engine.stop(20.0)
            self._kill_links(node)
        else:
            await self._crash(node)
        if self.plan.ids_again:
            for operator in self.operators.values():
                operator.restart_counter()
        await asyncio.sleep(self.chance.random() * 5)

    async def _crash(self, node: Node) -> None:
        await node.crash()
        self._kill_links(node)
        self.esmes.crash()
        sent = self.rows.sent
        for operator in self.operators.values():
            for name in operator.submits:
                if name not in sent:
                    self.doubts[name] = self.doubts.get(name, 0) + 1

    def _kill_links(self, node: Node) -> None:
        node.kill_links()
        self.consents.restart()
        self.failovers.restart()
        if self.plan.suspensions:
            self.suspensions.restart(self.shards)

    # --- customers

    async def _customers(self) -> None:
        end = self.clock.monotonic() + self.plan.busy_s / self.plan.lives * self.chance.uniform(0.3, 1.7)
        while self.clock.monotonic() < end:
            await asyncio.sleep(self.chance.expovariate(self.plan.requests_s))
            what = self.chance.random()
            if what < 0.9:
                for _ in range(self.chance.choice((1, 1, 1, 5, 30)) if what < 0.05 else 1):
                    self._send()
            elif what < 0.98:
                await self._change_mind()
            elif self.plan.clock_jumps:
                jump = self.chance.choice((-120_000, -5_000, 5_000, 70_000, 100_000, -200_000))
                self.clock.ahead = max(MOST_BEHIND_MS, self.clock.ahead + jump)
            if self.plan.esmes and self.chance.random() < self.plan.esmes:
                self.esmes.step()
            if self.plan.failover and self.chance.random() < self.plan.failover:
                self.failovers.step()
            if self.plan.phones and self.chance.random() < self.plan.phones:
                self.phones.write()
            if self.plan.suspensions and self.chance.random() < self.plan.suspensions:
                await self._change_standing()
            if self.plan.remove_connector and 2 in self.administered.connectors and self.chance.random() < 0.02:
                await self.store.network.remove_connector("op2")
                if self.chance.random() < 0.8:
                    await self.store.network.add_route(Route(0, "2", 1))

    async def _change_standing(self) -> None:
        account, suspended = self.suspensions.turn()
        await self._suspend(account, suspended=suspended)

    async def _suspend(self, account: int, *, suspended: bool) -> None:
        await self.store.accounts.update(account, {"suspended": suspended})
        self.suspensions.turned(account, suspended=suspended)

    async def _probe(self) -> None:
        """Sends messages until the first candidates must be in use again."""
        for number in range(failovers.PROBES):
            await asyncio.sleep(failovers.PROBE_S)
            for prefix in "12":
                messages = self._send(prefix)
                if number > failovers.PROBES * 3 // 4:
                    self.failovers.probes += messages

    def _send(self, prefix: str = "") -> list[Message]:
        accept = self._compose(self.node, prefix)
        self.intake.accept(accept, partial(self._answered, self._outages))
        return accept.messages

    def _compose(self, node: Node, prefix: str = "") -> Accept:
        """Makes a request at a node."""
        chance = self.chance
        now = node.clock.now()
        scheduled = not prefix and chance.random() < 0.15
        at = now + int(chance.random() * 30_000) + 1 if scheduled else now
        content = chance.choice(CONTENTS) if chance.random() < 0.4 else "Hello"
        segments = count(content, Kind.TEXT)[1]
        account = 1 if prefix else chance.choice((1, 1, 1, 2))
        wants = chance.random() < 0.8
        sender = "Heliograph" if not self.plan.unfit or chance.random() >= self.plan.unfit else NUL
        messages = [
            Message(
                account=account,
                destination=prefix + self._recipient(),
                sender=sender,
                kind=0,
                content=content,
                segments=segments,
                price=segments * CREDIT,
                time=at,
                expires=at + self.plan.validity_ms,
                state=State.SCHEDULED if scheduled else State.SENT,
                connector=0,
                wants_receipt=wants,
                callback_url="http://example.com/receipt" if wants and chance.random() < 0.8 else "",
                queued=scheduled,
            )
            for _ in range(chance.choice((1, 1, 1, 4)))
        ]
        for message in messages:
            message.way = Way.WEBHOOK if message.callback_url else Way.NONE
            message.connector = node.directory.route(message) or 1
        total = sum(message.price for message in messages)
        accept = Accept(account, messages, total, now, scheduled, batch=len(messages) > 1)
        accept.day_ends = self._day_ends(now)
        return accept

    def _day_ends(self, now: int) -> int:
        """Returns the end of the day by a node's clock. Sometimes the node knows no limit yet, or its time is still in
        the day before."""
        day_ms = int(self.plan.day_s * 1000)
        if not day_ms or self.chance.random() < 0.05:
            return 0
        return (now // day_ms + (self.chance.random() < 0.9)) * day_ms

    def _recipient(self) -> str:
        chance = self.chance
        if self.plan.opt_outs and chance.random() < 0.5:
            return chance.choice(phones.PHONES)
        first = chance.choice("12")
        return (
            f"{first}{chance.randrange(self.plan.recipients) if self.plan.recipients else chance.getrandbits(36):011d}"
        )

    @property
    def _outages(self) -> int:
        return sum(store.outages for store in self.stores)

    def _answered(self, outages: int, accept: Accept) -> None:
        if accept.verdict is Verdict.ACCEPTED:
            self.told.update(message.key for message in accept.messages)
            return
        self.wrong += checks.refused(self.shards, accept)
        if self._outages == outages and self.intake._open:
            self.wrong += checks.refusal(accept)

    async def _change_mind(self) -> None:
        waiting = [message for message in self.rows.messages.values() if message.state == State.SCHEDULED]
        if not waiting:
            return
        message = self.chance.choice(waiting)
        now = self.clock.now()
        with suppress(Unavailable, NotScheduled, Missing):
            if self.chance.random() < 0.5:
                await self.store.customers.cancel(message.account, message.key, message.tail, now)
            else:
                later = now + int(self.chance.random() * 20_000) + 1
                await self.store.customers.reschedule(
                    message.account, message.key, message.tail, later, later + self.plan.validity_ms, now
                )
