"""A message that an operator refuses goes to the next connector of its route."""

import pytest

from heliograph.app.connector_kind import FailoverPolicy, LanePolicy
from heliograph.app.dispatch import claims
from heliograph.app.dispatch.dispatcher import Dispatcher
from heliograph.app.dispatch.failover import OVERLOADED
from heliograph.app.dispatch.lane import Lane
from heliograph.app.dispatch.orders import carry_out
from heliograph.app.facts import NO_ANSWER, NOT_SENT, Facts, Message, MessageEnd, Queued, Verdict
from heliograph.app.ports import Accepted, Deferred, Outcome, Part, Refused, Unknown
from heliograph.app.ports.backlog import QueueAction, QueueFilter, QueueOrder
from heliograph.app.receipts.matcher import ReceiptMatcher
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import State
from tests.support.memory_store import MemoryStore
from tests.support.store import CREDIT, Given
from tests.support.use_case_fakes import LONG, Messages, NotedGathering, SetClock, SetRouter, accept_of, open_lanes

SYSERR = Deferred(0x08, 1.0)
SUBMITFAIL = Refused(0x45, Delivery.REJECTD, "069")
BAD_NUMBER = Refused(0x0B, Delivery.REJECTD, "011")
THROTTLED = Deferred(0x58, 1.0, throttled=True)
TAKEN = Accepted("a")
POLICY = FailoverPolicy(frozenset({0x08, 0x45}))
NODE = 7


class House:
    """A dispatcher over the store in memory, with three connectors that take every message."""

    def __init__(self, policy: FailoverPolicy = POLICY) -> None:
        self.store = MemoryStore()
        self.clock = SetClock()
        self.gathering = NotedGathering()
        self.router = SetRouter(1, 2, 3)
        self.ended: list[Delivery] = []
        matcher = ReceiptMatcher(self.gathering, self.clock, self.store.receipts, self._finish)
        self.dispatcher = Dispatcher(self.gathering, self.clock, matcher, self._finish, self.router)
        self.messages = Messages(self.clock)
        self.carriers = open_lanes(self.dispatcher, policy)

    def _finish(self, message: Message, final: MessageEnd) -> None:
        self.ended.append(final.state)

    async def begin(self) -> "House":
        await Given(self.store).account("acme", 1_000 * CREDIT)
        return self

    def message(self, content: str = "Hello") -> Message:
        return self.messages(content, wants_receipt=False)

    async def commit(self, *messages: Message) -> Facts:
        accepts = [accept_of(each) for each in messages]
        self.gathering.facts.accepts += accepts
        self.dispatcher.prepare(self.gathering.facts, self.clock.now())
        facts = self.gathering.take()
        await self.store.commits.record(facts)
        assert all(accept.verdict is Verdict.ACCEPTED for accept in accepts)
        self.dispatcher.committed()
        self.dispatcher.pump()
        return facts

    async def written(self, connector: int) -> list[Part]:
        """Claims the connector's rows, and returns the parts that are written to it then."""
        await self.dispatcher.claims.refill(self.dispatcher.lane(connector), self.store.queue, NODE)
        await self.commit()
        return self.carriers[connector].take()

    def lane(self, connector: int) -> Lane:
        return self.dispatcher.lane(connector)

    def answer(self, connector: int, part: Part, outcome: Outcome) -> None:
        self.dispatcher.outcomes.on_outcome(self.lane(connector), part, outcome)


@pytest.fixture
async def house() -> House:
    return await House().begin()


@pytest.mark.parametrize("refusal", [SYSERR, SUBMITFAIL, Refused(NOT_SENT, Delivery.REJECTD, "")])
async def test_a_refused_message_goes_to_each_other_connector_once(house: House, refusal: Outcome) -> None:
    message = house.message()
    await house.commit(message)
    (part,) = house.carriers[1].take()
    for connector in (1, 2):
        house.answer(connector, part, refusal)
        await house.commit()
        assert house.lane(connector).idle
        (part,) = await house.written(connector + 1)
    house.answer(3, part, refusal)
    facts = await house.commit()
    if isinstance(refusal, Refused):
        assert [each.connector for each in facts.submissions] == [3]
        assert house.ended == [Delivery.REJECTD]
    else:
        assert [(each.connector, each.attempted) for each in facts.queueings] == [(3, False)]


