"""The sentence that says why a message is where it is."""

from dataclasses import replace
from typing import Any

import pytest

from heliograph.app.configuration import DRAIN, OFF, Tables
from heliograph.app.facts import NOT_SENT, Attempt, CallbackEnd, Message, Submission
from heliograph.app.ports import ConnectorReport, ConnectorState
from heliograph.app.ports.carrier_state import FRESH_MS
from heliograph.app.records import CallbackView, MessageRecord
from heliograph.app.resources.explain import BlockedReasons, explain
from heliograph.domain.message.ids import first_key_at
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import State
from tests.support.cases import for_each
from tests.support.connectors import smpp_connector

NAMES = {1: "op1", 2: "op2"}
NOW = 1_800_000_000_000


def trace(state: State = State.SENT, **fields: Any) -> MessageRecord:
    message = Message(
        account=1, destination="491701234567", sender="Us", kind=0, content=fields.pop("content", "Hi"),
        segments=fields.pop("segments", 1), price=fields.pop("price", 1), time=0, expires=9, state=state, connector=1,
        wants_receipt=fields.pop("wants_receipt", True), key=first_key_at(1), sealed=fields.pop("sealed", b""),
    )  # fmt: skip
    values: dict[str, Any] = {
        "message": message, "submissions": [], "attempts": [], "receipts": [], "final": None, "entries": [],
        "queued": None, "callback": None,
    }  # fmt: skip
    return MessageRecord(**(values | fields))


def taken(segment: int = 0, status: int = 0) -> Submission:
    return Submission(1, 7, segment, 1, "id", status, 1)


@for_each(
    ("given", "told"),
    [
        (trace(State.SCHEDULED), "It waits for its time."),
        (trace(State.CANCELLED), "It was cancelled before its time. It was refunded."),
        (
            trace(State.FAILED, submissions=[taken(status=0x0B)], final=(Delivery.REJECTD, "11", 1)),
            "The operator behind op1 refused it: ESME_11, 0xb. It was refunded.",
        ),
        (trace(State.FAILED, final=(Delivery.EXPIRED, "", 1)), "its validity ended while it waited"),
        (trace(State.FAILED, final=(Delivery.REJECTD, "", 2)), "there was no longer a route for it. It was refund"),
        (
            trace(State.FAILED, price=0, final=(Delivery.REJECTD, "", 1)),
            "It was not sent: its recipient had opted out when it was accepted. It was not charged.",
        ),
        (trace(State.FAILED, price=0, final=(Delivery.REJECTD, "", 2)), "there was no longer a route for it."),
        (
            trace(State.FAILED, content="", sealed=b"\xff", final=(Delivery.REJECTD, "", 2)),
            "its row in the store is damaged, so that its text cannot be opened (`heliograph audit --deep`). It was re",
        ),
        (
            trace(State.FAILED, submissions=[taken(status=NOT_SENT)], final=(Delivery.REJECTD, "", 1)),
            "cannot be written for the operator behind op1, because the connector's settings changed",
        ),
        (
            trace(
                State.FAILED,
                submissions=[replace(taken(status=NOT_SENT), connector=2)],
                final=(Delivery.REJECTD, "", 1),
            ),
            "cannot be written for the operator behind op2, which was to take it in place of op1. The log",
        ),
        (trace(submissions=[taken()], final=(Delivery.DELIVRD, "000", 1)), "The operator reported it as delivered."),
        (
            trace(submissions=[replace(taken(), connector=2)], final=(Delivery.DELIVRD, "000", 1)),
            "The operator reported it as delivered. It was sent over op2, in place of op1.",
        ),
        (trace(submissions=[taken()], final=(Delivery.UNDELIV, "003", 1)), "The operator's code is 003; ask the oper"),
        (
            trace(submissions=[taken()], final=(Delivery.UNDELIV, "", 1)),
            "The operator did not give a code (shown as 001",
        ),
        (trace(submissions=[taken()], final=(Delivery.UNDELIV, "001", 1)), "The operator's code is 001; ask the oper"),
        (
            trace(submissions=[taken()], final=(Delivery.UNDELIV, "ABSENT", 1)),
            "The operator's code is ABSENT; ask the operator for its meaning. The customer got 001, because",
        ),
        (trace(submissions=[taken()]), "It was submitted: the operator accepted it, and its receipt has not come yet."),
        (trace(submissions=[taken()], wants_receipt=False), "No receipt was requested"),
        (trace(submissions=[taken()], segments=2), "It waits for the connector op1"),
        (trace(queued=(2, 5, False)), "It waits for the connector op2; the connector's page"),
        (
            trace(queued=(2, 5, False), held="49170"),
            "It is held: the pumping guard suspects fraud in the account's messages",
        ),
        (
            trace(queued=(2, 5, False), attempts=[Attempt(1, 7, 0, 2, 88 + n, n) for n in range(3)]),
            "It was tried 3 times over op2, and is retried automatically. The last time the operator answered ESME_90",
        ),
        (
            trace(attempts=[Attempt(1, 7, 0, 1, -1, 5)]),
            "tried once over op1, and is retried automatically. The last ti",
        ),
        (trace(attempts=[Attempt(1, 7, 0, 1, -1, 5)]), "the operator did not answer."),
        (
            trace(queued=(2, 5, False), attempts=[Attempt(1, 7, 0, 1, 69, 5)]),
            "It goes to the connector op2 now, since the operator behind op1 refused it with ESME_69.",
        ),
        (trace(submissions=[taken()]), "look for it under another id among the unmatched receipts"),
    ],
)
def test_each_end_and_each_stop_on_the_way_has_a_sentence(given: MessageRecord, told: str) -> None:
    assert told in explain(given, NAMES, lambda status: f"ESME_{status}")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (trace(), "It waits for the connector op1, which is down."),
        (trace(queued=(2, 5, False)), "It waits for the connector op2; the connector's page"),
        (
            trace(submissions=[taken()], segments=3),
            "1 of its 3 parts are submitted; the rest waits for the connector op1",
        ),
        (
            trace(attempts=[Attempt(1, 7, 0, 1, 88, 5)]),
            "answered ESME_88, 0x58: not now. It waits for the connector op1, whi",
        ),
        (trace(submissions=[taken()]), "It was submitted: the operator accepted it, and its receipt has not come"),
        (
            trace(submissions=[taken()], wants_receipt=False),
            "No receipt was requested, so this is its last known state.",
        ),
    ],
)
def test_what_waits_for_a_connector_that_is_down_is_told_from_what_was_submitted(
    given: MessageRecord, told: str
) -> None:
    assert told in explain(given, NAMES, lambda status: f"ESME_{status}", {1: "which is down.", 2: ""}.__getitem__)


