"""The gate, asked about messages that are claimed from the queue."""

from collections.abc import Callable

import pytest

from heliograph.app.dispatch.claims import QueueClaims
from heliograph.app.facts import Outstanding, Queued
from heliograph.app.observing.series_counter import SeriesCounter
from heliograph.app.ports import Accepted
from heliograph.domain.error import FORBIDDEN
from heliograph.domain.limits.gate import (
    OF_SUSPENDED,
    PASS,
    Hold,
    Judged,
    Judgement,
    Policy,
    Refuse,
    compile_policy,
)
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.series import Grain
from heliograph.domain.sketch import quantile
from tests.support.use_case_fakes import LONG, SetRouter
from tests.unit.app.test_dispatch import NODE, Desk, QueueStore

GUARDED = Hold("49170")
OPTED_OUT = Refuse(FORBIDDEN, "This number has opted out.", "to")


@pytest.fixture
def desk() -> Desk:
    return Desk()


def judged(desk: Desk, judgement: Callable[[Judged, int], Judgement]) -> QueueClaims:
    """Claims by a policy of one rule; account 2 has none."""

    policy = Policy(at_claim=(judgement,))
    dispatcher = desk.dispatcher
    return QueueClaims(
        dispatcher.outcomes,
        desk.clock,
        dispatcher.lane,
        SetRouter(),
        lambda account: policy if account == 1 else None,
    )


async def test_what_passes_is_sent_as_it_would_be_without_a_gate(desk: Desk) -> None:
    one = desk.message()
    await judged(desk, lambda _, __: PASS).refill(desk.lane, QueueStore(Queued(one, False)).queue, NODE)
    desk.commit()
    (part,) = desk.carrier.take()
    desk.answer(part, Accepted("a"))
    facts = desk.commit()
    assert (facts.queueings, facts.dequeued) == ([], [(1, one.key)])


async def test_what_is_held_goes_back_with_its_due_time_and_the_range_that_is_held(desk: Desk) -> None:
    one = desk.message()
    await judged(desk, lambda _, __: GUARDED).refill(desk.lane, QueueStore(Queued(one, False)).queue, NODE)
    facts = desk.commit()
    (queueing,) = facts.queueings
    assert (queueing.key, queueing.connector, queueing.due, queueing.held) == (one.key, 1, one.time, "49170")
    assert (queueing.attempted, queueing.claimed) == (False, False)
    assert (facts.dequeued, facts.finals, desk.carrier.take()) == ([], [], [])
    assert desk.is_clean()


async def test_the_delay_of_a_released_message_counts_from_its_release(desk: Desk) -> None:
    one = desk.message()
    one.released = desk.clock.now() - 40
    one.time = one.released - 420_000
    await judged(desk, lambda _, __: PASS).refill(desk.lane, QueueStore(Queued(one, False)).queue, NODE)
    assert desk.lane.oldest == one.released
    desk.commit()
    (part,) = desk.carrier.take()
    desk.answer(part, Accepted("a"))
    facts = desk.commit()
    (answer,) = facts.submissions
    assert answer.waited + answer.took <= 40
    counter = SeriesCounter()
    counter.committed(facts, desk.clock.now(), 0.0)
    delays = [cell.to_operator for cell in counter.take().widened(Grain.HOUR).values()]
    assert [quantile(delay, 0.5) for delay in delays] == [pytest.approx(40, rel=0.1)]


async def test_what_is_due_of_a_suspended_account_waits_until_it_is_resumed(desk: Desk) -> None:
    one, policy = desk.message(), compile_policy(suspended=True)
    dispatcher = desk.dispatcher
    claims = QueueClaims(dispatcher.outcomes, desk.clock, dispatcher.lane, SetRouter(), lambda _: policy)
    await claims.refill(desk.lane, QueueStore(Queued(one, False)).queue, NODE)
    (queueing,) = desk.commit().queueings
    assert (queueing.key, queueing.held, queueing.expires) == (one.key, OF_SUSPENDED, one.expires)
    assert desk.carrier.take() == []
    policy = None
    await claims.refill(desk.lane, QueueStore(Queued(one, False)).queue, NODE)
    desk.commit()
    assert [part.message.key for part in desk.carrier.take()] == [one.key]


