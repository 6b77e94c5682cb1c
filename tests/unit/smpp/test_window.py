import pytest

from heliograph.smpp import constants as c
from heliograph.smpp.error import WindowFullError
from heliograph.smpp.window import Window


def test_the_limit_holds_and_an_answer_gives_back_a_place() -> None:
    window = Window(2, 10.0)
    first = window.open(c.SUBMIT_SM, "a", 0.0)
    window.open(c.SUBMIT_SM, "b", 0.0)

    with pytest.raises(WindowFullError):
        window.open(c.SUBMIT_SM, "c", 0.0)

    assert window.room == 0
    assert window.close(first, c.SUBMIT_SM_RESP) == (c.SUBMIT_SM, "a", 10.0)
    assert window.close(first, c.SUBMIT_SM_RESP) is None
    assert window.open(c.SUBMIT_SM, "c", 0.0) == 3


def test_requests_of_the_link_need_no_room() -> None:
    window = Window(1, 10.0)
    window.open(c.SUBMIT_SM, "a", 0.0)

    sequence = window.open_link_request(c.ENQUIRE_LINK, 5.0)

    assert window.in_flight == 1
    assert window.next_deadline() == 5.0
    assert window.close(sequence, c.ENQUIRE_LINK_RESP) is not None


def test_only_a_response_of_the_right_kind_answers() -> None:
    window = Window(1, 10.0)
    sequence = window.open(c.SUBMIT_SM, "a", 0.0)

    assert window.close(sequence, c.DELIVER_SM_RESP) is None
    assert window.close(sequence + 1, c.SUBMIT_SM_RESP) is None
    assert window.close(sequence, c.GENERIC_NACK) is not None


def test_sequence_numbers_start_again_and_pass_over_those_under_way() -> None:
    window = Window(10, 10.0, first_sequence=c.MAX_SEQUENCE - 1)
    link = window.open_link_request(c.ENQUIRE_LINK, 5.0)

    given = [window.open(c.SUBMIT_SM, None, 0.0) for _ in range(3)]

    assert [link, *given] == [c.MAX_SEQUENCE - 1, c.MAX_SEQUENCE, 1, 2]
    beside = Window(10, 10.0, first_sequence=c.MAX_SEQUENCE)
    beside.open(c.SUBMIT_SM, None, 0.0)
    assert beside.open(c.SUBMIT_SM, None, 0.0) == 1
    beside._next = c.MAX_SEQUENCE
    assert beside.open(c.SUBMIT_SM, None, 0.0) == 2
    beside._next = 1
    assert beside.take_sequence() == 3


def test_what_is_due_goes_oldest_first_and_once() -> None:
    window = Window(10, 10.0)
    window.open(c.SUBMIT_SM, "a", 0.0)
    answered = window.open(c.SUBMIT_SM, "b", 1.0)
    window.open(c.SUBMIT_SM, "c", 2.0)
    window.open(c.SUBMIT_SM, "d", 3.0)
    window.close(answered, c.SUBMIT_SM_RESP)

    assert window.next_deadline() == 10.0
    assert [pending[1] for _, pending in window.expire(12.0)] == ["a", "c"]
    assert window.expire(12.0) == []
    assert window.next_deadline() == 13.0
    assert [pending[1] for pending in window.drain()] == ["d"]
    assert window.next_deadline() is None
    assert window.in_flight == 0


def test_one_request_that_is_never_answered_does_not_make_the_queue_grow() -> None:
    window = Window(2, 1e9)
    window.open(c.SUBMIT_SM, "stuck", 0.0)

    for _ in range(10_000):
        window.close(window.open(c.SUBMIT_SM, None, 0.0), c.SUBMIT_SM_RESP)

    assert len(window._order) <= 70
    assert [pending[1] for _, pending in window.expire(2e9)] == ["stuck"]


def test_a_smaller_limit_takes_back_nothing() -> None:
    window = Window(2, 10.0)
    window.open(c.SUBMIT_SM, None, 0.0)
    window.open(c.SUBMIT_SM, None, 0.0)

    window.limit = 1

    assert (window.in_flight, window.room) == (2, 0)
