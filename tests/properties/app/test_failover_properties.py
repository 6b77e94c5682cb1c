"""A message tries each connector once, and no two operators have parts of it: through any interleaving of answers,
obstacles, commits, claims and crashes."""

from collections.abc import Coroutine
from itertools import groupby
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from heliograph.app.connector_kind import FailoverPolicy, LanePolicy
from heliograph.app.dispatch.dispatcher import Dispatcher
from heliograph.app.dispatch.lane import Lane
from heliograph.app.facts import Message, MessageEnd
from heliograph.app.marks import attempted
from heliograph.app.ports import Accepted, Deferred, Outcome, Part, Refused, Unknown
from heliograph.app.receipts.matcher import ReceiptMatcher
from heliograph.domain.message.receipt import Delivery
from tests.support.memory_store import MemoryStore
from tests.support.store import CREDIT, Given
from tests.support.use_case_fakes import LONG, Messages, NotedCarrier, NotedGathering, SetClock, SetRouter, accept_of

SYSERR, SUBMITFAIL, THROTTLED, BAD_NUMBER = 0x08, 0x45, 0x58, 0x0B
POLICY = LanePolicy(failover=FailoverPolicy(frozenset({SYSERR, SUBMITFAIL})))
CONNECTORS = (1, 2, 3)
OUTCOMES = st.sampled_from(
    [
        Accepted("a"),
        Deferred(SYSERR, 0.1),
        Refused(SUBMITFAIL, Delivery.REJECTD, "069"),
        Refused(SUBMITFAIL, Delivery.REJECTD, "069"),
        Refused(BAD_NUMBER, Delivery.REJECTD, "011"),
        Deferred(THROTTLED, 0.1, throttled=True),
        Unknown("no answer"),
    ]
)


