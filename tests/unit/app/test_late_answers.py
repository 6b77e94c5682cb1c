"""What an operator may have: it is waited for word of it, or sent again, and what comes to light later counts."""

from dataclasses import replace

import pytest

from heliograph.app.dispatch import unknown_outcomes as doubts
from heliograph.app.dispatch.late_answers import GUESS_MS
from heliograph.app.dispatch.unknown_outcomes import REPEAT_AFTER_MS
from heliograph.app.facts import Outstanding, Queued
from heliograph.app.ports import Accepted, Deferred, Part, Refused, Report, Unavailable, Unknown
from heliograph.app.receipts.lookup import ReceiptLookup
from heliograph.app.receipts.readings import STALE_MS
from heliograph.domain.message.receipt import Delivery
from tests.support.use_case_fakes import LONG
from tests.unit.app.test_dispatch import NODE, Desk, QueueStore

LOST = Unknown("no answer")
REFUSED = Refused(0x0B, Delivery.REJECTD, "011")
WAIT_MS = 600_000
NUMBER = "447700900123"


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def patient(desk: Desk) -> Desk:
    """A desk whose lane waits for word."""
    desk.lane.policy = replace(desk.lane.policy, unknown_wait_ms=WAIT_MS)
    return desk


async def settle(desk: Desk) -> None:
    desk.clock.pass_ms(GUESS_MS)
    await desk.dispatcher.late.settle()


async def report(desk: Desk, operator_id: str, to: str, state: Delivery = Delivery.DELIVRD) -> list[bool]:
    """A receipt comes, and is looked for; what was said to the operator, after the next commit."""
    said: list[bool] = []
    desk.matcher.on_report(1, Report(operator_id, to, state, True, "000"), said.append)
    if desk.matcher.missed:
        await ReceiptLookup(desk.matcher, desk.gathering, desk.clock).look_up()
    return said


def late(desk: Desk, part: Part, outcome: Accepted | Refused | Deferred) -> None:
    desk.dispatcher.late.on_late(desk.lane, part, outcome)


# --- waiting for word


async def test_what_got_no_answer_waits_in_the_queue_and_is_not_sent_again(patient: Desk) -> None:
    one = patient.message()
    (part,) = patient.sent(one)
    patient.answer(part, LOST)
    facts = patient.commit()
    (queueing,) = facts.queueings
    assert (queueing.key, queueing.due, queueing.attempted, queueing.claimed) == (
        one.key, patient.clock.now() + WAIT_MS, True, False,
    )  # fmt: skip
    assert [attempt.status for attempt in facts.attempts] == [-1]
    patient.commit()
    assert patient.carrier.parts == []
    assert patient.is_clean()


async def test_a_late_answer_settles_it(patient: Desk) -> None:
    one = patient.message()
    (part,) = patient.sent(one)
    patient.answer(part, LOST)
    patient.commit()
    late(patient, part, Accepted("77"))
    await settle(patient)
    facts = patient.commit()
    assert [(each.key, each.operator_id, each.status) for each in facts.submissions] == [(one.key, "77", 0)]
    assert facts.dequeued == [(one.account, one.key)]
    await report(patient, "77", one.destination)
    assert patient.finished == [(one.key, Delivery.DELIVRD)]


async def test_a_late_refusal_is_final_and_refunded(patient: Desk) -> None:
    one = patient.message()
    (part,) = patient.sent(one)
    patient.answer(part, LOST)
    late(patient, part, REFUSED)
    await settle(patient)
    facts = patient.commit()
    assert [(final.failed, final.refund) for final in facts.finals] == [(True, one.price)]
    assert facts.dequeued == [(one.account, one.key)]


@pytest.mark.parametrize(
    ("shared", "passed_ms", "ends"), [(True, WAIT_MS, False), (True, 0, True), (False, WAIT_MS, True)]
)
async def test_a_late_refusal_does_not_count_once_another_node_may_have_sent_the_message_again(
    patient: Desk, *, shared: bool, passed_ms: int, ends: bool
) -> None:
    """The end would refund it, although the operator may have taken the second copy."""
    patient.matcher.shared = shared
    one = patient.message()
    (part,) = patient.sent(one)
    patient.answer(part, LOST)
    patient.commit()
    patient.clock.pass_ms(passed_ms)
    late(patient, part, REFUSED)
    await settle(patient)
    assert [final.key for final in patient.commit().finals] == ([one.key] if ends else [])


