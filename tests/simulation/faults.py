"""A store that fails, an operator that misbehaves, receivers that lie: all from one seeded source of chance."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, ClassVar

from heliograph.adapters.smpp.outcome import FAILOVER_ON
from heliograph.adapters.store.postgres.record import note_written, without
from heliograph.app.configuration import Connector
from heliograph.app.facts import Accept, Facts, Message, Verdict
from heliograph.app.ports import (
    Accepted,
    Away,
    CarrierEvents,
    CarrierState,
    Deferred,
    Fenced,
    Outcome,
    Part,
    Question,
    Refused,
    Report,
    StoreRejected,
    Unavailable,
    Unknown,
)
from heliograph.app.webhook_job import TryResult, WebhookJob
from heliograph.domain.message.receipt import Delivery
from tests.support.memory_delivery import MemoryCommits, void
from tests.support.memory_rows import MemoryPart, Rows
from tests.support.memory_store import MemoryStore
from tests.support.virtual_time import later

PartName = tuple[int, int]
"""A message's key, and the number of a part."""

NUL = "\0"
"""A text that all stores reject, except in the content of a message."""

Enter = Callable[..., None]
"""Calls back in the gateway's process: `virtual_time.Process.enter`."""

FINAL_STATES = [Delivery.DELIVRD] * 6 + [Delivery.UNDELIV, Delivery.EXPIRED, Delivery.REJECTD, Delivery.UNKNOWN]


class Broken(AssertionError):
    """A rule of the outside that the gateway broke. Its log names the place only, so worlds read the sentences here."""

    sentences: ClassVar[list[str]] = []

    @classmethod
    def unless(cls, holds: bool, sentence: str) -> None:
        """Raises Broken."""
        if not holds:
            cls.sentences.append(sentence)
            raise cls(sentence)


@dataclass
class Odds:
    """How likely each thing goes wrong; all 0 once faults have stopped."""

    store_fails: float = 0.0
    store_fails_after: float = 0.0
    throttled: float = 0.0
    refused: float = 0.0
    unanswered: float = 0.0
    slow_answer: float = 0.0
    link_drops: float = 0.0
    receipt_lost: float = 0.0
    receipt_doubled: float = 0.0
    receipt_slow: float = 0.0
    receiver_fails: float = 0.0
    receiver_gone: float = 0.0
    sender_busy: float = 0.0
    sender_lost: float = 0.0

    @classmethod
    def of(cls, chance: random.Random) -> "Odds":
        """Some kinds of faults often, some seldom, some never."""
        return cls(
            **{name: chance.choice((0.0, 0.02, 0.1, 0.3)) * _MOST.get(name, 1.0) for name in cls.__annotations__}
        )

    def stop(self) -> None:
        for name in self.__annotations__:
            setattr(self, name, 0.0)


_MOST = {"link_drops": 0.1, "sender_lost": 0.2, "receipt_lost": 0.3, "store_fails": 0.7}


def at_once(callback: Callable[..., object], *args: Any) -> None:
    """Enters the process of a world's only node: it is never stopped."""
    callback(*args)


class Around:
    """A port, each call of which goes through `around`, by the name `port.method`."""

    def __init__(
        self, port: str, part: MemoryPart, around: Callable[[str, Callable[..., Awaitable[Any]], tuple[Any, ...]], Any]
    ) -> None:
        self._port = port
        self._part = part
        self._around = around

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._part, name)
        if not iscoroutinefunction(attribute):
            return attribute

        async def around(*args: Any, **named: Any) -> Any:
            call = partial(attribute, **named) if named else attribute
            return await self._around(f"{self._port}.{name}", call, args)

        return around