async def test_the_history_names_the_operators_that_refused(house: House) -> None:
    message = house.message()
    await house.commit(message)
    (part,) = house.carriers[1].take()
    house.answer(1, part, SUBMITFAIL)
    facts = await house.commit()
    assert [(each.connector, each.status) for each in facts.attempts] == [(1, 0x45)]
    (part,) = await house.written(2)
    house.answer(2, part, TAKEN)
    facts = await house.commit()
    assert [(each.connector, each.status) for each in facts.submissions] == [(2, 0)]
    assert facts.dequeued == [(message.account, message.key)]


async def test_a_refusal_for_other_reasons_is_final(house: House) -> None:
    await house.commit(house.message())
    (part,) = house.carriers[1].take()
    house.answer(1, part, BAD_NUMBER)
    facts = await house.commit()
    assert not facts.queueings
    assert house.ended == [Delivery.REJECTD]


async def test_a_message_of_several_parts_moves_as_a_whole(house: House) -> None:
    await house.commit(house.message(LONG))
    first, *rest = house.carriers[1].take()
    house.answer(1, first, SUBMITFAIL)
    assert not (await house.commit()).queueings, "the other parts are under way"
    for part in rest:
        house.answer(1, part, SYSERR)
    facts = await house.commit()
    assert [each.connector for each in facts.queueings] == [2]
    assert not facts.submissions
    assert [part.segment for part in await house.written(2)] == list(range(1 + len(rest)))


@pytest.mark.parametrize("other", [TAKEN, BAD_NUMBER, Unknown("no answer")])
async def test_a_message_stays_where_a_part_of_it_ended(house: House, other: Outcome) -> None:
    await house.commit(house.message(LONG))
    first, second, *rest = house.carriers[1].take()
    for part in rest:
        house.answer(1, part, TAKEN)
    house.answer(1, second, other)
    house.answer(1, first, SUBMITFAIL)
    facts = await house.commit()
    assert all(each.connector == 1 for each in facts.queueings)
    assert (0, 0x45) in [(each.segment, each.status) for each in facts.submissions]


async def test_a_message_without_an_answer_stays_unless_the_connector_says_otherwise(house: House) -> None:
    await house.commit(house.message())
    (part,) = house.carriers[1].take()
    house.answer(1, part, Unknown("no answer"))
    assert not (await house.commit()).queueings
    bold = await House(FailoverPolicy(POLICY.statuses, unknown=True)).begin()
    await bold.commit(bold.message())
    (part,) = bold.carriers[1].take()
    bold.answer(1, part, Unknown("no answer"))
    assert [(each.connector, each.attempted) for each in (await bold.commit()).queueings] == [(2, False)]


@pytest.mark.parametrize("obstacle", ["", "paused"])
async def test_a_refused_message_whose_connector_is_removed_waits_for_the_next(house: House, obstacle: str) -> None:
    """An obstacle of the moment fails no accepted message that another operator has not tried."""
    await house.commit(house.message())
    (part,) = house.carriers[1].take()
    house.answer(1, part, SUBMITFAIL)
    await house.commit()
    house.router.found = house.router.found[::2]  # without the second
    if obstacle:
        house.router.obstacles[3] = obstacle
    await house.dispatcher.claims.reclaim(house.lane(2), house.store.queue, NODE)
    await house.commit()
    assert house.ended == []
    (part,) = await house.written(3)
    house.answer(3, part, TAKEN)
    assert [each.connector for each in (await house.commit()).submissions] == [3]


async def test_a_refused_message_ends_when_no_other_connector_is_left(house: House) -> None:
    await house.commit(house.message())
    (part,) = house.carriers[1].take()
    house.answer(1, part, SUBMITFAIL)
    await house.commit()
    house.router.found = house.router.found[:1]
    await house.dispatcher.claims.reclaim(house.lane(2), house.store.queue, NODE)
    assert house.ended == [Delivery.REJECTD]