async def test_a_late_not_now_leaves_it_waiting(patient: Desk) -> None:
    (part,) = patient.sent(patient.message())
    patient.answer(part, LOST)
    patient.commit()
    late(patient, part, Deferred(0x58, 1.0))
    await settle(patient)
    assert not patient.gathering.facts


async def test_a_receipt_that_nothing_else_explains_is_taken_for_its(patient: Desk) -> None:
    one = patient.message()
    (part,) = patient.sent(one)
    patient.answer(part, LOST)
    patient.commit()
    said = await report(patient, "4711", "+" + one.destination)
    await settle(patient)
    facts = patient.commit()
    assert [(each.key, each.operator_id) for each in facts.submissions] == [(one.key, "4711")]
    assert [(final.key, final.state, final.failed) for final in facts.finals] == [(one.key, Delivery.DELIVRD, False)]
    assert facts.dequeued == [(one.account, one.key)]
    assert facts.early_matched == [(1, "4711")]
    assert said == [True]


async def test_a_receipt_that_was_there_before_the_message_is_not_taken_for_its(patient: Desk) -> None:
    """The message would neither be sent again nor be waited for."""
    await report(patient, "4711", NUMBER)
    patient.clock.pass_ms(STALE_MS + 1)
    one = patient.message(destination=NUMBER)
    (part,) = patient.sent(one)
    patient.answer(part, LOST)
    await settle(patient)
    assert patient.commit().submissions == []
    await report(patient, "4712", NUMBER)
    await settle(patient)
    assert [each.operator_id for each in patient.commit().submissions] == ["4712"]


async def test_a_receipt_is_taken_for_a_lost_answer_where_the_clock_was_set_back_meanwhile(patient: Desk) -> None:
    one = patient.message()
    (part,) = patient.sent(one)
    patient.answer(part, LOST)
    patient.commit()
    patient.clock.ms -= 2 * STALE_MS
    await report(patient, "4711", one.destination)
    await settle(patient)
    assert [(each.key, each.operator_id) for each in patient.commit().submissions] == [(one.key, "4711")]


async def test_a_guess_is_not_made_where_it_may_be_another_messages(patient: Desk) -> None:
    one, other = patient.message(), patient.message()
    (part,) = patient.sent(one)
    (on_its_way,) = patient.sent(other)
    patient.answer(part, LOST)
    await report(patient, "4711", one.destination)
    await settle(patient)
    assert patient.commit().submissions == []
    patient.answer(on_its_way, LOST)
    await settle(patient)
    assert patient.commit().submissions == [], "two are in doubt"
    late(patient, on_its_way, Accepted("4712"))
    await settle(patient)
    await settle(patient)
    assert sorted(each.operator_id for each in patient.commit().submissions) == ["4711", "4712"]
    assert patient.finished == [(one.key, Delivery.DELIVRD)]


async def test_another_number_is_another_message(patient: Desk) -> None:
    (part,) = patient.sent(patient.message())
    patient.answer(part, LOST)
    await report(patient, "4711", "4917099999999")
    await settle(patient)
    assert patient.commit().submissions == []


async def test_when_the_time_is_over_it_is_sent_once_more(patient: Desk) -> None:
    one = patient.message()
    (part,) = patient.sent(one)
    patient.answer(part, LOST)
    patient.commit()
    patient.clock.pass_ms(WAIT_MS)
    await patient.dispatcher.claims.refill(patient.lane, QueueStore(Queued(one, attempted=True)).queue, NODE)
    facts = patient.commit()
    assert facts.sending == [(one.account, one.key)]
    (again,) = patient.carrier.take()
    patient.answer(again, LOST)
    facts = patient.commit()
    assert [(final.state, final.failed) for final in facts.finals] == [(Delivery.UNKNOWN, False)]
    assert facts.dequeued == [(one.account, one.key)]
    assert patient.is_clean()


async def test_after_a_start_what_may_have_been_sent_waits_anew(patient: Desk) -> None:
    fast, slow = patient.message(), patient.message()
    await patient.dispatcher.claims.recover([Queued(fast, attempted=True)])
    await patient.dispatcher.claims.refill(patient.lane, QueueStore(Queued(slow, attempted=True)).queue, NODE)
    facts = patient.commit()
    due = patient.clock.now() + WAIT_MS
    assert [(each.key, each.due, each.attempted) for each in facts.queueings] == [
        (fast.key, due, True),
        (slow.key, due, True),
    ]
    assert patient.carrier.parts == []
    assert patient.is_clean()
    await report(patient, "1", fast.destination)
    await settle(patient)
    assert patient.commit().submissions == [], "two are in doubt"


