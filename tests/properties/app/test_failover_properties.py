"""A message tries each connector once, and no two operators have parts of it, unless the first reported that it did not
deliver the message: through any interleaving of answers, receipts and their repeats, obstacles, commits, claims and
crashes."""

from collections.abc import Coroutine
from itertools import groupby
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from heliograph.app.connector_kind import FailoverPolicy, LanePolicy
from heliograph.app.dispatch.dispatcher import Dispatcher
from heliograph.app.dispatch.lane import Lane
from heliograph.app.facts import Message, MessageEnd
from heliograph.app.marks import attempted
from heliograph.app.ports import Accepted, Deferred, Outcome, Part, Refused, Report, Unknown
from heliograph.app.receipts.lookup import ReceiptLookup
from heliograph.app.receipts.matcher import ReceiptMatcher
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import State
from tests.support.memory_store import MemoryStore
from tests.support.store import CREDIT, Given
from tests.support.use_case_fakes import LONG, Messages, NotedCarrier, NotedGathering, SetClock, SetRouter, accept_of

SYSERR, SUBMITFAIL, THROTTLED, BAD_NUMBER = 0x08, 0x45, 0x58, 0x0B
UNDELIVERED = Delivery.UNDELIV, "011"
POLICY = LanePolicy(
    failover=FailoverPolicy(frozenset({SYSERR, SUBMITFAIL}), receipts=frozenset({UNDELIVERED}), after_s=1.0)
)
CONNECTORS = (1, 2, 3)
OUTCOMES = st.sampled_from(
    [
        Accepted("a"),
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
        self.tries: dict[int, list[int]] = {}
        """The tries without throttled parts."""
        self.holders: dict[int, set[int]] = {}
        """Connectors whose operators have a part of a message, or may have one."""
        self.doubtful: set[tuple[int, int]] = set()
        """Messages and connectors with a part that may be with the operator a second time."""
        self.accepted: list[Message] = []
        self.taken: dict[tuple[int, str], tuple[Message, int]] = {}
        """Messages with the number of segments, by connector and operator's id of a part."""
        self.reported: dict[tuple[int, str], tuple[Delivery, str]] = {}
        """The operators' final receipts: repeats say the same."""
        self.was_down = False
        """Whether a connector could not send for a while."""
        self.node = 0
        self.begin_life()

    def begin_life(self) -> None:
        self.node += 1
        self.gathering = NotedGathering()
        self.on_the_wire: list[tuple[Lane, Part]] = []
        self.matcher = ReceiptMatcher(self.gathering, self.clock, self.store.receipts, self.finished)
        self.lookup = ReceiptLookup(self.matcher, self.gathering, self.clock)
        self.dispatcher = Dispatcher(self.gathering, self.clock, self.matcher, self.finished, self.router)
        recovery = finish(self.store.commits.recover(0, self.node))
        finish(self.store.queue.release(self.node - 1))
        self.carriers = {connector: NotedCarrier(capacity=3) for connector in CONNECTORS}
        for connector, carrier in self.carriers.items():
            lane = self.dispatcher.lane(connector)
            lane.policy = POLICY
            lane.mark = recovery.marks.get(attempted(connector), 0)
            lane.window.carrier = carrier
            lane.window.pace.limit(0.0, 1_000_000.0)
        for outstanding in recovery.outstanding:
            self.matcher.restore(outstanding)
        for early in recovery.early:
            self.matcher.restore_early(early)
        finish(self.dispatcher.claims.recover(recovery.unsent))
        for connector in CONNECTORS:
            finish(self.dispatcher.claims.open(self.dispatcher.lane(connector), self.store.queue))

    def finished(self, message: Message, final: MessageEnd) -> None:
        pass

    @rule(content=st.sampled_from(["Hello", LONG]), preferred=st.sampled_from(CONNECTORS), wants_receipt=st.booleans())
    def request(self, content: str, preferred: int, wants_receipt: bool) -> None:
        message = self.message(content, wants_receipt=wants_receipt)
        message.connector = preferred
        self.gathering.facts.accepts.append(accept_of(message))
        self.accepted.append(message)

    @rule()
    def commit(self, *, spill: bool = False) -> None:
        self.dispatcher.prepare(self.gathering.facts, self.clock.now())
        self.matcher.prepare()
        if spill:
            last_key = max(self.store._place.rows.messages, default=0)
            self.matcher.spill(self.gathering.facts, self.clock.now(), last_key)
        finish(self.store.commits.record(self.gathering.take()))
        self.matcher.committed()
        self.dispatcher.committed()
        self.pump()

    @rule()
    def look_up(self) -> None:
        finish(self.lookup.look_up())

    @rule()
    def spill(self) -> None:
        """Receipts are awaited by rows from now on."""
        self.clock.pass_ms(31_000)
        self.commit(spill=True)

    @precondition(lambda self: self.taken)
    @rule(data=st.data(), ending=st.sampled_from([UNDELIVERED, UNDELIVERED, UNDELIVERED, (Delivery.DELIVRD, "000")]))
    def receipt(self, data: st.DataObject, ending: tuple[Delivery, str]) -> None:
        self.report(data.draw(st.sampled_from(sorted(self.taken))), ending)

    def report(self, name: tuple[int, str], ending: tuple[Delivery, str]) -> None:
        connector, operator_id = name
        state, err = self.reported.setdefault(name, ending)
        message, _ = self.taken[name]
        report = Report(operator_id, message.destination, state, True, err)
        self.matcher.on_report(connector, report, lambda kept: None)

    def pump(self) -> None:
        self.dispatcher.pump()
        for connector, carrier in self.carriers.items():
            for part in carrier.take():
                self.on_the_wire.append((self.dispatcher.lane(connector), part))
                self.visits.setdefault(part.message.key, []).append(connector)
                self.tries.setdefault(part.message.key, []).append(connector)

    @precondition(lambda self: self.on_the_wire)
    @rule(data=st.data(), outcome=OUTCOMES)
    def answer(self, data: st.DataObject, outcome: Outcome) -> None:
        self.answered(data.draw(st.integers(0, len(self.on_the_wire) - 1)), outcome)

    def answered(self, place: int, outcome: Outcome) -> None:
        lane, part = self.on_the_wire.pop(place)
        if isinstance(outcome, Accepted):
            outcome = Accepted(f"{part.message.key:x}-{part.segment}")
            self.taken[lane.connector, outcome.operator_id] = part.message, part.segment
        if isinstance(outcome, Accepted | Unknown):
            self.holders.setdefault(part.message.key, set()).add(lane.connector)
        if isinstance(outcome, Unknown):
            self.doubtful.add((part.message.key, lane.connector))
        if isinstance(outcome, Deferred) and outcome.throttled:
            self.tries[part.message.key].remove(lane.connector)
        self.dispatcher.outcomes.on_outcome(lane, part, outcome)

    @rule(connector=st.sampled_from(CONNECTORS))
    def feed(self, connector: int) -> None:
        lane = self.dispatcher.lane(connector)
        if self.router.obstacle(connector) and self.router.others(connector):
            finish(self.dispatcher.claims.divert(lane, self.store.queue, self.node, fills=True))
        else:
            finish(self.dispatcher.claims.refill(lane, self.store.queue, self.node))

    @rule(connector=st.sampled_from(CONNECTORS))
    def give_back(self, connector: int) -> None:
        due = finish(self.store.queue.next_due())
        for each in CONNECTORS:
            self.dispatcher.lane(each).oldest_row = due.get(each)
        finish(self.dispatcher.claims.give_back(self.dispatcher.lane(connector), self.store.queue))

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
        self.was_down |= down
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
            self.doubtful.add((part.message.key, lane.connector))
        rows = self.store._place.rows
        self.accepted = [each for each in self.accepted if each.key in rows.messages]
        for message in self.accepted:
            if message.key in self.visits and any((message.key, n) not in rows.sent for n in range(message.segments)):
                self.doubtful.add((message.key, self.visits[message.key][-1]))  # its last answer may be lost
        self.begin_life()

    def did_not_deliver(self, key: int, connector: int) -> bool:
        """Whether the operator took all parts of a message, each once, and reported each of them as undelivered."""
        if (key, connector) in self.doubtful:
            return False
        names = [name for name, (message, _) in self.taken.items() if name[0] == connector and message.key == key]
        segments = {self.taken[name][1] for name in names}
        return (
            bool(names)
            and len(segments) == self.taken[names[0]][0].segments
            and all(self.reported.get(name) == UNDELIVERED for name in names)
        )

    @invariant()
    def one_operator_has_a_message(self) -> None:
        for key, holders in self.holders.items():
            assert sum(not self.did_not_deliver(key, connector) for connector in holders) <= 1

    @invariant()
    def no_connector_is_tried_again(self) -> None:
        for tried in self.tries.values():
            stays = [connector for connector, _ in groupby(tried)]
            assert len(stays) == len(set(stays))

    def teardown(self) -> None:
        self.router.obstacles.clear()
        for _ in range(60):
            self.commit()
            for connector in CONNECTORS:
                self.feed(connector)
            while self.on_the_wire:
                self.answered(0, Accepted("a"))
            for name in self.taken:
                self.report(name, UNDELIVERED)
            self.look_up()
            self.clock.pass_ms(20_000)
        self.one_operator_has_a_message()
        self.no_connector_is_tried_again()
        rows = self.store._place.rows
        assert not rows.queue
        assert all(self.dispatcher.lane(connector).idle for connector in CONNECTORS)
        for message in self.accepted:
            key = message.key
            assert key in rows.finals or key in self.holders
            if any(each.key == key and each.status == 0 for each in rows.attempts):
                assert rows.messages[key].state == State.SENT, "an operator had it: it is not refunded"
            holders = self.holders.get(key, set())
            if holders and message.wants_receipt and all(self.did_not_deliver(key, each) for each in holders):
                assert rows.finals[key].state is not Delivery.DELIVRD
                if not self.was_down:  # else the message ended, because no other operator could send at that moment
                    assert len(set(self.visits[key])) == len(CONNECTORS) or rows.finals[key].state is Delivery.REJECTD
            assert len({row.connector for (key, _), row in rows.sent.items() if key == message.key}) <= 1


TestFailover = pytest.mark.slow(FailoverMachine.TestCase)
TestFailover.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