async def test_at_most_so_many_connectors_try(house: House) -> None:
    meek = await House(FailoverPolicy(POLICY.statuses, most=0)).begin()
    await meek.commit(meek.message())
    (part,) = meek.carriers[1].take()
    meek.answer(1, part, SUBMITFAIL)
    await meek.commit()
    assert meek.ended == [Delivery.REJECTD]


async def test_waiting_messages_leave_a_connector_that_cannot_send(house: House) -> None:
    house.carriers[1].capacity = 1
    sent, waiting = house.message(), house.message()
    await house.commit(sent, waiting)
    house.router.obstacles[1] = "down for more than 15 s"
    house.dispatcher.divert()
    facts = await house.commit()
    assert [(each.key, each.connector) for each in facts.queueings] == [(waiting.key, 2)]


async def test_rows_of_a_connector_that_cannot_send_go_to_another(house: House) -> None:
    house.lane(1).closed = True
    message = house.message()
    await house.commit(message)
    house.router.obstacles[1] = "down for more than 15 s"
    assert await house.dispatcher.claims.divert(house.lane(1), house.store.queue, NODE, fills=True)
    assert list(await house.store.queue.next_due()) == [2]
    assert house.dispatcher.outcomes.failovers == {(1, "unusable"): 1}
    await house.commit()
    house.router.obstacles[2] = house.router.obstacles[3] = "paused"
    await house.dispatcher.claims.divert(house.lane(2), house.store.queue, NODE, fills=False)
    (back,) = (await house.commit()).queueings
    assert (back.connector, back.due) == (2, house.clock.now() + 10_000)


async def test_a_backlog_leaves_in_batches_before_other_lanes_get_rows(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "DIVERTED_ROWS", 2)
    house.lane(1).closed = True
    await house.commit(*(house.message() for _ in range(5)))
    house.router.obstacles[1] = "down for more than 15 s"
    assert await house.dispatcher.claims.divert(house.lane(1), house.store.queue, NODE, fills=True)
    assert list(await house.store.queue.next_due()) == [2]
    assert house.dispatcher.outcomes.failovers == {(1, "unusable"): 5}


async def test_an_operator_that_may_have_a_message_has_tried_it() -> None:
    bold = await House(FailoverPolicy(POLICY.statuses, unknown=True)).begin()
    bold.lane(1).closed = True
    message = bold.message()
    await bold.commit(message)
    bold.lane(1).closed = False
    assert await bold.written(1)
    await bold.store.queue.release(NODE)  # the process died before the answer
    bold.router.obstacles[1] = "down for more than 15 s"
    await bold.dispatcher.claims.divert(bold.lane(1), bold.store.queue, NODE, fills=True)
    facts = await bold.commit()
    assert [(each.connector, each.status) for each in facts.attempts] == [(1, NO_ANSWER)]
    assert [(each.connector, each.attempted) for each in facts.queueings] == [(2, False)]


async def test_rows_without_another_candidate_keep_their_order_in_the_lane(house: House) -> None:
    house.lane(1).closed = True
    first, second = house.message(), house.message()
    await house.commit(first, second)
    house.lane(1).closed = False
    house.router.obstacles |= dict.fromkeys((1, 2, 3), "down for more than 15 s")
    house.carriers[1].capacity = 0
    assert await house.dispatcher.claims.divert(house.lane(1), house.store.queue, NODE, fills=True)
    assert not (await house.commit()).queueings
    house.carriers[1].capacity = 10
    await house.commit()
    assert [part.message.key for part in house.carriers[1].take()] == [first.key, second.key]


async def test_parts_that_are_not_written_stay_away_from_an_operator_that_refused_another_part(house: House) -> None:
    house.carriers[1].capacity = 1
    message = house.message(LONG)
    await house.commit(message)
    (part,) = house.carriers[1].take()
    house.answer(1, part, SUBMITFAIL)
    facts = await house.commit()
    assert [(each.connector, each.attempted) for each in facts.queueings] == [(2, False)]
    assert house.carriers[1].take() == []
    assert house.lane(1).idle
    assert len(await house.written(2)) == message.segments


