from itertools import product

import pytest

from heliograph.domain.message import (
    KIND_NAMES,
    KIND_WORDS,
    TABLE,
    IllegalStep,
    Kind,
    State,
    Trigger,
    parse_kind,
    step,
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


@pytest.mark.parametrize(
    ("state", "trigger", "after"),
    [
        (State.SCHEDULED, Trigger.RESCHEDULE, State.SCHEDULED),
        (State.SCHEDULED, Trigger.CANCEL, State.CANCELLED),
        (State.SCHEDULED, Trigger.DUE, State.SENT),
        (State.SENT, Trigger.FAIL, State.FAILED),
    ],
)
def test_legal_steps(state: State, trigger: Trigger, after: State) -> None:
    assert step(state, trigger) is after


@pytest.mark.parametrize(("state", "trigger"), [pair for pair in product(State, Trigger) if pair not in TABLE])
def test_every_other_step_raises(state: State, trigger: Trigger) -> None:
    with pytest.raises(IllegalStep, match=state.label) as caught:
        step(state, trigger)
    assert (caught.value.state, caught.value.trigger) == (state, trigger)


def test_cancelled_and_failed_are_ends() -> None:
    assert not {state for state, _ in TABLE} & {State.CANCELLED, State.FAILED}
