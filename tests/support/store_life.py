"""A random life of a gateway, as its stores see it: each operation must have the same outcome on all of them."""

import random
from collections.abc import Awaitable, Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

from heliograph.app.configuration import Exists, Missing, TrafficHold
from heliograph.app.facts import (
    NO_ANSWER,
    Accept,
    Attempt,
    Awaiting,
    CallbackDone,
    CallbackEnd,
    CallbackRetry,
    EarlyReceipt,
    Facts,
    InboundMessage,
    Message,
    MessageEnd,
    PartReceipt,
    Queued,
    Queueing,
    Resend,
    Submission,
    Verdict,
    Withdrawal,
)
from heliograph.app.kept_data import RetentionSweep
from heliograph.app.observing.series_counter import SeriesCounter
from heliograph.app.ports import NotScheduled, Store
from heliograph.app.ports.backlog import QueueAction
from heliograph.app.ports.series import SeriesCell
from heliograph.domain.calendar import DAY_MS
from heliograph.domain.limits.gate import OF_SUSPENDED
from heliograph.domain.limits.pumping import range_of
from heliograph.domain.message.opt_out import Wish
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.retention import Stage
from heliograph.domain.message.state import State
from heliograph.domain.message.way import Way
from heliograph.domain.series import Grain
from tests.support.store import CREDIT, HOUR, NODE, SECOND, Given

NUMBERS = ("4917012345678", "4917012345679", "4915112345678", "447700900123", "33612345678", "12025550123")
SENDERS = ("Helio", "hELIO", "Rare", "3388")
NETWORKS = ("", "26201", "23410")
CONNECTORS = (1, 2, 3)
"""The last gets messages only from the others."""
CODES = ("", "000", "011", "EC:12")
ENDS = (Delivery.DELIVRD, Delivery.DELIVRD, Delivery.UNDELIV, Delivery.REJECTD)
PAUSES = (0, 1, SECOND, SECOND, 2 * SECOND, 20 * SECOND, 300 * SECOND, HOUR, 7 * HOUR, 26 * HOUR)
LONG = PAUSES[-4:]