@pytest.mark.parametrize("answer", [Refused(NOT_SENT, Delivery.REJECTD, ""), Unknown("no answer"), THROTTLED])
@pytest.mark.parametrize("is_open", [False, True])
async def test_some_answers_say_too_little_for_the_breaker(house: House, answer: Outcome, *, is_open: bool) -> None:
    await house.commit(house.message(), house.message())
    parts = house.carriers[1].take()
    house.answer(1, parts.pop(), SYSERR)
    breaker = house.lane(1).window.breaker
    breaker.is_open, was = is_open, breaker.failures
    house.answer(1, parts.pop(), answer)
    assert (breaker.is_open, breaker.failures) == (is_open, was)


async def test_a_claimed_message_remembers_who_tried_it(house: House) -> None:
    message = house.message()
    await house.commit(message)
    (part,) = house.carriers[1].take()
    house.answer(1, part, SYSERR)
    await house.commit()
    (queued,) = await house.store.queue.claim(2, 10, house.clock.now(), NODE)
    assert isinstance(queued, Queued)
    assert queued.tried == {1}


async def test_an_open_breaker_lets_single_messages_through(house: House) -> None:
    house.router.found = house.router.found[:1]
    await house.commit(*(house.message() for _ in range(120)))
    parts, window = house.carriers[1].take(), house.lane(1).window
    while not window.breaker.is_open:
        for part in parts:
            house.answer(1, part, SYSERR)
        house.clock.pass_ms(2_000)
        parts = await house.written(1)
    assert parts == []
    house.clock.pass_ms(5_000)
    (test,) = await house.written(1)
    house.clock.pass_ms(5_000)
    assert await house.written(1) == [], "its test message is under way"
    house.answer(1, test, SYSERR)
    await house.commit()
    house.clock.pass_ms(2_000)
    (test,) = await house.written(1)
    house.answer(1, test, TAKEN)
    assert len(await house.written(1)) > 1


async def test_a_message_that_an_operator_took_is_not_refunded_when_its_phone_opts_out(house: House) -> None:
    message = house.message()
    house.carriers[1].capacity = 0
    await house.commit(message)
    next(house.lane(1).items()).resent = True
    house.dispatcher.withdraw(message.account, message.destination, message.key + 1)
    (final,) = house.gathering.facts.finals
    assert (final.state, final.failed, final.refund) == (Delivery.UNDELIV, False, 0)
    assert house.lane(1).idle


@pytest.mark.parametrize("others", [0, 2])
async def test_answers_pause_a_lane_only_if_its_messages_stay_with_it(house: House, others: int) -> None:
    house.router.found = house.router.found[: 1 + others]
    await house.commit(*(house.message() for _ in range(9)))
    for part in house.carriers[1].take():
        house.answer(1, part, SYSERR)
    window = house.lane(1).window
    assert (window.paused_until > house.clock.monotonic()) is (others == 0)
    assert window.breaker.failures


@pytest.mark.parametrize("wait_ms", [5_000, 600_000])
async def test_a_connector_is_chosen_again_for_a_message_that_waited_for_its_time(house: House, wait_ms: int) -> None:
    message = house.message()
    accept = accept_of(message)
    accept.scheduled, message.state, message.time = True, State.SCHEDULED, message.time + wait_ms
    message.expires = message.time + 600_000
    house.gathering.facts.accepts.append(accept)
    await house.commit()
    house.router.found = house.router.found[::-1]
    house.clock.pass_ms(wait_ms)
    assert await house.written(1) == []
    house.router.found = house.router.found[::-1]
    assert [part.message.key for part in await house.written(3)] == [message.key], "it moves once"


async def test_a_connector_is_chosen_again_after_a_minute_for_a_message_that_was_to_go_at_once(house: House) -> None:
    held, message = house.message(), house.message()
    held.queued = message.queued = True
    await house.commit(held)
    house.router.found = house.router.found[::-1]
    house.clock.pass_ms(30_000)
    assert [part.message.key for part in await house.written(1)] == [held.key]
    await house.commit(message)
    house.clock.pass_ms(30_000)
    assert await house.written(1) == []
    assert [part.message.key for part in await house.written(3)] == [message.key]


