from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import State
from heliograph.domain.message.status import STATE_OF, MessageStatus, status_of


def test_a_message_that_left_is_as_far_as_its_delivery() -> None:
    assert status_of(State.SENT, None, submitted=False) is MessageStatus.PENDING
    assert status_of(State.SENT, None, submitted=True) is MessageStatus.SUBMITTED
    for submitted in (False, True):
        assert status_of(State.SENT, Delivery.DELIVRD, submitted=submitted) is MessageStatus.DELIVERED
        others = set(Delivery) - {Delivery.DELIVRD}
        assert {status_of(State.SENT, each, submitted=submitted) for each in others} == {MessageStatus.UNDELIVERED}


def test_any_other_is_as_far_as_its_state() -> None:
    for state in set(State) - {State.SENT}:
        statuses = {
            status_of(state, delivery, submitted=submitted)
            for delivery in (None, *Delivery)
            for submitted in (False, True)
        }
        assert statuses == {MessageStatus(state.label.lower())}


def test_every_status_is_some_messages() -> None:
    assert STATE_OF.keys() == set(MessageStatus) - {MessageStatus.HELD}


def test_a_held_message_is_held_whatever_its_state() -> None:
    for state in (State.SENT, State.SCHEDULED):
        assert status_of(state, None, submitted=False, held=True) is MessageStatus.HELD
