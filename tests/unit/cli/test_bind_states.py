"""What `connector list` and `connector show` make of what gateways said of their links."""

from dataclasses import replace
from typing import Any

import pytest

from heliograph.app.configuration import OFF
from heliograph.app.ports import ConnectorReport, ConnectorState
from heliograph.app.ports.carrier_state import FRESH_MS, BindCounters, BindState
from heliograph.app.resources.connectors import bind_state_of
from heliograph.cli.live.bind_states import view
from tests.support.connectors import smpp_connector

NOW = 1_800_000_000_000
CONNECTOR = smpp_connector(3, "op1", "smsc.example.net", 2775, "acme", "secret")


def bind(number: int = 1, **fields: Any) -> BindState:
    said = BindState(
        number, "transceiver", "bound", "smsc.example.net:2775", NOW - 60_000, in_flight=3, window=10, answer_ms=12.5
    )
    return replace(said, **fields)


def said(ago_ms: int = 2_000, node: int = 1, **fields: Any) -> ConnectorReport:
    state = ConnectorState(
        summary="It is bound.", bound=1, capacity=10, in_flight=3, binds=[bind()], rate=100.0, pace=100.0,
        window_used=4, waiting=7, counters=BindCounters(submitted=90, late_answers=1),
    )  # fmt: skip
    return ConnectorReport(CONNECTOR.id, node, replace(state, **fields), NOW - ago_ms)


NOTHING = ConnectorReport(CONNECTOR.id, 1, ConnectorState(), NOW)
"""What is made of words that cannot be read."""


def text(*states: ConnectorReport) -> str:
    return "\n".join(view("system_id acme", states, NOW))


@pytest.mark.parametrize(
    ("states", "word"),
    [
        ([], "no gateway"),
        ([said()], "bound"),
        ([said(FRESH_MS + 1)], "no gateway"),
        ([said(bound=1, binds=[bind(), bind(2)])], "1 of 2 bound"),
        ([said(), said(node=2, bound=0)], "1 of 2 bound"),
        ([said(silent=1)], "silent"),
        ([said(bound=2, binds=[bind(), bind(2)], silent=1)], "bound, 1 silent"),
        ([said(bound=1, binds=[bind(), bind(2)], silent=1)], "1 of 2 bound, 1 silent"),
        ([said(), said(node=2, silent=1)], "bound, 1 silent"),
        ([said(bound=0)], "not bound"),
        ([said(bound=0, credentials_refused=True)], "wrong credentials"),
        ([NOTHING], "not bound"),
        ([ConnectorReport(4, 1, said().state, NOW)], "no gateway"),
    ],
)
def test_a_connector_stands_so(states: list[ConnectorReport], word: str) -> None:
    assert bind_state_of(CONNECTOR, states, NOW) == word


def test_a_disabled_one_is_disabled_whatever_was_said() -> None:
    assert bind_state_of(smpp_connector(3, "op1", "h", 1, "a", "b", state=OFF), [said()], NOW) == "disabled"


def test_a_bound_one_tells_window_rate_and_answers() -> None:
    shown = text(said())
    assert "as reported 2 s ago" in shown
    assert "It is bound." in shown
    assert "window    4 of 10 in use" in shown
    assert "rate      at most 100 a second\n" in shown
    assert "submitted 90, late answers 1\n" in shown
    assert "bound since 2027-01-15T07:59:00Z, 3 of 10 in flight, answers after 12.5 ms" in shown


def test_one_that_cannot_send_says_why_messages_take_another() -> None:
    assert "routes" not in text(said())
    shown = text(said(obstacle="failing most messages"))
    assert "routes    messages take another connector where they can: this one is failing most messages\n" in shown


def test_a_throttled_one_tells_its_pace() -> None:
    shown = text(said(pace=47.3, pace_learnt=NOW - 62_000, throttles=12))
    assert "at most 100 a second; 47.3 a second now, learnt from the operator 1 min ago; throttled 12 " in shown
    growing = text(said(rate=0.0, pace=340.0))
    assert "rate      no limit is set; 340 a second now, while the operator's limit is being learnt\n" in growing
    noisy = text(said(put_off=0.104))
    assert "10% of the parts are throttled at any pace, and sent again" in noisy
    assert "rate      no limit is set\n" in text(said(rate=0.0, pace=None))


def test_questions_are_counted_and_say_why_there_are_no_more() -> None:
    assert "queries" not in text(said())
    assert "queries   query_sm sent 7 times, 5 states received\n" in text(said(asked=7, told=5))
    off = text(said(asked=1, queries_off="ESME_RINVCMDID"))
    assert "0 states received; off, because the operator responded with ESME_RINVCMDID; on again after a change" in off


def test_a_rate_of_this_time_of_day_says_until_when() -> None:
    until = NOW + 3_600_000
    assert "rate      at most 100 a second until 2027-01-15T09:00:00Z\n" in text(said(rate_until=until))
    assert "rate      no limit is set until 2027-01-15T09:00:00Z\n" in text(said(rate=0.0, pace=None, rate_until=until))
    off = said(rate=0.0, off=True, pace=30.0, throttles=3, rate_until=until)
    assert "rate      nothing is sent until 2027-01-15T09:00:00Z\n" in text(off)


def test_wrong_credentials_say_what_is_wrong_and_when_it_is_tried_again() -> None:
    error = "the operator says that the password is wrong (ESME_RINVPASWD); set it with `heliograph connector set`"
    waiting = bind(
        state="waiting", reconnect_in=61.0, last_error=error, last_error_at=NOW - 5_000, in_flight=0, answer_ms=None
    )
    shown = text(said(bound=0, binds=[waiting], credentials_refused=True, credentials_retry_in=58.0))
    assert "the operator refuses system_id acme or its password; tried again in 56 s" in shown
    assert "next try in 59 s" in shown
    assert f"last error, 5 s ago: {error}" in shown
    assert "secret" not in shown


def test_an_error_that_is_over_is_told_as_what_was_before() -> None:
    shown = text(said(binds=[bind(last_error="the operator unbound the link", last_error_at=NOW - 11_100_000)]))
    assert "before that, 3 h 5 min ago: the operator unbound the link" in shown
    assert "error" not in shown.replace("protocol errors", "")


def test_what_is_old_or_was_never_said_is_called_so() -> None:
    assert "no gateway is running now" in text(said(FRESH_MS))
    assert "No gateway has used this connector yet." in text()
    assert "(node 2)" in text(said(), said(node=2))
    assert "unknown" in text(NOTHING)