class FaultyStore(MemoryStore):
    """Takes its time, before and after, and sometimes fails: before anything is done, or after all facts of a commit
    without requests were written. As PostgreSQL's does, it then leaves these facts out of the next commit. Otherwise a
    row that was claimed meanwhile would be released a second time.

    `doubts`: it also loses answers to commits with requests, and fails as a store that is away for a moment.
    """

    def __init__(self, rows: Rows, chance: random.Random, odds: Odds, *, doubts: bool = False) -> None:
        super().__init__(rows)
        self._chance = chance
        self._odds = odds
        self.watchers: list[Callable[[Facts], None]] = []
        self.outages = 0
        """Commits that failed for want of the store."""
        self._doubts = doubts
        self._in_doubt: list[tuple[Accept, Accept]] = []
        """Requests with a lost answer, each with a copy as it was written."""
        self._written = Facts()
        """Facts of commits with lost answers, until a commit succeeds."""
        self.unheard: Callable[[], None] = lambda: None
        """Called when a look at accounts and connectors fails."""
        for port, part in list(vars(self).items()):
            if isinstance(part, MemoryPart):
                setattr(self, port, Around(port, part, self._around))

    async def commits_record(self, facts: Facts) -> None:
        for accept in facts.accepts:
            accept.verdict = Verdict.UNAVAILABLE
        try:
            await self._before()
        except Fenced:
            raise
        except Unavailable:
            self.outages += 1
            if self._doubts:
                raise Away("the store is away for a moment") from None
            raise
        asked = [replace(accept) for accept in facts.accepts]
        left = await self._write(facts)
        await self._after()
        if (self._doubts or not facts.accepts) and self._chance.random() < self._odds.store_fails_after:
            note_written(self._written, left)
            self.outages += 1
            self._in_doubt = [(accept, replace(accept)) for accept in facts.accepts]
            for accept, before in zip(facts.accepts, asked, strict=True):
                if accept.verdict is Verdict.REPLAYED:  # PostgreSQL's looks up the first result after the answer
                    accept.key, accept.tail, accept.total = before.key, before.tail, before.total
                    accept.scheduled, accept.messages = before.scheduled, before.messages
                accept.verdict = Verdict.IN_DOUBT
            raise Away("it was written, but its answer is lost")
        self._written = Facts()

    async def _write(self, facts: Facts) -> Facts:
        """Writes the facts that are not written yet, and returns them."""
        self._settle()
        left = without(facts, self._written)
        try:
            await MemoryCommits(self._place).record(left)
        except StoreRejected:
            for each in fields(Facts):
                setattr(facts, each.name, getattr(left, each.name))
            raise
        for watch in self.watchers:
            watch(left)
        return left

    def forget_doubts(self) -> None:
        """Must be called as a run begins: the run before knows no more of its requests in doubt."""
        self._in_doubt = []

    def _settle(self) -> None:
        """Undoes requests in doubt that were not taken up, and tells their fate."""
        in_doubt, self._in_doubt = self._in_doubt, []
        for asked, written in in_doubt:
            there = written.verdict is Verdict.ACCEPTED and not void(self._place.rows, written)
            if asked.verdict is Verdict.IN_DOUBT:
                asked.verdict = Verdict.ACCEPTED if there else Verdict.UNAVAILABLE

    async def _around(self, name: str, call: Callable[..., Awaitable[Any]], args: tuple[Any, ...]) -> Any:
        if name not in SLOW_CALLS:
            return await call(*args)
        try:
            await self._before()
        except Unavailable:
            if name.startswith("table_changes."):
                self.unheard()
            raise
        result = await call(*args)
        await self._after()
        return result

    async def _before(self) -> None:
        await asyncio.sleep(self._chance.random() * 0.005)
        if self._chance.random() < self._odds.store_fails:
            raise Unavailable("the disk is full")

    async def _after(self) -> None:
        slow = self._chance.random() < 0.1
        await asyncio.sleep(self._chance.random() * (0.3 if slow else 0.005))


