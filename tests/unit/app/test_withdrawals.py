"""What waits in memory for a phone that opted out, or of a suspended account, does not go.

What has begun to leave goes on.
"""

import pytest

from heliograph.app.dispatch.dispatcher import Dispatcher
from heliograph.app.facts import Facts, InboundMessage, Message, MessageEnd, Queueing
from heliograph.app.ports import Accepted
from heliograph.app.receipts.matcher import ReceiptMatcher
from heliograph.domain.limits.gate import OF_SUSPENDED, compile_policy
from heliograph.domain.message.opt_out import Wish
from heliograph.domain.message.state import State
from tests.support.memory_store import MemoryStore
from tests.support.store import CREDIT, NODE, Given
from tests.support.use_case_fakes import LONG, Messages, NotedCarrier, NotedGathering, SetClock, SetRouter, accept_of

PHONE, OTHER = "4917012345678", "447700900123"
EVER = 1 << 62
BALANCE = 100 * CREDIT


class Desk:
    """A dispatcher over a store, with the lane of connector 1."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.clock = SetClock()
        self.gathering = NotedGathering()
        self.messages = Messages(self.clock)
        matcher = ReceiptMatcher(self.gathering, self.clock, self.store.receipts, self._finish)
        self.suspended: set[int] = set()
        policy = compile_policy(suspended=True)
        self.dispatcher = Dispatcher(
            self.gathering,
            self.clock,
            matcher,
            self._finish,
            SetRouter(1),
            policy_of=lambda account: policy if account in self.suspended else None,
        )
        self.lane = self.dispatcher.lane(1)
        self.lane.window.carrier = self.carrier = NotedCarrier(capacity=0)
        self.account = 0

    async def open(self) -> "Desk":
        self.account = (await Given(self.store, self.clock.ms).account(credit=BALANCE)).id
        return self

    def _finish(self, message: Message, final: MessageEnd) -> None:
        raise AssertionError(f"{message.key} ended: {final}")

    async def commit(self, *messages: Message) -> Facts:
        facts = await self.write(*messages)
        self.dispatcher.pump()
        return facts

    async def write(self, *messages: Message) -> Facts:
        """Commits, and sends nothing."""
        facts = self.gathering.facts
        if messages:
            facts.accepts.append(accept_of(*messages))
        self.dispatcher.prepare(facts, self.clock.now())
        facts = self.gathering.take()
        await self.store.commits.record(facts)
        self.dispatcher.committed()
        return facts

    async def go_on(self, times: int) -> None:
        """Commits nothing so many times, each when the pace allows another part."""
        for _ in range(times):
            self.clock.pass_ms(100)
            await self.commit()

    async def state(self, message: Message) -> State:
        found = await self.store.customers.message(self.account, message.key, message.tail)
        assert found is not None
        return State(found.state)

    async def balance(self) -> int:
        return await self.store.customers.balance(self.account)


@pytest.fixture
async def desk() -> Desk:
    return await Desk().open()


async def test_what_waits_for_the_phone_does_not_go(desk: Desk) -> None:
    meant, other, later = desk.messages(), desk.messages(destination=OTHER), desk.messages()
    for message in (meant, other, later):
        await desk.commit(message)
    desk.dispatcher.withdraw(desk.account, PHONE, later.key)
    desk.dispatcher.withdraw(desk.account + 1, OTHER, EVER)
    desk.carrier.capacity = 10
    await desk.go_on(3)
    assert desk.carrier.keys == [other.key, later.key]
    assert [await desk.state(each) for each in (meant, other, later)] == [State.CANCELLED, State.SENT, State.SENT]
    assert await desk.balance() == BALANCE - 2 * CREDIT


async def test_what_has_begun_to_leave_goes_on(desk: Desk) -> None:
    desk.carrier.capacity = 1
    long = desk.messages(LONG)
    for _ in range(2):
        await desk.commit(*([long] if not desk.carrier.parts else []))
    assert len(desk.carrier.parts) == 1
    desk.dispatcher.withdraw(desk.account, PHONE, EVER)
    for part in (desk.carrier.parts[0],):
        desk.dispatcher.outcomes.on_outcome(desk.lane, part, Accepted("1"))
    desk.carrier.capacity = 10
    await desk.go_on(3)
    assert len(desk.carrier.parts) == 3
    assert await desk.balance() == BALANCE - 3 * CREDIT


async def test_what_was_made_ready_is_called_back(desk: Desk) -> None:
    """Its part was cut and chosen, but not written: the operator throttles."""
    desk.carrier.capacity = 10
    desk.lane.window.paused_until = desk.clock.monotonic() + 5
    message = desk.messages()
    await desk.commit(message)
    await desk.commit()
    desk.dispatcher.withdraw(desk.account, PHONE, EVER)
    desk.clock.pass_ms(6_000)
    for _ in range(3):
        await desk.commit()
    assert desk.carrier.parts == []
    assert await desk.state(message) is State.CANCELLED
    assert desk.lane.idle


async def test_what_was_made_ready_by_the_commit_of_the_stop_does_not_go(desk: Desk) -> None:
    desk.carrier.capacity = 10
    message = desk.messages()
    await desk.write(message)
    assert desk.lane.window.ready
    desk.dispatcher.withdraw(desk.account, PHONE, EVER)
    for _ in range(3):
        await desk.commit()
    assert desk.carrier.parts == []
    assert await desk.state(message) is State.CANCELLED


async def test_what_waits_is_held_while_its_account_is_suspended(desk: Desk) -> None:
    waiting, begun = desk.messages(destination=OTHER), desk.messages(LONG)
    desk.carrier.capacity = 1
    for message in (begun, waiting):
        await desk.commit(message)
    desk.dispatcher.judge_anew()
    assert (await desk.commit()).queueings == []
    desk.suspended.add(desk.account)
    desk.dispatcher.judge_anew()
    (queueing,) = (await desk.commit()).queueings
    assert (queueing.key, queueing.held, queueing.attempted) == (waiting.key, OF_SUSPENDED, False)
    for part in desk.carrier.take():
        desk.dispatcher.outcomes.on_outcome(desk.lane, part, Accepted("1"))
    desk.carrier.capacity = 10
    await desk.go_on(3)
    assert desk.carrier.keys == [begun.key] * 2, "what has begun to leave goes on"
    assert await desk.state(waiting) is State.SENT


async def test_what_was_made_ready_is_called_back_and_held(desk: Desk) -> None:
    desk.carrier.capacity = 10
    message = desk.messages()
    await desk.write(message)
    assert desk.lane.window.ready
    desk.suspended.add(desk.account)
    desk.dispatcher.judge_anew()
    desk.dispatcher.judge_anew()
    (queueing,) = (await desk.commit()).queueings
    assert queueing.held == OF_SUSPENDED
    await desk.go_on(3)
    assert desk.carrier.parts == []
    assert desk.lane.idle


async def test_what_the_store_withheld_is_not_sent(desk: Desk) -> None:
    await desk.store.suppressions.suppress(desk.account, [PHONE], "api", desk.clock.now())
    desk.carrier.capacity = 10
    batch = [desk.messages(), desk.messages(destination=OTHER)]
    await desk.commit(*batch)
    await desk.commit()
    assert desk.carrier.keys == [batch[1].key]
    for part in desk.carrier.take():
        desk.dispatcher.outcomes.on_outcome(desk.lane, part, Accepted("1"))
    await desk.commit()
    assert desk.lane.idle
    assert await desk.balance() == BALANCE - CREDIT


async def test_the_answer_to_a_stop_goes_although_the_phone_says_stop_again(desk: Desk) -> None:
    """The lane has it, and the operator throttles."""
    await desk.dispatcher.claims.open(desk.lane, desk.store.queue)
    await desk.commit()
    reply = desk.messages(account=desk.account, queued=True)
    answer = accept_of(reply)
    answer.key, answer.exempt = reply.key, True
    stop = InboundMessage(
        desk.account, 1, PHONE, "3388", "stop", b"stop", 0, desk.clock.now(), wish=Wish.STOP, reply=answer,
        key=reply.key + 1,
    )  # fmt: skip
    await desk.store.commits.record(Facts(inbound=[stop]))
    await desk.dispatcher.claims.refill(desk.lane, desk.store.queue, NODE)
    desk.dispatcher.withdraw(desk.account, PHONE, EVER)
    desk.carrier.capacity = 10
    await desk.go_on(3)
    assert desk.carrier.keys == [reply.key]
    assert await desk.balance() == BALANCE - CREDIT


async def test_what_waited_in_the_queue_is_withdrawn_when_it_is_claimed(desk: Desk) -> None:
    await desk.dispatcher.claims.open(desk.lane, desk.store.queue)
    await desk.commit()
    message = desk.messages(state=State.SCHEDULED)
    accept = accept_of(message)
    accept.scheduled = True
    await desk.store.commits.record(Facts(accepts=[accept]))
    # claimed by a node that puts it back after the phone opted out
    await desk.store.queue.claim(1, 10, message.time, NODE)
    await desk.store.suppressions.suppress(desk.account, [PHONE], "api", desk.clock.now())
    row = Queueing(desk.account, message.key, 1, message.time, message.expires, attempted=False, claimed=False)
    await desk.store.commits.record(Facts(queueings=[row]))
    desk.carrier.capacity = 10
    await desk.dispatcher.claims.refill(desk.lane, desk.store.queue, NODE)
    for _ in range(2):
        await desk.commit()
    assert desk.carrier.parts == []
    assert await desk.state(message) is State.CANCELLED
    assert await desk.balance() == BALANCE
    assert await desk.store.queue.claim(1, 10, message.time, NODE) == []