def finish(work: Coroutine[Any, Any, Any]) -> Any:
    """The result of work that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")


class FailoverMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryStore()
        finish(Given(self.store).account("account", 1_000_000 * CREDIT))
        self.clock = SetClock()
        self.message = Messages(self.clock)
        self.router = SetRouter(*CONNECTORS)
        self.visits: dict[int, list[int]] = {}
        """Connectors that parts of a message were written to, in order."""
        self.holders: dict[int, set[int]] = {}
        """Connectors whose operators have a part of a message, or may have one."""
        self.accepted: list[Message] = []
        self.node = 0
        self.begin_life()

    def begin_life(self) -> None:
        self.node += 1
        self.gathering = NotedGathering()
        self.on_the_wire: list[tuple[Lane, Part]] = []
        matcher = ReceiptMatcher(self.gathering, self.clock, self.store.receipts, self.finished)
        self.dispatcher = Dispatcher(self.gathering, self.clock, matcher, self.finished, self.router)
        recovery = finish(self.store.commits.recover(0, self.node))
        finish(self.store.queue.release(self.node - 1))
        self.carriers = {connector: NotedCarrier(capacity=3) for connector in CONNECTORS}
        for connector, carrier in self.carriers.items():
            lane = self.dispatcher.lane(connector)
            lane.policy = POLICY
            lane.mark = recovery.marks.get(attempted(connector), 0)
            lane.window.carrier = carrier
            lane.window.pace.limit(0.0, 1_000_000.0)
        finish(self.dispatcher.claims.recover(recovery.unsent))
        for connector in CONNECTORS:
            finish(self.dispatcher.claims.open(self.dispatcher.lane(connector), self.store.queue))

    def finished(self, message: Message, final: MessageEnd) -> None:
        pass

    @rule(content=st.sampled_from(["Hello", LONG]), preferred=st.sampled_from(CONNECTORS))
    def request(self, content: str, preferred: int) -> None:
        message = self.message(content, wants_receipt=False)
        message.connector = preferred
        self.gathering.facts.accepts.append(accept_of(message))
        self.accepted.append(message)

    @rule()
    def commit(self) -> None:
        self.dispatcher.prepare(self.gathering.facts, self.clock.now())
        finish(self.store.commits.record(self.gathering.take()))
        self.dispatcher.committed()
        self.pump()

    def pump(self) -> None:
        self.dispatcher.pump()
        for connector, carrier in self.carriers.items():
            for part in carrier.take():
                self.on_the_wire.append((self.dispatcher.lane(connector), part))
                self.visits.setdefault(part.message.key, []).append(connector)

    @precondition(lambda self: self.on_the_wire)
    @rule(data=st.data(), outcome=OUTCOMES)
    def answer(self, data: st.DataObject, outcome: Outcome) -> None:
        self.answered(data.draw(st.integers(0, len(self.on_the_wire) - 1)), outcome)

    def answered(self, place: int, outcome: Outcome) -> None:
        lane, part = self.on_the_wire.pop(place)
        if isinstance(outcome, Accepted | Unknown):
            self.holders.setdefault(part.message.key, set()).add(lane.connector)
        self.dispatcher.outcomes.on_outcome(lane, part, outcome)

    @rule(connector=st.sampled_from(CONNECTORS))
    def feed(self, connector: int) -> None:
        lane = self.dispatcher.lane(connector)
        if self.router.obstacle(connector) and self.router.has_others(connector):
            finish(self.dispatcher.claims.divert(lane, self.store.queue, self.node))
        else:
            finish(self.dispatcher.claims.refill(lane, self.store.queue, self.node))

    @rule(outcomes=st.lists(OUTCOMES, min_size=1, max_size=3))
    def work(self, outcomes: list[Outcome]) -> None:
        """Some undisturbed seconds of a gateway."""
        for place in range(len(self.on_the_wire)):
            self.answered(0, outcomes[place % len(outcomes)])
        self.clock.pass_ms(2_000)
        self.commit()
        for connector in CONNECTORS:
            self.feed(connector)
        self.commit()

    @rule(connector=st.sampled_from(CONNECTORS), down=st.booleans())
    def change_obstacle(self, connector: int, down: bool) -> None:
        self.router.obstacles.pop(connector, None)
        if down:
            self.router.obstacles[connector] = "down"
        self.dispatcher.divert()

    @rule(ms=st.sampled_from([10, 6_000, 20_000]))
    def wait(self, ms: int) -> None:
        self.clock.pass_ms(ms)
        self.pump()

    @precondition(lambda self: len(self.visits) > 2)
    @rule()
    def crash(self) -> None:
        """Parts under way may have reached their operators."""
        for lane, part in self.on_the_wire:
            self.holders.setdefault(part.message.key, set()).add(lane.connector)
        self.accepted = [each for each in self.accepted if each.key in self.store._place.rows.messages]
        self.begin_life()

    @invariant()
    def one_operator_has_a_message(self) -> None:
        assert all(len(holders) <= 1 for holders in self.holders.values())

    @invariant()
    def no_connector_is_tried_again(self) -> None:
        for visited in self.visits.values():
            stays = [connector for connector, _ in groupby(visited)]
            assert len(stays) == len(set(stays))

    def teardown(self) -> None:
        self.router.obstacles.clear()
        for _ in range(60):
            self.commit()
            for connector in CONNECTORS:
                self.feed(connector)
            for lane, part in self.on_the_wire:
                self.holders.setdefault(part.message.key, set()).add(lane.connector)
                self.dispatcher.outcomes.on_outcome(lane, part, Accepted("a"))
            self.on_the_wire.clear()
            self.clock.pass_ms(20_000)
        self.one_operator_has_a_message()
        rows = self.store._place.rows
        assert not rows.queue
        assert all(self.dispatcher.lane(connector).idle for connector in CONNECTORS)
        for message in self.accepted:
            assert message.key in rows.finals or message.key in self.holders
            assert len({row.connector for (key, _), row in rows.sent.items() if key == message.key}) <= 1


TestFailover = FailoverMachine.TestCase
TestFailover.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
