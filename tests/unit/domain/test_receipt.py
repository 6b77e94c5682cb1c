import pytest

from heliograph.domain.message.receipt import (
    Delivery,
    code_of_status,
    err_of,
    in_words,
    is_final,
    is_listed,
    own_code,
    parse_state,
    worst,
)
from tests.support.cases import for_each


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


@for_each(
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
@for_each("state", Delivery)
def test_the_operators_own_code_in_three_digits(text: str, err: str, state: Delivery) -> None:
    assert err_of(own_code(text), state) == err


@pytest.mark.parametrize("text", [None, "", "  ", "0x0B", "E12", "-1", "1.5", "²", "٤٠١", "1 2"])
def test_without_a_code_of_digits(text: str | None) -> None:
    assert err_of(own_code(text), Delivery.DELIVRD) == "000"
    assert {err_of(own_code(text), state) for state in Delivery if state is not Delivery.DELIVRD} == {"001"}


@pytest.mark.parametrize(
    ("status", "err"),
    [(0x0B, "011"), (0x58, "088"), (0x45, "069"), (0x400, "024"), (0xFF, "255"), (0xFFFFFFFF, "295")],
)
def test_codes_of_command_status(status: int, err: str) -> None:
    assert err_of(code_of_status(status), Delivery.REJECTD) == err


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (None, ""),
        ("", ""),
        (" 0x22 ", "0x22"),
        ("ABSENT", "ABSENT"),
        ("007\0", "007"),
        ("a\r\nb", "a??b"),
        ("café", "caf?"),
        ("x" * 40, "x" * 32),
    ],
)
def test_an_operators_own_code_is_kept_as_it_wrote_it(given: str | None, kept: str) -> None:
    assert own_code(given) == kept


@pytest.mark.parametrize(
    ("state", "code", "words"),
    [
        (Delivery.DELIVRD, "", "DELIVRD 000"),
        (Delivery.DELIVRD, "000", "DELIVRD 000"),
        (Delivery.UNDELIV, "", "UNDELIV 001, no operator's code"),
        (Delivery.UNDELIV, "001", "UNDELIV 001"),
        (Delivery.UNDELIV, "1", "UNDELIV 001"),
        (Delivery.UNDELIV, "0x22", "UNDELIV 001, the operator's code 0x22"),
        (Delivery.UNDELIV, "ABSENT", "UNDELIV 001, the operator's code ABSENT"),
        (Delivery.REJECTD, "1073", "REJECTD 073, the operator's code 1073"),
    ],
)
def test_what_is_told_and_what_the_operator_said_are_two_things(state: Delivery, code: str, words: str) -> None:
    assert in_words(state, code) == words


@pytest.mark.parametrize(
    ("state", "code", "listed"),
    [
        (Delivery.UNDELIV, "11", True), (Delivery.UNDELIV, "0011", True), (Delivery.UNDELIV, "012", False),
        (Delivery.UNDELIV, "", False), (Delivery.EXPIRED, "11", False), (Delivery.EXPIRED, "absent", True),
        (Delivery.REJECTD, "", True), (Delivery.REJECTD, "011", True),
    ],
)  # fmt: skip
def test_a_list_of_states_and_codes(state: Delivery, code: str, listed: bool) -> None:
    wanted = {(Delivery.UNDELIV, "011"), (Delivery.REJECTD, ""), (None, "ABSENT")}
    assert is_listed(state, code, wanted) is listed