SLOW_CALLS = frozenset({
    "queue.untried", "queue.move",
    "queue.claim", "queue.accounts", "queue.claim_expired", "queue.next_due", "receipts.find", "receipts.outstanding",
    "receipts.overdue", "receipts.forget", "notices.claim", "notices.accounts", "notices.next_due", "commits.recover",
    "table_changes.revision", "table_changes.changes", "table_changes.network_page",
    "table_changes.route_page", "table_changes.price_page",
    "table_changes.cost_page", "accounts.by_id", "inbound.repeated", "inbound.gather", "inbound.ready",
    "inbound.forget", "customers.replayed", "binds.enter", "binds.leave", "binds.report", "binds.submissions",
    "binds.forget_submissions", "binds.scheduled", "accounts.find", "customers.cancel", "customers.reschedule",
    "retention.advance", "retention.retry",
})  # fmt: skip


class Operator:
    """An operator's SMSC behind a connector; it outlives the gateway."""

    def __init__(self, connector: Connector, chance: random.Random, odds: Odds, wall: Callable[[], int]) -> None:
        self.connector = connector
        self.chance = chance
        self.odds = odds
        self._wall = wall
        self._counter = 0
        self.carriers: list[ScriptedCarrier] = []
        """Carriers of processes that have not ended."""
        self.submits: Counter[PartName] = Counter()
        self.sequence: list[Message] = []
        """The messages of the written parts, in order."""
        self.on_submit: Callable[[int, Message], None] = lambda connector, message: None
        """Called as each of them is."""
        self.first_submit: dict[PartName, int] = {}
        self.written: list[list[float]] = []
        """When parts were written, in seconds of the loop, for each carrier there was."""
        self.repeatable: Counter[PartName] = Counter()
        """How often a part was answered in a way after which it may be sent again."""
        self.promised: dict[tuple[PartName, str], tuple[Delivery, int]] = {}
        """By part and the operator's id: the first final state with an acknowledged receipt, and its time."""
        self.has: Counter[PartName] = Counter()
        """How often it has got a part."""
        self.undelivered: Counter[PartName] = Counter()
        """Number of these copies that it reported with a receipt of `failover_receipts`."""
        self.reported: set[tuple[PartName, str]] = set()
        """Copies with a final receipt that came to the gateway, by part and the operator's id."""
        self.gives_up: Callable[[Report], bool] = lambda report: False
        """Tells whether another operator may try a message after this receipt."""
        self.on_undelivered: Callable[[int, int], None] = lambda connector, key: None
        """Called as such a receipt comes to the gateway for the first time."""
        self.longest_outage_s = 3.0
        self.unfit = 0.0
        """The share of its ids, and of the codes in its receipts, that no store takes."""
        self.trouble = ""
        """See `failovers.TROUBLES`."""
        self.on_answer: Callable[[int, Message, Outcome], None] = lambda connector, message, outcome: None
        """Called as the gateway gets an answer, or learns that none comes."""

    def refusal(self) -> Outcome | None:
        """Returns an answer after which another operator may try, where the operator has trouble."""
        share = {"refusing": 1.0, "flawed": 0.3}.get(self.trouble, 0.0)
        if not share or self.chance.random() >= share:
            return None
        return Deferred(0x08, 1.0) if self.chance.random() < 0.5 else Refused(0x45, Delivery.REJECTD, "069")

    @property
    def carrier(self) -> "ScriptedCarrier | None":
        """The newest carrier."""
        return self.carriers[-1] if self.carriers else None

    def link(self) -> "ScriptedCarrier | None":
        """Returns a carrier that is up, of any node; None if none is."""
        up = [carrier for carrier in self.carriers if carrier.up]
        return self.chance.choice(up) if len(up) > 1 else up[0] if up else None

    def restart_counter(self) -> None:
        self._counter = 0

    def take(self, part: Part) -> str:
        """The operator has it now; its receipts follow."""
        self._counter += 1
        key, total = part.message.key, part.message.segments
        parts = [(key, n) for n in range(total)] if part.total < total else [(key, part.segment)]
        self.has.update(parts)
        number = 0xA00 + self._counter
        spoilt = NUL if self._is_unfit() else ""
        answered = f"{number:X}{spoilt}" if self.connector.id % 2 == 0 else f"{number}{spoilt}"
        if part.message.wants_receipt and self.chance.random() >= self.odds.receipt_lost:
            slow = self.chance.random() < self.odds.receipt_slow
            delay = self.chance.random() * (80.0 if slow else 1.0) if self.chance.random() < 0.9 else 0.0
            reported = answered if self.connector.id % 2 else f"{number}{spoilt}"
            final = self.chance.choice(FINAL_STATES)
            undelivered = self.trouble == "undelivering" and self.chance.random() < 0.7
            name = [(each, answered) for each in parts]
            if self.chance.random() < 0.2:
                later(delay / 2, self._report, name, Report(
                    reported, part.message.destination, Delivery.ENROUTE, False, "000"))  # fmt: skip
            code = NUL if self._is_unfit() else "000"
            if undelivered:
                final, code = Delivery.UNDELIV, "011"
            report = Report(reported, part.message.destination, final, True, code)
            later(delay, self._report, name, report)
        return answered

    def _is_unfit(self) -> bool:
        return self.unfit > 0 and self.chance.random() < self.unfit

    def _report(self, name: list[tuple[PartName, str]], report: Report) -> None:
        """Sends a receipt, of a part or of all parts of a message, repeatedly until it is acknowledged."""
        carrier = self.link()
        if carrier is None:
            later(1.0, self._report, name, report)
            return
        answered = over = False
        again: asyncio.TimerHandle | None = None

        def acknowledge(kept: bool) -> None:
            nonlocal answered, over
            Broken.unless(not answered or carrier.dead, "a receipt is acknowledged once")
            answered = True
            if over:  # it was sent again meanwhile
                return
            over = True
            if again is not None:
                again.cancel()
            if not kept:
                later(1.0, self._report, name, report)
            elif report.final and name[0] not in self.promised:
                self.promised |= dict.fromkeys(name, (report.state, self._wall()))
                if self.chance.random() < self.odds.receipt_doubled:
                    other = report if self.chance.random() < 0.5 else Report(
                        report.operator_id, report.destination, Delivery.UNDELIV, True, "011")  # fmt: skip
                    later(self.chance.random() * 5, self._report, name, other)

        def unacknowledged() -> None:
            nonlocal over
            if not over:
                over = True
                self._report(name, report)

        again = later(10.0, unacknowledged)
        if report.final and name[0] not in self.reported:
            self.reported.update(name)
            if self.gives_up(report):
                self.undelivered.update(part for part, _ in name)
                self.repeatable.update(part for part, _ in name)
                self.on_undelivered(self.connector.id, name[0][0][0])
        carrier.enter(carrier.events.on_report, report, acknowledge)