def report(at: int = NOW, node: int = 1, connector: int = 1, **fields: Any) -> ConnectorReport:
    return ConnectorReport(connector, node, ConnectorState(**fields), at)


DOWN: dict[str, Any] = {"bound": 0, "summary": "It is not bound: refused.", "down_since": NOW - 3_660_000}


@pytest.mark.parametrize(
    ("reports", "told"),
    [
        ([], "which no running gateway has."),
        ([report(NOW - FRESH_MS, **DOWN)], "which no running gateway has."),
        ([report(connector=2, **DOWN)], "which no running gateway has."),
        ([report(**DOWN)], "which has been down since 2027-01-15T06:59:00Z, for 1 h 1 min. It is not bound: refused."),
        ([report(), report(node=2, bound=1)], ""),
        (
            [report(**DOWN), report(node=2, bound=0, down_since=NOW - 60_000)],
            "down since 2027-01-15T07:59:00Z, for 1 min",
        ),
        ([report(bound=0, summary="It is old.")], "which is down. It is old."),
    ],
)
def test_an_obstacle_is_what_the_nodes_say_of_late(reports: list[ConnectorReport], told: str) -> None:
    tables = Tables(1, [smpp_connector(1, "op1", "h", 1, "a", "b")], [], [], [], {}, [])
    found = BlockedReasons(tables, reports, NOW).blocked_reason(1)
    assert told in found if told else found == ""


@pytest.mark.parametrize(("state", "told"), [(OFF, "which is paused: resume it."), (DRAIN, "which is draining:")])
def test_a_connector_that_is_not_on_is_an_obstacle_whatever_the_nodes_say(state: str, told: str) -> None:
    tables = Tables(1, [smpp_connector(1, "op1", "h", 1, "a", "b", state=state)], [], [], [], {}, [])
    assert BlockedReasons(tables, [report(bound=1)], NOW).blocked_reason(1).startswith(told)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"attempts": 0, "due": 9}, ""),
        (
            {"attempts": 1, "due": 9},
            " The customer has not got the callback yet: 1 try failed: refused. It is retried",
        ),
        (
            {"attempts": 3, "end": CallbackEnd.FAILED},
            " The customer did not get the callback: it failed after 3 t",
        ),
        (
            {"attempts": 1, "end": CallbackEnd.GONE},
            " The customer's receiver refused the callback for good: it responded with 41",
        ),
        ({"attempts": 1, "end": CallbackEnd.DELIVERED}, ""),
    ],
)
def test_a_customer_who_does_not_know_of_the_end_is_told_of(fields: dict[str, Any], told: str) -> None:
    callback = CallbackView(7, 1, 1, "http://customer.example/r", problem="refused", first=1, **fields)
    given = trace(submissions=[taken()], final=(Delivery.DELIVRD, "000", 1), callback=callback)
    said = explain(given, NAMES, hex).removeprefix("The operator reported it as delivered.")
    assert said.startswith(told) if told else said == ""


@pytest.mark.parametrize("state", [state for state in Delivery if state not in (Delivery.ENROUTE, Delivery.ACCEPTD)])
def test_every_final_state_is_explained(state: Delivery) -> None:
    assert explain(trace(submissions=[taken()], final=(state, "007", 1)), NAMES, hex).startswith("The operator ")


def test_a_message_of_a_suspended_account_says_so_unless_it_has_left() -> None:
    for given, says in (
        (trace(State.SCHEDULED), True),
        (trace(queued=(2, 5, False)), True),
        (trace(submissions=[taken()]), False),
        (trace(State.CANCELLED), False),
    ):
        told = explain(given, NAMES, lambda status: f"ESME_{status}", suspended=True)
        assert ("Its account is suspended" in told) is says, told
