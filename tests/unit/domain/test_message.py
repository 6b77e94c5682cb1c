import pytest

from heliograph.domain.message.state import (
    ENDED,
    KIND_NAMES,
    KIND_WORDS,
    LISTED,
    OPEN,
    TABLE,
    Kind,
    State,
    Trigger,
    after,
    before,
    parse_kind,
)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("text TEXT Text sms SMS plain normal longsms LongSMS 0", Kind.TEXT),
        ("unicode UNICODE 2", Kind.UNICODE),
        ("flash Flash 1", Kind.FLASH),
        ("binary BINARY", Kind.BINARY),
    ],
)
def test_kinds_and_their_aliases(words: str, kind: Kind) -> None:
    assert {parse_kind(word) for word in words.split()} == {kind}


@pytest.mark.parametrize("text", ["", "3", "00", " text", "text\n", "voice", "mms", "ﬂash", "ſms"])
def test_what_is_no_kind(text: str) -> None:
    assert parse_kind(text) is None


def test_every_kind_has_a_name_that_is_read_back() -> None:
    assert {parse_kind(name): kind for kind, name in KIND_NAMES.items()} == {kind: kind for kind in Kind}
    assert all(parse_kind(word) is not None for word in KIND_WORDS)


def test_the_stored_numbers_never_change() -> None:
    assert {kind.name: kind.value for kind in Kind} == {"TEXT": 0, "UNICODE": 1, "FLASH": 2, "BINARY": 3}
    assert {state.label: state.value for state in State} == {
        "Scheduled": 0,
        "Sent": 1,
        "Cancelled": 2,
        "Failed": 3,
    }


def test_every_legal_step() -> None:
    assert TABLE == {
        (State.SCHEDULED, Trigger.RESCHEDULE): State.SCHEDULED,
        (State.SCHEDULED, Trigger.CANCEL): State.CANCELLED,
        (State.SCHEDULED, Trigger.DUE): State.SENT,
        (State.SENT, Trigger.FAIL): State.FAILED,
        (State.SCHEDULED, Trigger.OPT_OUT): State.CANCELLED,
        (State.SENT, Trigger.OPT_OUT): State.CANCELLED,
    }


@pytest.mark.parametrize("trigger", [Trigger.CANCEL, Trigger.DUE, Trigger.FAIL, Trigger.OPT_OUT])
def test_a_step_that_stores_write_leaves_some_states_and_leads_to_one(trigger: Trigger) -> None:
    assert {(state, trigger): after(trigger) for state in before(trigger)} == {
        step: led for step, led in TABLE.items() if step[1] is trigger
    }


def test_open_and_ended_are_all_there_are() -> None:
    assert (OPEN, ENDED) == ((State.SCHEDULED, State.SENT), (State.CANCELLED, State.FAILED))
    assert set(LISTED) <= set(State)
