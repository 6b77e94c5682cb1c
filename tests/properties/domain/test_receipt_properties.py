from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.message.receipt import (
    MAX_CODE_CHARS,
    Delivery,
    code_of_status,
    err_of,
    own_code,
    parse_state,
    worst,
)

STATES = st.sampled_from(Delivery)


@given(st.one_of(st.none(), st.text(max_size=12), st.from_regex(r"[0-9]{1,12}", fullmatch=True)), STATES)
def test_err_is_always_three_digits(text: str | None, state: Delivery) -> None:
    err = err_of(own_code(text), state)
    assert len(err) == 3
    assert err.isascii()
    assert err.isdigit()


@given(st.one_of(st.none(), st.text(max_size=60)))
def test_the_operators_own_code_fits_a_header(text: str | None) -> None:
    code = own_code(text)
    assert all(" " <= character <= "~" for character in code)
    assert len(code) <= MAX_CODE_CHARS
    assert code == code.strip()
    assert own_code(code) == code


@given(st.integers(0, 0xFFFFFFFF))
def test_err_of_a_status_is_its_last_three_digits(status: int) -> None:
    assert err_of(code_of_status(status), Delivery.REJECTD) == str(status).zfill(3)[-3:]


@given(st.text(max_size=20))
def test_every_state_is_taken(text: str) -> None:
    assert isinstance(parse_state(text), Delivery)


@given(STATES)
def test_names_are_read_back(state: Delivery) -> None:
    assert parse_state(state.name) is parse_state(state.name.lower()) is state


@given(st.lists(STATES, min_size=1), st.lists(STATES, min_size=1))
def test_the_worst_does_not_depend_on_order_or_grouping(one: list[Delivery], other: list[Delivery]) -> None:
    assert worst(one) in one
    assert worst(one + other) is worst([worst(other), worst(one)])
