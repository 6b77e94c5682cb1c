import pytest

from heliograph.domain.receipt import (
    Delivery,
    err_of_status,
    is_final,
    normalise_err,
    parse_state,
    worst,
)


@pytest.mark.parametrize(
    ("words", "state"),
    [
        ("DELIVRD delivrd Delivrd DELIVERED Delivered", Delivery.DELIVRD),
        ("EXPIRED expired", Delivery.EXPIRED),
        ("DELETED", Delivery.DELETED),
        ("UNDELIV UNDELIVERABLE undelivered FAILED failed SKIPPED", Delivery.UNDELIV),
        ("UNKNOWN NONSENSE ŁÓDŹ 42", Delivery.UNKNOWN),
        ("REJECTD REJECTED rejected", Delivery.REJECTD),
        ("ENROUTE enroute BUFFERED SCHEDULED", Delivery.ENROUTE),
        ("ACCEPTD ACCEPTED accepted", Delivery.ACCEPTD),
    ],
)
def test_spellings_of_states(words: str, state: Delivery) -> None:
    assert {parse_state(word) for word in words.split()} == {state}


def test_blanks_around_a_state_do_not_matter_and_an_empty_one_is_unknown() -> None:
    assert parse_state(" DELIVRD ") is Delivery.DELIVRD
    assert parse_state("") is Delivery.UNKNOWN


def test_two_states_are_not_final() -> None:
    assert {state for state in Delivery if not is_final(state)} == {Delivery.ENROUTE, Delivery.ACCEPTD}


@pytest.mark.parametrize(
    ("names", "state"),
    [
        ("DELIVRD", "DELIVRD"),
        ("DELIVRD UNKNOWN", "UNKNOWN"),
        ("UNKNOWN DELETED", "DELETED"),
        ("DELETED EXPIRED", "EXPIRED"),
        ("EXPIRED UNDELIV", "UNDELIV"),
        ("UNDELIV REJECTD DELIVRD", "REJECTD"),
        ("REJECTD ACCEPTD", "ACCEPTD"),
        ("ACCEPTD ENROUTE REJECTD", "ENROUTE"),
    ],
)
def test_the_worst_of_several(names: str, state: str) -> None:
    states = [Delivery[name] for name in names.split()]
    assert worst(states) is worst(reversed(states)) is Delivery[state]


def test_no_part_has_no_state() -> None:
    with pytest.raises(ValueError):
        worst([])


@pytest.mark.parametrize(
    ("text", "err"),
    [
        ("0", "000"),
        ("5", "005"),
        ("011", "011"),
        ("123", "123"),
        ("1234", "234"),
        ("000000401", "401"),
        (" 7 ", "007"),
    ],
)
@pytest.mark.parametrize("state", Delivery)
def test_the_operators_own_code_in_three_digits(text: str, err: str, state: Delivery) -> None:
    assert normalise_err(text, state) == err


@pytest.mark.parametrize("text", [None, "", "  ", "0x0B", "E12", "-1", "1.5", "²", "٤٠١", "1 2"])
def test_without_a_code_of_digits(text: str | None) -> None:
    assert normalise_err(text, Delivery.DELIVRD) == "000"
    assert {normalise_err(text, state) for state in Delivery if state is not Delivery.DELIVRD} == {"001"}


@pytest.mark.parametrize(
    ("status", "err"),
    [(0x0B, "011"), (0x58, "088"), (0x45, "069"), (0x400, "024"), (0xFF, "255"), (0xFFFFFFFF, "295")],
)
def test_codes_of_command_status(status: int, err: str) -> None:
    assert err_of_status(status) == err