async def test_only_messages_that_waited_too_long_leave_an_overloaded_connector(house: House) -> None:
    for carrier in house.carriers.values():
        carrier.capacity = 0
    lane = house.lane(1)
    lane.policy = LanePolicy(failover=FailoverPolicy(overflow_after_s=30.0))
    old, young = house.message(), house.message()
    young.time += 5_000
    await house.commit(old, young)
    house.clock.pass_ms(31_000)
    house.router.obstacles[1] = f"{OVERLOADED}: messages wait for more than 30 s"
    house.dispatcher.divert()
    facts = await house.commit()
    assert [(each.key, each.connector) for each in facts.queueings] == [(old.key, 2)]
    assert [item.message.key for item in lane.items()] == [young.key]


async def behind(house: House, *, in_memory: bool) -> tuple[House, list[Message]]:
    """Two messages for connector 1 that wait for connector 3, which stood in and has been behind for 16 s."""
    house.router.obstacles |= dict.fromkeys((1, 2), "down for more than 15 s")
    house.carriers[3].capacity = 0
    house.lane(3).closed = not in_memory
    messages = [house.message(), house.message()]
    for message in messages:
        message.connector = 3
    await house.commit(*messages)
    house.lane(3).closed = False
    house.lane(3).oldest_row = None if in_memory else house.clock.now()
    house.clock.pass_ms(16_000)
    return house, messages


async def returned(house: House) -> list[int]:
    """Connectors of the rows after connector 3 has given back, by key."""
    await house.dispatcher.claims.give_back(house.lane(3), house.store.queue)
    await house.commit()
    return [row.connector for _, row in sorted(house.store._place.rows.queue.items())]


async def test_messages_return_to_a_better_connector_after_the_clock_was_set_back(house: House) -> None:
    house.router.obstacles[1] = "down for more than 15 s"
    house.clock.pass_ms(3_600_000)
    assert await returned(house) == []
    house.clock.pass_ms(-3_600_000)
    await behind(house, in_memory=False)
    del house.router.obstacles[1]
    assert await returned(house) == [1, 1]


@pytest.mark.parametrize("in_memory", [False, True])
async def test_messages_return_to_a_better_connector_that_works_again(house: House, in_memory: bool) -> None:
    await behind(house, in_memory=in_memory)
    waiting = [] if in_memory else [3, 3]
    assert await returned(house) == waiting, "no better connector works yet"
    del house.router.obstacles[1]
    assert await returned(house) == [1, 1]
    assert house.dispatcher.outcomes.failovers == {(3, "returned"): 2}


@pytest.mark.parametrize("reason", ["young", "busy", "without a bind", "too old", "moved by an administrator", "off"])
async def test_messages_stay_with_a_connector_that_stood_in(house: House, reason: str) -> None:
    _, messages = await behind(house, in_memory=False)
    del house.router.obstacles[1]
    better = house.lane(1)
    match reason:
        case "young":
            house.lane(3).oldest_row = house.clock.now() - 14_000
        case "busy":
            better.oldest_row = house.clock.now()
        case "without a bind":
            house.carriers[1].capacity = 0
        case "too old":
            better.policy = LanePolicy(failover=FailoverPolicy(overflow_after_s=10.0))
        case "moved by an administrator":
            wanted = QueueFilter(until=house.clock.now(), before=messages[-1].key + 1)
            carry_out(house.dispatcher, [QueueOrder(QueueAction.MOVE, wanted, 3)])
        case "off":
            house.lane(3).policy = LanePolicy(failover=FailoverPolicy(most=0))
    assert await returned(house) == [3, 3]


async def test_a_message_that_was_written_does_not_return(house: House) -> None:
    await behind(house, in_memory=True)
    house.carriers[3].capacity = 1
    await house.commit()
    (part,) = house.carriers[3].take()
    house.answer(3, part, THROTTLED)
    house.carriers[3].capacity = 0
    await house.commit()
    del house.router.obstacles[1]
    assert await returned(house) == [1], "the other message"