class ScriptedCarrier:
    """`app.ports.Carrier`: the link to an operator, during a run of the gateway."""

    header_octets = 6

    def __init__(self, operator: Operator, connector: Connector, events: CarrierEvents, enter: Enter = at_once) -> None:
        self.operator = operator
        self.events = events
        self.enter = enter
        self.binds = connector.binds
        self.up = False
        self.dead = False
        self._window = connector.window * connector.binds
        self._unanswered: dict[Part, bool] = {}
        """Parts on the wire, and whether the operator has got them."""
        self.places: Counter[PartName] = Counter()
        """Submitted parts without a committed outcome."""
        operator.carriers = [carrier for carrier in operator.carriers if not carrier.dead] + [self]
        self._written: list[float] = []
        operator.written.append(self._written)
        self._draining = False
        self.links = 0
        """Number of links so far. The last is up, if `up`."""
        self.ended_well = False
        """The last link was unbound after all that was written had been read."""
        self.on_submit: Callable[[Part], None] = lambda part: None
        """Called with each part that the gateway writes."""
        self.on_bind: Callable[[], None] = lambda: None
        later(operator.chance.random(), enter, self._bind)

    @property
    def capacity(self) -> int:
        return self._window if self.up else 0

    def state(self) -> CarrierState:
        return CarrierState(bound=int(self.up))

    def _bind(self) -> None:
        if self.operator.trouble == "dead":
            later(1.0, self.enter, self._bind)
        elif not self.dead and not self._draining:
            self.up = True
            self.links += 1
            self.on_bind()
            self.events.on_capacity()

    def stands(self, link: int) -> bool:
        """Whether this link, by its number, is still there, or came to a good end."""
        return self.waits(link) or (self.links == link and self.ended_well)

    def waits(self, link: int) -> bool:
        """Whether this link is up, so that the operator waits for answers."""
        return self.links == link and self.up and not self.dead

    def committed(self, facts: Facts) -> None:
        """The store has written these facts."""
        answers = [(each.connector, each.key, each.segment) for each in facts.submissions]
        answers += [(each.connector, each.key, each.segment) for each in (*facts.attempts, *facts.throttles)]
        for connector, key, segment in answers:
            if connector == self.operator.connector.id and self.places[key, segment] > 0:
                self.places[key, segment] -= 1

    def submit(self, parts: Sequence[Part]) -> None:
        assert not self.dead
        Broken.unless(self.up, "nothing is sent while no bind is up")
        assert not self._draining
        operator, odds, chance = self.operator, self.operator.odds, self.operator.chance
        loop = asyncio.get_running_loop()
        self._written += [loop.time()] * len(parts)
        for part in parts:
            name = (part.message.key, part.segment)
            operator.submits[name] += 1
            operator.sequence.append(part.message)
            operator.on_submit(operator.connector.id, part.message)
            self.on_submit(part)
            operator.first_submit.setdefault(name, operator._wall())
            self.places[name] += 1
            self._unanswered[part] = False
            slow = chance.random() < odds.slow_answer or operator.trouble == "slow"
            arrives = chance.random() * 0.02
            later(arrives, self._arrived, part, chance.random() * (8.0 if slow else 0.05))
        Broken.unless(self.places.total() <= self.capacity, "the window is never exceeded")
        if chance.random() < odds.link_drops:
            later(chance.random() * 0.05, self.drop)

    @property
    def can_ask(self) -> bool:
        """Operators of these worlds are not asked."""
        return False

    def ask(self, question: Question) -> None:
        """Does nothing: no connector of these worlds has the option."""

    def _arrived(self, part: Part, delay: float) -> None:
        if part not in self._unanswered or self.dead:
            if self.dead and self.operator.chance.random() < 0.5:
                self.operator.take(part)
            return
        odds, chance = self.operator.odds, self.operator.chance
        outcome = self.operator.refusal()
        lies = self.operator.trouble == "lying" and chance.random() < 0.5
        if outcome is not None:
            pass
        elif chance.random() < odds.throttled:
            outcome = Deferred(0x58, chance.random() * 2, throttled=chance.random() < 0.5)
        elif chance.random() < odds.refused:
            outcome = Refused(0x0B, Delivery.REJECTD, "011")
        elif lies or chance.random() < odds.unanswered:
            if chance.random() < 0.5:
                taken = Accepted(self.operator.take(part))
                later(5.0 + chance.random() * 20, self._answer_late, part, taken)
            later(5.0, self._answer, part, Unknown("no answer"))
            return
        else:
            self._unanswered[part] = True
            outcome = Accepted(self.operator.take(part))
        later(delay, self._answer, part, outcome)

    def _answer(self, part: Part, outcome: Outcome) -> None:
        if self.dead or self._unanswered.pop(part, None) is None:
            return
        name = part.message.key, part.segment
        for_another = isinstance(outcome, Refused) and outcome.status in FAILOVER_ON
        if for_another or isinstance(outcome, Deferred | Unknown):
            self.operator.repeatable[name] += 1
        if for_another and self.places[name]:
            self.places[name] -= 1  # a fact only once the other parts of the message have their answers
        self.operator.on_answer(self.operator.connector.id, part.message, outcome)
        self.enter(self.events.on_outcome, part, outcome)

    def _answer_late(self, part: Part, outcome: Outcome) -> None:
        if self.up and self.operator.chance.random() < 0.5:
            self.enter(self.events.on_late, part, outcome)

    def drop(self) -> None:
        """The link is lost, and comes back after a while."""
        if self.dead or not self.up:
            return
        first = self.operator.chance.random() < 0.5
        self.up = False
        if first:
            self.enter(self.events.on_capacity)
        for part in list(self._unanswered):
            self._answer(part, Unknown("the link was lost"))
        if not first:
            self.enter(self.events.on_capacity)
        later(self.operator.chance.random() * self.operator.longest_outage_s, self.enter, self._bind)

    def kill(self) -> None:
        """The gateway's process is gone."""
        self.dead = True
        self.up = False

    async def drain(self, deadline: float) -> None:
        self._draining = True
        while self._unanswered and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        for part in list(self._unanswered):
            self._answer(part, Unknown("unbound"))
        self.ended_well = self.up and not self.dead
        self.up = False
        self.dead = True


