"""Long messages to an operator that cuts them up itself: one part goes out, and stands for all that was charged."""

from dataclasses import replace

import pytest

from heliograph.app.dispatch.outcomes import UNANSWERED_TRIES
from heliograph.app.facts import NO_ANSWER, Outstanding, Queued
from heliograph.app.ports import Accepted, Deferred, Part, Refused, Report, Unknown
from heliograph.domain.message.receipt import Delivery
from tests.support.use_case_fakes import LONG
from tests.unit.app.test_dispatch import NODE, Desk, QueueStore
from tests.unit.app.test_late_answers import WAIT_MS, late, report, settle

LOST = Unknown("no answer")


@pytest.fixture
def desk() -> Desk:
    desk = Desk()
    desk.lane.policy = replace(desk.lane.policy, joins_parts=True)
    return desk


@pytest.fixture
def patient(desk: Desk) -> Desk:
    desk.lane.policy = replace(desk.lane.policy, unknown_wait_ms=WAIT_MS)
    return desk


def shapes(parts: list[Part]) -> list[tuple[int, int, int]]:
    return [(part.segment, part.total, len(part.octets)) for part in parts]


def test_it_goes_as_one_and_is_recorded_for_each_segment(desk: Desk) -> None:
    long = desk.message(LONG)
    assert long.segments == 3
    parts = desk.sent(long)
    assert shapes(parts) == [(0, 1, len(LONG))]
    assert desk.lane.window.in_flight == 1
    desk.answer(parts[0], Accepted("a"))
    facts = desk.commit()
    assert [(each.segment, each.operator_id, each.status) for each in facts.submissions] == [
        (0, "a", 0), (1, "a", 0), (2, "a", 0),
    ]  # fmt: skip
    assert [each.took >= 0 for each in facts.submissions] == [True, False, False], "measured once"
    assert desk.is_clean()
    desk.matcher.on_report(1, Report("a", long.destination, Delivery.UNDELIV, True, "034"), lambda _: None)
    (final,) = desk.commit().finals
    assert (final.key, final.state, final.err, final.failed) == (long.key, Delivery.UNDELIV, "034", False)


def test_a_short_message_is_as_ever(desk: Desk) -> None:
    short = desk.message()
    (part,) = desk.sent(short)
    assert (part.segment, part.total) == (0, 1)
    desk.answer(part, Accepted("a"))
    assert [each.segment for each in desk.commit().submissions] == [0]


def test_what_is_refused_is_refunded_whole(desk: Desk) -> None:
    long = desk.message(LONG)
    (part,) = desk.sent(long)
    desk.answer(part, Refused(0x0B, Delivery.REJECTD, "011"))
    (final,) = desk.commit().finals
    assert (final.state, final.failed, final.refund) == (Delivery.REJECTD, True, long.price)
    assert desk.is_clean()


@pytest.mark.parametrize("answer", [Deferred(0x58, 0.0, throttled=True), LOST])
def test_what_must_go_again_goes_whole(desk: Desk, answer: Deferred | Unknown) -> None:
    (part,) = desk.sent(desk.message(LONG))
    desk.answer(part, answer)
    desk.clock.pass_ms(3_000)
    desk.commit()
    assert shapes(desk.carrier.parts) == [(0, 1, len(LONG))]


def test_what_is_never_answered_for_counts_as_sent_at_last(desk: Desk) -> None:
    long = desk.message(LONG)
    parts = desk.sent(long)
    for _ in range(UNANSWERED_TRIES - 1):
        desk.answer(parts[0], LOST)
        desk.commit()
        parts = desk.carrier.take()
    desk.answer(parts[0], LOST)
    facts = desk.commit()
    assert desk.carrier.parts == []
    assert [(each.segment, each.status) for each in facts.submissions] == [(n, NO_ANSWER) for n in range(3)]
    assert [(final.state, final.failed) for final in facts.finals] == [(Delivery.UNKNOWN, False)]
    assert desk.is_clean()


def test_the_option_may_change_while_it_waits(desk: Desk) -> None:
    long = desk.message(LONG)
    (part,) = desk.sent(long)
    desk.lane.policy = replace(desk.lane.policy, joins_parts=False)
    desk.answer(part, LOST)
    desk.commit()
    several = desk.carrier.take()
    assert [(each.segment, each.total) for each in several] == [(0, 3), (1, 3), (2, 3)]
    desk.lane.policy = replace(desk.lane.policy, joins_parts=True)
    desk.answer(several[0], Accepted("a"))
    desk.answer(several[1], LOST)
    desk.answer(several[2], LOST)
    desk.commit()
    again = desk.carrier.take()
    assert [(each.segment, each.total) for each in again] == [(1, 3), (2, 3)], "one of them is with the operator"
    for each in again:
        desk.answer(each, Accepted(f"b{each.segment}"))
    facts = desk.commit()
    assert sorted(each.segment for each in facts.submissions) == [1, 2]
    assert desk.is_clean()


async def test_its_late_answer_counts_for_all_of_it(patient: Desk) -> None:
    long = patient.message(LONG)
    (part,) = patient.sent(long)
    patient.answer(part, LOST)
    assert [each.key for each in patient.commit().queueings] == [long.key]
    late(patient, part, Accepted("a"))
    patient.store.known[long.key] = Outstanding(long, {}, {})  # no answer
    await settle(patient)
    facts = patient.commit()
    assert [(each.segment, each.operator_id) for each in facts.submissions] == [(0, "a"), (1, "a"), (2, "a")]
    assert [(each.segment, each.operator_id) for each in facts.awaiting] == [(0, "a"), (1, "a"), (2, "a")]
    assert facts.dequeued == [(long.account, long.key)]
    patient.clock.pass_ms(WAIT_MS)
    await patient.dispatcher.claims.refill(patient.lane, QueueStore(Queued(long, attempted=True)).queue, NODE)
    assert patient.commit().sending == [], "its row was claimed before that was durable"


async def test_after_a_crash_a_receipt_that_nothing_else_explains_is_taken_for_it(patient: Desk) -> None:
    long = patient.message(LONG)
    patient.lane.window.carrier = None
    await patient.dispatcher.claims.recover([Queued(long, attempted=True)])
    facts = patient.commit()
    assert [(each.key, each.due) for each in facts.queueings] == [(long.key, patient.clock.now() + WAIT_MS)]
    await report(patient, "4711", long.destination)
    patient.store.known[long.key] = Outstanding(long, {}, {})  # no answer
    await settle(patient)
    facts = patient.commit()
    assert [(each.segment, each.operator_id) for each in facts.submissions] == [(n, "4711") for n in range(3)]
    assert [(final.key, final.state) for final in facts.finals] == [(long.key, Delivery.DELIVRD)]


async def test_when_the_time_is_over_all_of_it_is_sent_once_more(patient: Desk) -> None:
    long = patient.message(LONG)
    (part,) = patient.sent(long)
    patient.answer(part, LOST)
    patient.commit()
    patient.clock.pass_ms(WAIT_MS)
    await patient.dispatcher.claims.refill(patient.lane, QueueStore(Queued(long, attempted=True)).queue, NODE)
    patient.commit()
    (again,) = patient.carrier.take()
    assert shapes([again]) == [(0, 1, len(LONG))]
    patient.answer(again, LOST)
    assert [final.state for final in patient.commit().finals] == [Delivery.UNKNOWN]
    assert patient.is_clean()
