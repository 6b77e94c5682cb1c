"""What a node said of a connector, as the store keeps it."""

from heliograph.adapters.store.shared.rows import report_of, report_values
from heliograph.app.ports import ConnectorReport, ConnectorState
from heliograph.app.ports.carrier_state import BindCounters, BindState

NOW = 1_800_000_000_000
FULL = ConnectorState(
    connector="op1",
    summary="1 of 2 binds are up: the password is wrong.",
    credentials_refused=True,
    credentials_retry_in=58.5,
    bound=1,
    counters=BindCounters(submitted=90, late_answers=1),
    binds=[BindState(1, "transmitter", "bound", answer_ms=12.5), BindState(2, "receiver", "waiting", last_error="no")],
    pace=47.3,
    oldest=NOW - 5,
)


def test_it_comes_back_as_it_was_said() -> None:
    report = ConnectorReport(3, 7, FULL, NOW)
    assert report_of(tuple(report_values(report).values())) == report


def test_a_node_of_another_version_may_leave_fields_out_and_have_others() -> None:
    text = '{"summary":"It is bound.","bound":1,"weather":"fair","binds":[{"bind":2,"mood":4}]}'
    state = ConnectorState(summary="It is bound.", bound=1, binds=[BindState(2)])
    assert report_of((3, 7, text, NOW)) == ConnectorReport(3, 7, state, NOW)


def test_nothing_is_known_of_what_cannot_be_read() -> None:
    for text in ("nonsense", "[]", '{"bound":"many"}'):
        assert report_of((3, 7, text, NOW)) == ConnectorReport(3, 7, ConnectorState(), NOW)
        assert ConnectorState().summary == "unknown"