async def test_what_was_settled_is_not_sent_though_its_row_was_claimed_before_that_was_durable(patient: Desk) -> None:
    one = patient.message()
    (part,) = patient.sent(one)
    patient.answer(part, LOST)
    patient.commit()
    late(patient, part, Accepted("77"))
    await settle(patient)
    patient.clock.pass_ms(WAIT_MS)
    await patient.dispatcher.claims.refill(patient.lane, QueueStore(Queued(one, attempted=True)).queue, NODE)
    facts = patient.commit()
    assert (facts.sending, patient.carrier.parts) == ([], [])
    assert set(facts.dequeued) == {(one.account, one.key)}


async def test_of_a_long_message_only_the_part_in_doubt_waits(patient: Desk) -> None:
    long = patient.message(LONG)
    first, second, third = patient.sent(long)
    patient.answer(second, LOST)
    assert patient.commit().queueings == [], "the others are on their way still"
    patient.answer(first, Accepted("1"))
    patient.answer(third, Accepted("3"))
    facts = patient.commit()
    assert [each.key for each in facts.queueings] == [long.key]
    assert patient.is_clean()
    patient.store.known[long.key] = Outstanding(long, {(1, "1"): (0,), (1, "3"): (2,)}, {})
    late(patient, second, Accepted("2"))
    await settle(patient)
    facts = patient.commit()
    assert [(each.segment, each.operator_id) for each in facts.submissions] == [(1, "2")]
    assert facts.dequeued == [(long.account, long.key)]
    for operator_id in "123":
        await report(patient, operator_id, long.destination)
    assert patient.finished == [(long.key, Delivery.DELIVRD)]


async def test_word_that_cannot_be_taken_in_now_is_taken_in_later(patient: Desk) -> None:
    long = patient.message(LONG)
    parts = patient.sent(long)
    for part in parts:
        patient.answer(part, LOST)
    patient.commit()
    patient.store.failing = True
    for number, part in enumerate(parts):
        late(patient, part, Accepted(str(number)))
    patient.matcher.awaited.tracks.clear()
    with pytest.raises(Unavailable):
        await settle(patient)
    patient.store.failing = False
    patient.store.known[long.key] = Outstanding(long, {}, {})
    await settle(patient)
    facts = patient.commit()
    assert sorted(each.operator_id for each in facts.submissions) == ["0", "1", "2"]
    assert facts.dequeued == [(long.account, long.key)]


# --- sending again


async def test_a_late_answer_before_it_went_again_spares_the_copy(desk: Desk) -> None:
    one = desk.message()
    (part,) = desk.sent(one)
    desk.answer(part, LOST)
    late(desk, part, Accepted("77"))
    await settle(desk)
    facts = desk.commit()
    assert [each.operator_id for each in facts.submissions] == ["77"]
    assert desk.carrier.parts == []
    assert desk.is_clean()


@pytest.mark.parametrize("first", ["77", "78"])
async def test_a_part_taken_twice_has_two_names_and_one_state(desk: Desk, first: str) -> None:
    one = desk.message()
    (part,) = desk.sent(one)
    desk.answer(part, LOST)
    desk.commit()
    (copy,) = desk.carrier.take()
    late(desk, part, Accepted("77"))
    desk.answer(copy, Accepted("78"))
    assert [each.operator_id for each in desk.commit().submissions] == ["78"]
    await report(desk, first, one.destination)
    await report(desk, {"77": "78", "78": "77"}[first], one.destination, Delivery.UNDELIV)
    facts = desk.commit()
    assert [(final.key, final.state) for final in facts.finals] == [(one.key, Delivery.DELIVRD)]
    assert facts.early == []


async def test_an_answer_later_than_that_of_the_copy_is_another_name_too(desk: Desk) -> None:
    one = desk.message()
    (part,) = desk.sent(one)
    desk.answer(part, LOST)
    desk.commit()
    (copy,) = desk.carrier.take()
    desk.answer(copy, Accepted("78"))
    await report(desk, "77", one.destination)
    assert len(desk.commit().early) == 1, "nobody knows yet whose it is"
    late(desk, part, Accepted("77"))
    facts = desk.commit()
    assert desk.finished == [(one.key, Delivery.DELIVRD)]
    assert facts.early_matched == [(1, "77")]