async def test_what_an_earlier_run_left_in_memory_is_judged_before_it_goes(desk: Desk) -> None:
    one, other, policy = desk.message(), desk.message(account=2), compile_policy(suspended=True)
    dispatcher = desk.dispatcher
    claims = QueueClaims(
        dispatcher.outcomes,
        desk.clock,
        dispatcher.lane,
        SetRouter(),
        lambda account: policy if account == 1 else None,
    )
    await claims.recover([Queued(one, False), Queued(other, False)])
    (queueing,) = desk.commit().queueings
    assert (queueing.key, queueing.held) == (one.key, OF_SUSPENDED)
    assert [part.message.key for part in desk.carrier.take()] == [other.key]


async def test_what_an_earlier_run_left_in_memory_is_withdrawn_if_its_recipient_opted_out(desk: Desk) -> None:
    gone, attempted, other = desk.message(), desk.message(), desk.message()
    unsent = [Queued(gone, False, suppressed=True), Queued(attempted, True), Queued(other, False)]
    await desk.dispatcher.claims.recover(unsent)
    (withdrawal,) = desk.commit().withdrawals
    assert (withdrawal.key, withdrawal.refund) == (gone.key, gone.price)
    assert {part.message.key for part in desk.carrier.take()} == {attempted.key, other.key}


async def test_others_of_the_account_pass_what_is_held(desk: Desk) -> None:
    held, other = desk.message(), desk.message(destination="491710000000")
    store = QueueStore(Queued(held, False), Queued(other, False))
    claims = judged(desk, lambda message, _: GUARDED if message.destination == held.destination else PASS)
    await claims.refill(desk.lane, store.queue, NODE)
    desk.commit()
    assert [part.message.key for part in desk.carrier.take()] == [other.key]


async def test_what_is_refused_fails_and_is_refunded_in_one_commit(desk: Desk) -> None:
    one = desk.message()
    await judged(desk, lambda _, __: OPTED_OUT).refill(desk.lane, QueueStore(Queued(one, False)).queue, NODE)
    facts = desk.commit()
    (final,) = facts.finals
    assert (final.key, final.state, final.failed, final.refund) == (one.key, Delivery.REJECTD, True, one.price)
    assert facts.dequeued == [(1, one.key)]
    assert desk.finished == [(one.key, Delivery.REJECTD)]
    assert desk.is_clean()


@pytest.mark.parametrize("judgement", [GUARDED, OPTED_OUT])
async def test_what_may_have_left_goes_on_whatever_the_gate_says(desk: Desk, judgement: Judgement) -> None:
    attempted, half = desk.message(), desk.message(content=LONG)
    asked: list[str] = []

    def judge(message: Judged, _: int) -> Judgement:
        asked.append(message.destination)
        return judgement

    store = QueueStore(Queued(attempted, True), Queued(half, False, frozenset({0}), frozenset({0})))
    desk.store.known[half.key] = Outstanding(half, {(1, "a"): (0,)}, {})
    await judged(desk, judge).refill(desk.lane, store.queue, NODE)
    desk.commit()
    assert {part.message.key for part in desk.carrier.take()} == {attempted.key, half.key}
    assert asked == []


async def test_an_account_without_a_policy_is_not_judged(desk: Desk) -> None:
    one = desk.message(account=2)
    await judged(desk, lambda _, __: OPTED_OUT).refill(desk.lane, QueueStore(Queued(one, False)).queue, NODE)
    desk.commit()
    assert len(desk.carrier.take()) == 1


def test_a_message_that_is_held_when_it_is_accepted_waits_in_the_queue(desk: Desk) -> None:
    held, other = desk.message(), desk.message()
    held.queued = True
    desk.commit(held, other)
    assert held.queued
    assert not other.queued
    assert [part.message.key for part in desk.carrier.take()] == [other.key]
