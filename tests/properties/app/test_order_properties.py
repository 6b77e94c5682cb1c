"""To each recipient an account's messages go in the order of acceptance: through any interleaving of requests, commits,
claims, answers, lost links, stops and crashes, with so little memory that nearly all goes through the queue's rows."""

from collections.abc import Coroutine, Generator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from heliograph.app.dispatch import claims, dispatcher, lane
from heliograph.app.dispatch.dispatcher import Dispatcher
from heliograph.app.facts import Accept, Facts, Message, MessageEnd, Queued, Verdict
from heliograph.app.marks import attempted
from heliograph.app.ports import Accepted, Deferred, Part, Unknown
from heliograph.app.receipts.matcher import ReceiptMatcher
from tests.support.memory_delivery import MemoryQueue
from tests.support.memory_store import MemoryStore
from tests.support.store import CREDIT, Given
from tests.support.use_case_fakes import LONG, Messages, NotedCarrier, NotedGathering, SetClock, SetRouter, accept_of

SHORT = ((lane, "FAST_MESSAGES", 4), (lane, "FAST_MESSAGES_PER_ACCOUNT", 3), (lane, "SLOW_MESSAGES", 3),
         (claims, "SLOW_MESSAGES", 3), (claims, "DIVERTED_ROWS", 3), (dispatcher, "SLOW_MESSAGES", 3))  # fmt: skip
OUTCOMES = st.sampled_from(
    [Accepted("a"), Accepted("a"), Deferred(0x58, 0.1, throttled=True), Deferred(0x14, 0.2), Unknown("no answer")]
)
ACCOUNTS = 3
LIVE, GONE = 1, 2
"""A connector, and one that was removed: messages accepted for it before are routed anew, to other recipients here."""


class _Turn:
    """Lets others do something."""

    def __await__(self) -> Generator[None, None, None]:
        yield


class SlowStore(MemoryStore):
    """Others do something while the feeder asks, and again before it hears the answer."""

    async def queue_claim(
        self, connector: int, limit: int, now: int, node: int, accounts: Sequence[int] = ()
    ) -> list[Queued]:
        await _Turn()
        claimed = await MemoryQueue(self._place).claim(connector, limit, now, node, accounts)
        await _Turn()
        return claimed

    async def queue_accounts(self, connector: int, now: int) -> list[int]:
        await _Turn()
        found = await MemoryQueue(self._place).accounts(connector, now)
        await _Turn()
        return found


def as_it_is(facts: Facts) -> Facts:
    """What becomes of the requests' messages in memory from now on does not change it."""
    accepts = [replace(each, messages=[replace(message) for message in each.messages]) for each in facts.accepts]
    return replace(facts, accepts=accepts)


def finish(work: Coroutine[Any, Any, Any]) -> Any:
    """The work, without interruption."""
    try:
        while True:
            work.send(None)
    except StopIteration as end:
        return end.value


class OrderMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.limits = ExitStack()
        for where, name, most in SHORT:
            self.limits.enter_context(patch.object(where, name, most))
        self.store = SlowStore()
        for number in range(ACCOUNTS):
            finish(Given(self.store).account(f"account {number}", 1_000_000 * CREDIT))
        self.clock = SetClock()
        self.message = Messages(self.clock)
        self.told: set[int] = set()
        self.seen: set[int] = set()
        self.latest: dict[tuple[int, str], int] = {}
        self.node = 0
        self.begin_life()

    def begin_life(self) -> None:
        self.node += 1
        self.gathering = NotedGathering()
        self.carrier = NotedCarrier(capacity=3)
        self.on_the_wire: list[Part] = []
        self.accepts: list[Accept] = []
        self.written: Facts | None = None
        """What the commit under way is of, and what it writes: the store read that when it began."""
        self.writing = Facts()
        self.feeding: Coroutine[Any, Any, bool] | None = None
        matcher = ReceiptMatcher(self.gathering, self.clock, self.store.receipts, self.finished)
        self.dispatcher = Dispatcher(self.gathering, self.clock, matcher, self.finished, SetRouter(LIVE))
        recovery = finish(self.store.commits.recover(0, self.node))
        self.lane = self.dispatcher.lane(LIVE)
        self.lane.mark = recovery.marks.get(attempted(LIVE), 0)
        finish(self.dispatcher.claims.recover(recovery.unsent))
        finish(self.dispatcher.claims.open(self.lane, self.store.queue))
        self.lane.window.carrier = self.carrier

    def finished(self, message: Message, final: MessageEnd) -> None:
        """Nobody is told."""

    # --- what happens

    @precondition(lambda self: self.written is None)
    @rule(
        account=st.integers(1, ACCOUNTS),
        numbers=st.lists(st.sampled_from("12"), min_size=1, max_size=4),
        content=st.sampled_from(["Hello", "Hello", LONG]),
        poor=st.booleans(),
    )
    def request(self, account: int, numbers: list[str], content: str, poor: bool) -> None:
        # keys are given right before a commit
        messages = [self.message(content, account=account, destination=to, wants_receipt=False) for to in numbers]
        accept = accept_of(*messages)
        if poor and account == 1:
            accept.total = 10_000_000 * CREDIT
        self.accepts.append(accept)

    @precondition(lambda self: self.written is None)
    @rule(account=st.integers(1, ACCOUNTS), count=st.integers(1, 3), queued=st.booleans())
    def request_of_old(self, account: int, count: int, queued: bool) -> None:
        """Accepted by somebody who has not heard yet that the connector is no more, for memory or the queue."""
        self.dispatcher.lane(GONE).closed = queued
        for _ in range(count):
            message = self.message("Hello", account=account, destination="3", wants_receipt=False)
            message.connector = GONE
            self.accepts.append(accept_of(message))

    @precondition(lambda self: self.written is None)
    @rule(spills=st.booleans())
    def begin_commit(self, spills: bool) -> None:
        self.gathering.facts.accepts += self.accepts
        self.accepts = []
        self.dispatcher.prepare(self.gathering.facts, self.clock.now())
        if spills:
            last = max(self.store._place.rows.messages, default=0)
            self.dispatcher.spill(self.gathering.facts, self.clock.now(), last)
        self.written = self.gathering.take()
        self.writing = as_it_is(self.written)

    @precondition(lambda self: self.written is not None)
    @rule(works=st.sampled_from([True, True, True, False]))
    def end_commit(self, works: bool) -> None:
        facts, self.written = self.written, None
        assert facts is not None
        if works:
            finish(self.store.commits.record(self.writing))
            for accept, written in zip(facts.accepts, self.writing.accepts, strict=True):
                accept.verdict = written.verdict
                if accept.verdict is Verdict.ACCEPTED:
                    self.told.update(message.key for message in accept.messages)
            self.dispatcher.committed()
            self.pump()
            return
        facts.accepts = []
        self.dispatcher.refused()
        newer = self.gathering.take()
        for name in ("queueings", "sending", "attempts", "submissions", "dequeued", "finals"):
            getattr(facts, name).extend(getattr(newer, name))
        self.gathering.facts = facts

    def pump(self) -> None:
        self.dispatcher.pump()
        for part in self.carrier.take():
            self.on_the_wire.append(part)
            message = part.message
            if message.key in self.seen:
                continue
            self.seen.add(message.key)
            recipient = message.account, message.destination
            if message.destination == "3":
                continue  # what is routed anew has no promised order
            assert self.latest.get(recipient, 0) < message.key, "it was overtaken"
            self.latest[recipient] = message.key

    @rule()
    def feed(self) -> None:
        """The feeder goes one step."""
        if self.feeding is None:
            self.feeding = self.dispatcher.claims.refill(self.lane, self.store.queue, self.node)
        try:
            self.feeding.send(None)
        except StopIteration:
            self.feeding = None

    @precondition(lambda self: self.on_the_wire)
    @rule(data=st.data(), outcome=OUTCOMES)
    def answer(self, data: st.DataObject, outcome: Accepted | Deferred | Unknown) -> None:
        part = self.on_the_wire.pop(data.draw(st.integers(0, len(self.on_the_wire) - 1)))
        self.dispatcher.outcomes.on_outcome(self.lane, part, outcome)

    @rule(ms=st.sampled_from([10, 300, 70_000]))
    def wait(self, ms: int) -> None:
        self.clock.pass_ms(ms)
        self.pump()

    @rule(capacity=st.integers(0, 4))
    def change_capacity(self, capacity: int) -> None:
        if capacity == 0:
            for part in self.on_the_wire:
                self.dispatcher.outcomes.on_outcome(self.lane, part, Unknown("the link was lost"))
            self.on_the_wire.clear()
        self.carrier.capacity = capacity
        if capacity == 0:
            self.lane.unready()

    @rule()
    def reroute(self) -> None:
        """What stands in the lane of the connector that is no more, and some of its rows."""
        self.dispatcher.reroute({LIVE})
        with patch.object(claims, "SLOW_MESSAGES", 1):
            finish(self.dispatcher.claims.reclaim(self.dispatcher.lane(GONE), self.store.queue, self.node))

    @rule()
    def lose_binds(self) -> None:
        """Other nodes have them: what waits is theirs."""
        self.change_capacity(0)
        self.lane.closed = True
        self.dispatcher.hand_back(self.lane)

    @precondition(lambda self: self.lane.closed)
    @rule()
    def get_binds(self) -> None:
        finish(self.dispatcher.claims.open(self.lane, self.store.queue))
        self.change_capacity(3)

    @rule(planned=st.booleans(), written=st.booleans())
    def end_life(self, planned: bool, written: bool) -> None:
        if self.feeding is not None:
            self.feeding.close()
        if planned:
            self.park()
        elif self.written is not None and written:
            finish(self.store.commits.record(self.writing))
        self.begin_life()

    def park(self) -> None:
        self.dispatcher.park()
        for _ in range(2):
            if self.written is None:
                self.begin_commit(spills=False)
            self.end_commit(works=True)
            self.dispatcher.park()
        self.begin_commit(spills=False)
        self.end_commit(works=True)
        finish(self.store.queue.release(self.node))

    # --- what is always true

    @invariant()
    def memory_is_bounded(self) -> None:
        assert self.lane.ahead == sum(not item.counted for item in self.lane.queues.items())
        assert self.lane.ahead <= 3
        assert len(self.lane.fast) <= 4 + len(self.lane.incoming)

    def teardown(self) -> None:
        with self.limits:
            self.come_to_rest()
        assert self.told <= self.seen, "all that was accepted was sent"
        assert not self.store._place.rows.queue
        assert self.lane.idle
        assert not self.lane.queues.by_account
        assert not self.lane.per_account

    def come_to_rest(self) -> None:
        self.carrier.capacity = 3
        for _ in range(300):
            if self.lane.closed:
                self.get_binds()
            if self.written is None:
                self.begin_commit(spills=False)
            self.end_commit(works=True)
            self.reroute()
            for _ in range(5):
                self.feed()
            for part in self.on_the_wire:
                self.dispatcher.outcomes.on_outcome(self.lane, part, Accepted("a"))
            self.on_the_wire.clear()
            self.clock.pass_ms(5_000)
        if self.feeding is not None:
            self.feeding.close()


TestOrder = pytest.mark.slow(OrderMachine.TestCase)
TestOrder.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)


@pytest.mark.parametrize("before", [1, 2], ids=["asked for", "claimed"])
@pytest.mark.parametrize("between", [0, 1, 2])
@pytest.mark.parametrize("after", [0, 1, 2])
def test_what_is_claimed_while_binds_go_and_come_stays_behind_what_was_in_memory(
    before: int, between: int, after: int
) -> None:
    """It went into the emptied lane, and so ahead of what had just left that for the queue."""
    machine = OrderMachine()
    with machine.limits:
        machine.request(1, ["1"], LONG, poor=False)
        machine.request(1, ["1", "1", "1"], "Hello", poor=False)
        machine.begin_commit(spills=False)
        machine.end_commit(works=True)
        assert machine.store._place.rows.queue, "the last one waits in the queue's rows"
        for _ in range(before):
            machine.feed()
        assert machine.feeding is not None
        machine.lose_binds()
        for _ in range(between):
            machine.feed()
        machine.get_binds()
        for _ in range(after):
            machine.feed()
        machine.teardown()