@pytest.mark.parametrize("answer", [REFUSED, LOST, Deferred(0x58, 0.2)])
async def test_what_the_operator_took_late_it_has_whatever_it_says_of_the_copy(
    desk: Desk, answer: Refused | Unknown | Deferred
) -> None:
    (part,) = desk.sent(desk.message())
    desk.answer(part, LOST)
    desk.commit()
    (copy,) = desk.carrier.take()
    late(desk, part, Accepted("77"))
    desk.answer(copy, answer)
    facts = desk.commit()
    assert [(each.operator_id, each.status) for each in facts.submissions] == [("77", 0)]
    assert facts.finals == []
    assert desk.carrier.parts == []


async def test_a_receipt_of_a_first_copy_is_no_orphan_for_long(desk: Desk) -> None:
    one = desk.message()
    (part,) = desk.sent(one)
    desk.answer(part, LOST)
    desk.commit()
    desk.answer(desk.carrier.take()[0], Accepted("78"))
    await report(desk, "78", one.destination)
    await report(desk, "77", one.destination)
    assert len(desk.commit().early) == 1
    await settle(desk)
    assert desk.commit().early_matched == [], "it may be an early one"
    desk.clock.pass_ms(REPEAT_AFTER_MS)
    await settle(desk)
    assert desk.commit().early_matched == [(1, "77")]
    await report(desk, "76", one.destination)
    desk.commit()
    desk.clock.pass_ms(2 * REPEAT_AFTER_MS)
    await settle(desk)
    assert desk.commit().early_matched == [], "there was one copy only"


async def test_after_a_kill_the_receipts_of_what_it_interrupted_are_no_orphans(desk: Desk) -> None:
    one = desk.message()
    await desk.dispatcher.claims.recover([Queued(one, attempted=True)])
    desk.commit()
    (copy,) = desk.carrier.take()
    await report(desk, "77", one.destination)
    desk.answer(copy, Accepted("78"))
    desk.commit()
    desk.clock.pass_ms(2 * REPEAT_AFTER_MS)
    await settle(desk)
    assert desk.commit().early_matched == [(1, "77")]


async def test_doubts_do_not_grow_for_ever(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doubts, "MOST_UNKNOWN", 3)
    for n in range(6):
        (part,) = desk.sent(desk.message(destination=f"49170000000{n}"))
        desk.answer(part, LOST)
        desk.commit()
        desk.answer(desk.carrier.take()[0], Accepted(str(n)))
        desk.commit()
    assert len(desk.dispatcher.outcomes.unknown.by_key) == 3
    assert len(desk.dispatcher.outcomes.unknown._by_number) == 3


async def test_a_message_that_is_forgotten_while_another_part_is_away_still_waits_in_the_queue(
    patient: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would be in no lane and have no row."""
    monkeypatch.setattr(doubts, "MOST_UNKNOWN", 1)
    long, other = patient.message(LONG), patient.message()
    first, *rest = patient.sent(long)
    patient.answer(first, LOST)
    (part,) = patient.sent(other)
    patient.answer(part, LOST)
    for number, each in enumerate(rest):
        patient.answer(each, Accepted(str(number)))
    facts = patient.commit()
    assert {each.key for each in facts.queueings} == {long.key, other.key}
    assert all(each.attempted and each.due == patient.clock.now() + WAIT_MS for each in facts.queueings)


async def test_a_message_waits_once_however_many_others_are_in_doubt(
    patient: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each that waits again makes another forgotten, which then waits again: none would ever be sent."""
    monkeypatch.setattr(doubts, "MOST_UNKNOWN", 2)
    messages = [patient.message(destination=f"49170000000{n}") for n in range(4)]
    for each in messages:
        (part,) = patient.sent(each)
        patient.answer(part, LOST)
    patient.commit()
    patient.clock.pass_ms(WAIT_MS)
    rows = [Queued(each, attempted=True) for each in messages]
    await patient.dispatcher.claims.refill(patient.lane, QueueStore(*rows).queue, NODE)
    facts = patient.commit()
    assert {key for _, key in facts.sending} == {each.key for each in messages}
    assert facts.queueings == []


async def test_pauses_of_forgotten_messages_do_not_grow_for_ever(
    patient: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doubts, "MOST_UNKNOWN", 2)
    monkeypatch.setattr(doubts, "MOST_PAUSES", 3)
    for n in range(9):
        (part,) = patient.sent(patient.message(destination=f"49170000000{n}"))
        patient.answer(part, LOST)
        patient.commit()
    assert len(patient.dispatcher.outcomes.unknown.pauses) == 3