class Life:
    """The operations of a gateway on its stores, chosen by a seed. All stores get the same times, keys and ids."""

    def __init__(self, stores: dict[str, Store], seed: int) -> None:
        self.stores = stores
        self.chance = random.Random(seed)
        self.given = Given(next(iter(stores.values())))
        self.accounts: list[int] = []
        self.messages: list[Message] = []
        self.lane: dict[int, Queued] = {}
        """Messages in memory: accepted for at once, or claimed from the queue."""
        self.fresh: list[tuple[int, int]] = []
        """Account and key of notices in memory."""
        self.inbound: list[InboundMessage] = []
        self.counter = SeriesCounter()

    @property
    def now(self) -> int:
        return self.given.now

    def likely(self, share: float) -> bool:
        return self.chance.random() < share

    async def same(self, name: str, call: Callable[[Store], Awaitable[Any]]) -> Any:
        """Returns the answer of all stores: a value, or the type of the exception."""
        answers = {}
        for of, store in self.stores.items():
            try:
                answers[of] = await call(store)
            except (Exists, Missing, NotScheduled) as refused:
                answers[of] = type(refused)
        first, *others = answers.items()
        for other in others:
            assert other[1] == first[1], f"{name}\n{first[0]}: {first[1]}\n{other[0]}: {other[1]}"
        return first[1]

    async def record(self, **fields: Any) -> list[Accept]:
        """Records copies of the facts, since a store writes verdicts into them. Returns the judged requests."""
        facts = Facts(**fields)

        async def write(store: Store) -> list[Accept]:
            copy = deepcopy(facts)
            await store.commits.record(copy)
            return copy.accepts

        accepts: list[Accept] = await self.same(f"record {fields}", write)
        self.counter.committed(replace(facts, accepts=accepts), self.now, 0.0)
        self.fresh += [(each.account, each.key) for each in facts.finals if each.owed]
        return accepts

    async def begin(self) -> None:
        fields: list[dict[str, Any]] = [
            {"credit": 5000 * CREDIT}, {"credit": 30 * CREDIT, "low_balance": 20 * CREDIT, "credit_limit": CREDIT},
            {"daily_messages": 20, "daily_spend": 20 * CREDIT, "max_waiting": 9},
        ]  # fmt: skip
        for number, each in enumerate(fields):
            made = await self.same("create", lambda store: Given(store).account(f"a{number}", **each))  # noqa: B023
            self.accounts.append(made.id)
        await self.same("recover", lambda store: store.commits.recover(0, NODE))

    # --- requests

    def request(self) -> Accept:
        chance, account = self.chance, self.chance.choice(self.accounts)
        batch = self.given.key() if self.likely(0.3) else 0
        later = chance.choice(LONG) if self.likely(0.3) else 0
        reference = f"r{chance.randrange(60)}" if self.likely(0.3) else None
        messages = []
        for _ in range(chance.randint(1, 6) if batch else 1):
            segments = chance.choice((1, 1, 2, 3))
            messages.append(
                self.given.message(
                    account, destination=chance.choice(NUMBERS), sender=chance.choice(SENDERS), segments=segments,
                    price=segments * chance.choice((CREDIT, CREDIT // 7)), time=self.now + later,
                    expires=self.now + later + chance.choice((HOUR, 24 * HOUR)),
                    state=State.SCHEDULED if later else State.SENT, connector=chance.choice(CONNECTORS[:-1]),
                    wants_receipt=self.likely(0.8), reference=reference, batch=batch, queued=self.likely(0.4),
                    network=chance.choice(NETWORKS), callback_url="https://a.example/r" if self.likely(0.6) else "",
                )
            )  # fmt: skip
        return replace(
            self.given.accept(messages[0]), messages=messages, total=sum(each.price for each in messages),
            batch=bool(batch), key=batch or messages[0].key, day_ends=(self.now // DAY_MS + 1) * DAY_MS,
            fingerprint=b"same" if reference else b"",
        )  # fmt: skip

    async def accept(self) -> None:
        for accept in await self.record(accepts=[self.request() for _ in range(self.chance.randint(1, 3))]):
            if accept.verdict is Verdict.ACCEPTED:
                self.know(*accept.messages)

    def know(self, *messages: Message) -> None:
        self.messages += messages
        at_once = [each for each in messages if each.state == State.SENT and not each.queued]
        self.lane |= {each.key: Queued(each, attempted=False, untried=True) for each in at_once}

    async def change_mind(self) -> None:
        if not (scheduled := [each for each in self.messages if each.time > self.now]):
            return
        m, time = self.chance.choice(scheduled), self.now + self.chance.choice(LONG)
        key = m.batch if m.batch and self.likely(0.3) else m.key
        tail = await self.same("tail", lambda store: store.customers.tail(m.account, key))
        if self.likely(0.4):
            await self.same("cancel", lambda store: store.customers.cancel(m.account, key, tail, self.now))
        else:
            await self.same(
                "reschedule",
                lambda store: store.customers.reschedule(m.account, key, tail, time, time + HOUR, self.now),
            )

    # --- operators

    async def claim(self) -> None:
        connector, some = self.chance.choice(CONNECTORS), self.chance.sample(self.accounts, self.chance.choice((0, 2)))
        claimed = await self.same("claim", lambda store: store.queue.claim(connector, 6, self.now, NODE, some))
        for queued in claimed:
            if queued.suppressed:
                await self.give_up(queued, Delivery.UNDELIV)
            else:
                self.lane[queued.message.key] = queued

    async def give_up(self, queued: Queued, state: Delivery) -> None:
        """Ends a message that is not sent any more. It is refunded if certainly no operator has any of it."""
        m = queued.message
        if queued.suppressed and not queued.resent:
            await self.record(withdrawals=[Withdrawal(m.account, m.key, m.price, self.now)])
            return
        refund = queued.untried and not queued.resent
        end = MessageEnd(
            m.account, m.key, state, "", self.now, bool(m.way), refund, m.price if refund else 0, message=m
        )
        await self.record(finals=[end], dequeued=[(m.account, m.key)] if m.queued else [])

    async def send(self) -> None:
        if not self.lane:
            return
        queued = self.lane.pop(self.chance.choice(list(self.lane)))
        m, connector = queued.message, queued.message.connector
        open_parts = [n for n in range(m.segments) if n not in queued.answered]
        taken = [
            Submission(m.account, m.key, n, connector, f"id{self.chance.randrange(300)}", 0, self.now, message=m)
            for n in open_parts
        ]
        waits = [Awaiting(connector, each.operator_id, m.account, m.key, each.segment) for each in taken]
        due, other = self.now + self.chance.choice(PAUSES), self.chance.choice(CONNECTORS)
        later = Queueing(m.account, m.key, connector, due, m.expires, False, False)
        part = open_parts[0] if open_parts else 0
        match self.chance.randrange(10):
            case 0:
                await self.give_up(queued, Delivery.REJECTD)
            case 1:
                attempt = Attempt(m.account, m.key, part, connector, NO_ANSWER, self.now)
                await self.record(attempts=[attempt], queueings=[replace(later, attempted=True)])
            case 2:
                attempt = Attempt(m.account, m.key, part, connector, 88, self.now)
                moved = later if queued.taken else replace(later, connector=other)
                await self.record(attempts=[attempt], queueings=[moved])
            case 3 if not queued.taken:
                why = OF_SUSPENDED if self.likely(0.5) else range_of(m.destination)
                await self.record(queueings=[replace(later, held=why, since=self.now)])
            case 4 if len(open_parts) > 1:
                await self.record(submissions=taken[:1], awaiting=waits[:1], queueings=[replace(later, attempted=True)])
            case _:
                gone = [(m.account, m.key)] if m.queued else []
                await self.record(submissions=taken, awaiting=waits if m.wants_receipt else [], dequeued=gone)

    async def receive(self) -> None:
        m = self.chance.choice(self.messages)
        found = await self.same("outstanding", lambda store: store.receipts.outstanding(m.key))
        if found is None or not found.operator_ids:
            return
        (connector, name), parts = self.chance.choice(sorted(found.operator_ids.items()))
        await self.same("find", lambda store: store.receipts.find(connector, [name]))
        state, code, owed = self.chance.choice(ENDS), self.chance.choice(CODES), bool(m.way)
        if self.likely(0.3):
            state = self.chance.choice((Delivery.ENROUTE, Delivery.ACCEPTD))
            news = [PartReceipt(m.account, m.key, n, state, code, self.now, owed) for n in parts]
            await self.record(progress=news)
            return
        ends = [PartReceipt(m.account, m.key, n, state, code, self.now) for n in parts] if m.segments > 1 else []
        matched = [Awaiting(connector, name, m.account, m.key, n) for n in parts]
        facts: dict[str, Any] = {"parts": ends, "awaiting_matched": matched}
        if len(found.states) + len(parts) == m.segments:
            other = self.chance.choice([each for each in CONNECTORS if each != connector])
            whole = {by for by, _ in found.operator_ids} == {connector} and found.taken == m.segments
            if state is Delivery.UNDELIV and whole and not found.states and self.likely(0.6):
                facts["resends"] = [
                    Resend(m.account, m.key, connector, other, state, code, self.now, m.expires, self.now, m)
                ]
            else:
                facts["finals"] = [MessageEnd(m.account, m.key, state, code, self.now, owed, message=m)]
        await self.record(**facts)

    async def miss(self) -> None:
        """Ends messages without a receipt or not sent in time; keeps a receipt that matches nothing."""
        before = self.now - 24 * HOUR
        overdue, ended, _ = await self.same("overdue", lambda store: store.receipts.overdue(before, 0, 5))
        for each in overdue:
            m = each.message
            self.lane.pop(m.key, None)
            end = MessageEnd(m.account, m.key, Delivery.EXPIRED, "", self.now, bool(m.way), message=m)
            await self.record(finals=[end], dequeued=[(m.account, m.key)])
        await self.same("forget_awaited", lambda store: store.receipts.forget_awaited(ended))
        for queued in await self.same("claim_expired", lambda store: store.queue.claim_expired(5, self.now, NODE)):
            await self.give_up(queued, Delivery.EXPIRED)
        number, name = self.chance.choice(NUMBERS), f"early{self.chance.randrange(9)}"
        await self.record(early=[EarlyReceipt(1, name, number, Delivery.DELIVRD, "000", self.now)])
        await self.same("forget", lambda store: store.receipts.forget(before, 20, 5))

    async def confirm(self) -> None:
        m, arrived = self.chance.choice(self.messages), self.likely(0.5)
        await self.same("confirm", lambda store: store.receipts.confirm(m.account, m.key, m.tail, arrived, self.now))

    # --- administrators, phones and receivers

    async def manage_queue(self) -> None:
        rows = await self.same("rows", lambda store: store.backlog.rows(0, 500))
        keys = [row.key for row in rows if self.likely(0.3)]
        action, connector = self.chance.choice(list(QueueAction)), self.chance.choice(CONNECTORS)
        await self.same(action, lambda store: store.backlog.change(action, keys, self.now, connector))

    async def guard(self) -> None:
        account, prefix = self.chance.choice(self.accounts), range_of(self.chance.choice(NUMBERS))
        hold = TrafficHold(account, prefix, self.now, "a surge", is_observed=self.likely(0.2))
        suspended = self.likely(0.3)
        match self.chance.randrange(4):
            case 0:
                await self.same("hold", lambda store: store.guard.hold(hold, self.now - HOUR))
            case 1:
                await self.same("release", lambda store: store.guard.release(account, prefix, self.now))
            case 2:
                await self.same("refund", lambda store: store.guard.refund(account, prefix, self.now, 5))
            case _:
                await self.same("suspend", lambda store: store.accounts.update(account, {"suspended": suspended}))
        await self.same("let_go", lambda store: store.guard.let_go(self.now, 5))
        await self.same("resume", lambda store: store.queue.resume(self.now, 5))

    async def pay(self) -> None:
        account, amount = self.chance.choice(self.accounts), self.chance.choice((CREDIT, 20 * CREDIT, -CREDIT))
        name = f"top-up {self.chance.randrange(20)}" if self.likely(0.5) else ""
        await self.same("pay", lambda store: store.accounts.add_credit(account, amount, "paid", self.now, name))

    async def opt_out(self) -> None:
        account, number = self.chance.choice(self.accounts), self.chance.choice(NUMBERS)
        if self.likely(0.4):
            await self.same("suppress", lambda store: store.suppressions.suppress(account, [number], "api", self.now))
        else:
            await self.same("lift", lambda store: store.suppressions.lift(account, number))
        await self.same("among", lambda store: store.suppressions.among(account, NUMBERS))

    async def phone(self) -> None:
        account, number = self.chance.choice([0, *self.accounts]), self.chance.choice(NUMBERS)
        m = InboundMessage(
            account, 1, number, "3388", "a text", b"a text", 0, self.now, key=self.given.key(), tail=99,
            price=self.chance.choice((0, CREDIT)) if account else 0, wish=self.chance.choice(list(Wish)),
            way=Way.WEBHOOK if account and self.likely(0.5) else Way.NONE,
        )  # fmt: skip
        if account and self.likely(0.5):
            reply = self.given.message(account, destination=number, sender="3388", queued=True)
            m.reply = self.given.accept(reply, exempt=True)
            self.messages.append(reply)
        await self.record(inbound=[m])
        self.inbound.append(m)
        if m.way:
            self.fresh.append((account, m.key))
        if (m := self.chance.choice(self.inbound)).account == 0:
            owner = self.chance.choice(self.accounts)
            await self.same("route", lambda store: store.inbound.route(m.key, m.tail, owner, self.now))

    async def notify(self) -> None:
        some, self.fresh = self.fresh[:3], self.fresh[3:]
        notices = [(account, key, 0) for account, key in some]
        claimed = await self.same("claim notices", lambda store: store.notices.claim(3, self.now, NODE))
        for account, key, tries in notices + [(each.account, each.key, each.attempts) for each in claimed]:
            due = self.now + self.chance.choice(PAUSES)
            again = CallbackRetry(account, key, due, tries + 1, b"body", "timed out", self.now)
            match self.chance.randrange(4):
                case 0:
                    await self.record(callback_retries=[again])
                case 1:
                    done = CallbackDone(account, key, CallbackEnd.FAILED, 500, tries + 1, self.now)
                    await self.record(callback_retries=[replace(again, claimed=True)], callbacks=[done])
                case _:
                    end = self.chance.choice((CallbackEnd.DELIVERED, CallbackEnd.DELIVERED, CallbackEnd.GONE))
                    await self.record(callbacks=[CallbackDone(account, key, end, 200, tries + 1, self.now)])
        account = self.chance.choice(self.accounts)
        if self.likely(0.2):
            failed = await self.same("ended", lambda store: store.notices.ended(1_000))
            keys = [each.key for each in failed if each.account == account]
            await self.same("replay", lambda store: store.notices.replay(keys, self.now))
        if self.likely(0.2):
            keys = [each.key for each in await self.same("owed", lambda store: store.notices.owed(3))]
            await self.same("drop", lambda store: store.notices.drop(keys, self.now))

    # --- upkeep

    async def upkeep(self) -> None:
        size, tally = self.chance.randint(1, 5), self.counter.take()
        cells = [
            SeriesCell(grain, start, key, cell)
            for grain in Grain
            for (start, key), cell in tally.widened(grain).items()
        ]
        for store in self.stores.values():  # a store that nodes share leaves out messages of the last seconds
            while await store.upkeep.index_numbers(self.now, size):
                pass
        await self.same("series", lambda store: store.series.add(cells))
        await self.same("settle", lambda store: store.series.settle(100))

    async def retain(self) -> None:
        stage, account, inbound = (
            self.chance.choice(list(Stage)[:3]),
            self.chance.choice(self.accounts),
            self.likely(0.3),
        )
        before = self.now - self.chance.choice((26, 100)) * HOUR
        sweep = RetentionSweep(account, stage, inbound, before, self.now)
        while (await self.same("retain", lambda store: store.retention.advance(sweep, 20))).looked:
            pass
        await self.same("retry", lambda store: store.retention.retry(account, stage, 0, 50, self.now))
        await self.same("suppressed", lambda store: store.retention.forget_suppressed(account, before, 99))

    async def erase(self) -> None:
        number, account = self.chance.choice(NUMBERS), self.chance.choice([None, *self.accounts])
        traces = await self.same("traces", lambda store: store.recipients.traces(number, account))
        found = traces.messages + [(of, key) for of, key, _ in traces.inbound]
        for owner in sorted({of for of, _ in found}):
            keys = [key for of, key in found if of == owner and key not in self.lane]
            await self.same("judge", lambda store: store.recipients.judge(owner, keys))  # noqa: B023
            await self.same("erase", lambda store: store.recipients.erase(owner, keys, self.now))  # noqa: B023
        await self.same("forget number", lambda store: store.recipients.forget(number, account))

    async def release(self) -> None:
        await self.same("release", lambda store: store.queue.release(NODE))
        self.lane = {key: queued for key, queued in self.lane.items() if not queued.message.queued}

    async def wait(self) -> None:
        self.given.now += self.chance.choice(PAUSES)

    async def step(self) -> str:
        often = [
            self.accept,
            self.claim,
            self.send,
            self.send,
            self.receive,
            self.receive,
            self.notify,
            self.wait,
            self.upkeep,
        ]
        seldom = [
            self.change_mind, self.miss, self.confirm, self.manage_queue, self.guard, self.pay, self.opt_out,
            self.phone, self.upkeep, self.retain, self.erase, self.release,
        ]  # fmt: skip
        operation = self.chance.choice(3 * often + seldom)
        if self.messages or operation == self.accept:
            await operation()
        return operation.__name__
