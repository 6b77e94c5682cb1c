"""The order of messages to one recipient: kept, save past one that the operator itself put off."""

import pytest

from heliograph.app.dispatch.lane_window import TROUBLES
from heliograph.app.dispatch.outcomes import UNANSWERED_TRIES
from heliograph.app.ports import Accepted, Deferred, Outcome, Unknown
from tests.support.use_case_fakes import LONG
from tests.unit.app.test_dispatch import Desk

THROTTLED = Deferred(0x58, 0.2, throttled=True)
NOT_NOW = Deferred(0x08, 1.0)


@pytest.fixture
def desk() -> Desk:
    desk = Desk()
    desk.carrier.capacity = 3
    return desk


@pytest.mark.parametrize("outcome", [THROTTLED, Unknown("the link was lost")])
def test_what_must_go_again_goes_before_what_is_younger(desk: Desk, outcome: Deferred | Unknown) -> None:
    messages = [desk.message() for _ in range(5)]
    desk.commit(*messages)
    for part in desk.carrier.take():
        desk.answer(part, outcome)
    went: list[int] = []
    for _ in range(9):
        desk.clock.pass_ms(1_000)
        desk.commit()
        for part in desk.carrier.take():
            went.append(part.message.key)
            desk.answer(part, Accepted(str(part.message.key)))
    assert went == [each.key for each in messages]


def test_what_the_operator_puts_off_lets_others_pass(desk: Desk) -> None:
    first, second = desk.message(), desk.message()
    desk.commit(first)
    (part,) = desk.carrier.take()
    desk.answer(part, NOT_NOW)
    facts = desk.commit(second)
    assert [each.key for each in facts.queueings] == [first.key]
    assert desk.carrier.keys == [second.key]


@pytest.mark.parametrize(
    ("answers", "goes_on"),
    [
        ([NOT_NOW] * (TROUBLES - 1), True),
        ([NOT_NOW] * TROUBLES, False),
        ([NOT_NOW] * (TROUBLES - 1) + [Accepted("1"), NOT_NOW], True),
        ([NOT_NOW] * (TROUBLES - 1) + [Accepted("1"), THROTTLED, NOT_NOW], True),
        ([Accepted("1")] + [NOT_NOW] * TROUBLES, False),
    ],
)
def test_an_operator_is_left_alone_when_it_puts_off_several_and_takes_none(
    desk: Desk, answers: list[Outcome], goes_on: bool
) -> None:
    """Between two commits as well as over several: at a thousand a second each commit has some that are put off."""
    desk.carrier.capacity = 10
    desk.commit(*(desk.message() for _ in answers))
    for part, answer in zip(desk.carrier.take(), answers, strict=True):
        desk.answer(part, answer)
    if THROTTLED in answers:
        desk.clock.pass_ms(200)
    desk.commit(desk.message())
    assert bool(desk.carrier.keys) is goes_on


def test_a_long_message_is_not_torn_apart_by_a_part_that_is_put_off(desk: Desk) -> None:
    long, other = desk.message(LONG), desk.message()
    desk.commit(long)
    one, two, three = desk.carrier.take()
    desk.answer(two, NOT_NOW)
    desk.commit(other)
    assert [(part.message.key, part.segment) for part in desk.carrier.take()] == [(long.key, 1)]
    desk.answer(one, Accepted("1"))
    desk.answer(three, Accepted("3"))


def test_repeats_are_bounded(desk: Desk) -> None:
    (part,) = desk.sent(desk.message())
    tries = 1
    desk.answer(part, Unknown("no answer"))
    while desk.commit() and desk.carrier.parts:
        tries += 1
        desk.answer(desk.carrier.take()[0], Unknown("no answer"))
    assert tries == UNANSWERED_TRIES