class ScriptedSender:
    """`app.ports.WebhookSender`: receivers of all kinds, during a run of the gateway."""

    def __init__(
        self, chance: random.Random, odds: Odds, arrived: Callable[[WebhookJob], None], enter: Enter = at_once
    ) -> None:
        self._chance = chance
        self._odds = odds
        self._arrived = arrived
        self._enter = enter
        self._jobs: dict[int, WebhookJob] = {}
        self._on_sent: Callable[[list[TryResult]], None] = lambda _: None
        self._on_lost: Callable[[], None] = lambda: None
        self.dead = False
        self.unfit = 0.0
        """The share of receivers' complaints that no store takes."""

    def on_sent(self, listener: Callable[[list[TryResult]], None]) -> None:
        self._on_sent = listener

    def on_lost(self, listener: Callable[[], None]) -> None:
        self._on_lost = listener

    def post(self, jobs: Sequence[WebhookJob]) -> None:
        assert jobs
        busy = []
        for job in jobs:
            Broken.unless(job.key not in self._jobs, "one try of a callback at a time")
            if self._chance.random() < self._odds.sender_busy:
                busy.append(TryResult(job.key, 0, "busy", busy=True))
                continue
            self._jobs[job.key] = job
            later(self._chance.random() * 0.2, self._end, job)
        if busy:
            self._enter(self._on_sent, busy)
        if self._chance.random() < self._odds.sender_lost:
            later(0.1, self._lose)

    def _end(self, job: WebhookJob) -> None:
        if self.dead or self._jobs.pop(job.key, None) is None:
            return
        if self._chance.random() < self._odds.receiver_fails:
            if self._chance.random() < 0.3:
                self._arrived(job)
            spoilt = NUL if self.unfit and self._chance.random() < self.unfit else ""
            self._enter(self._on_sent, [TryResult(job.key, self._chance.choice((0, 500, 302)), f"no good{spoilt}")])
        elif self._chance.random() < self._odds.receiver_gone:
            self._enter(self._on_sent, [TryResult(job.key, 410)])
        else:
            self._arrived(job)
            # a receiver may answer differently the next time
            reply = f"re {job.key} {self._chance.choice('ab')}" if job.wants_reply else ""
            self._enter(self._on_sent, [TryResult(job.key, 200, reply=reply)])

    def _lose(self) -> None:
        if not self.dead and self._jobs:
            self._jobs.clear()
            self._enter(self._on_lost)

    def kill(self) -> None:
        self.dead = True

    async def close(self) -> None:
        self.dead = True
