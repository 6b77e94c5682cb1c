"""A message's history, as people and as customers are told it."""

import pytest

from heliograph.app.facts import CallbackEnd
from heliograph.app.records import CallbackView, MessageHold, MessageRecord
from heliograph.app.resources.explain import explain
from heliograph.app.resources.history import history
from heliograph.domain.limits.gate import OF_ADMINISTRATOR, OF_SUSPENDED
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import State
from tests.support.store import SECOND, START
from tests.support.use_case_fakes import Messages, SetClock

UNREACHED = "1 try failed (the receiver could not be reached), next at 2023-11-14T22:13:25Z"


def record(problem: str) -> MessageRecord:
    message = Messages(SetClock())()
    view = CallbackView(
        message.key, message.tail, 1, "https://customer.example/r", 1, problem, START, START + 5 * SECOND
    )
    return MessageRecord(message, [], [], [], None, [], None, view)


@pytest.mark.parametrize(
    "problem",
    [
        "connection refused",
        "no connection in time",
        "no answer within 10 s",
        "its name has no address",
        "its address is refused: private",
        "its certificate is not trusted: self-signed certificate",
        "TLS failed (wrong version number)",
        "its answer is not HTTP",
        "it closed the connection without an answer",
    ],
)
def test_customers_are_not_told_why_a_receiver_could_not_be_reached(problem: str) -> None:
    (told,) = [event for event in history(record(problem), for_customer=True) if event.event == "CallbackOwed"]
    assert told.detail == UNREACHED
    (shown,) = [event for event in history(record(problem)) if event.event == "CallbackOwed"]
    assert problem in shown.detail, "who looks after the gateway is told"


@pytest.mark.parametrize("for_customer", [False, True])
def test_the_last_cause_of_a_callback_that_failed_is_told(for_customer: bool) -> None:
    found = record("connection refused")
    assert found.callback is not None
    found.callback.end, found.callback.attempts, found.callback.due = CallbackEnd.FAILED, 12, None
    (told,) = [event for event in history(found, for_customer=for_customer) if event.event == "Callback"]
    cause = "the receiver could not be reached" if for_customer else "connection refused"
    assert told.detail == f"failed after 12 attempts, last cause: {cause}"


def test_a_message_that_expired_while_held_says_so() -> None:
    message = Messages(SetClock())()
    hold, final = MessageHold(START, None, "49170"), (Delivery.EXPIRED, "", START + SECOND)
    expired = MessageRecord(message, [], [], [], final, [], None, None, holds=[hold])
    (held,) = [each.detail for each in history(expired) if each.event == "Held"]
    assert held == "by the pumping guard, with the account's messages to 49170, until its validity ended"
    (held,) = [each.detail for each in history(expired, for_customer=True) if each.event == "Held"]
    assert held == "for review, until its validity ended"
    message.state = State.FAILED
    told = "It was not sent: its validity ended while it was held by the pumping guard. It was refunded."
    assert explain(expired, {}, str) == told


def test_holds_are_told_with_their_reason_to_administrators_alone() -> None:
    message = Messages(SetClock())()
    holds = [
        MessageHold(START, START + SECOND, OF_SUSPENDED),
        MessageHold(START + 2 * SECOND, None, "49170"),
        MessageHold(START + 3 * SECOND, None, OF_ADMINISTRATOR),
    ]
    held = MessageRecord(message, [], [], [], None, [], None, None, holds=holds)
    for_administrators = [each.detail for each in history(held) if each.event == "Held"]
    assert for_administrators == [
        "because the account is suspended",
        "by the pumping guard, with the account's messages to 49170",
        "by an administrator",
    ]
    told = [(each.at - START, each.event, each.detail) for each in history(held, for_customer=True)]
    told = [each for each in told if each[1] in ("Held", "Released")]
    assert told == [
        (0, "Held", "for review"),
        (SECOND, "Released", ""),
        (2 * SECOND, "Held", "for review"),
        (3 * SECOND, "Held", "for review"),
    ]


def test_customers_are_told_what_their_receiver_answered() -> None:
    told = [event.detail for event in history(record("HTTP 503"), for_customer=True)]
    assert any("(HTTP 503)" in detail for detail in told)
