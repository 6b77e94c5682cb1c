from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.numbers.phone import destination_problem, is_destination, mask, sender_problem

NUMBERS = st.from_regex(r"[1-9][0-9]{6,14}", fullmatch=True)
NEAR = st.text("0123456789+-() aZ²٣\n\0", max_size=20)
ASCII_DIGITS = set("0123456789")


@given(st.one_of(st.text(max_size=20), NEAR, NUMBERS))
def test_a_destination_is_good_or_has_a_problem(text: str) -> None:
    good = 7 <= len(text) <= 15 and set(text) <= ASCII_DIGITS and text[0] != "0"
    assert is_destination(text) is good
    assert (destination_problem(text) is None) is good


@given(st.one_of(st.text(max_size=20), NEAR, NUMBERS), st.booleans())
def test_a_sender_is_good_or_has_a_problem(text: str, msisdn_allowed: bool) -> None:
    alphanumeric = 3 <= len(text) <= 11 and text.isascii() and text.isalnum()
    msisdn = 1 <= len(text) <= 15 and set(text) <= ASCII_DIGITS
    good = alphanumeric or (msisdn_allowed and msisdn)
    assert (sender_problem(text, msisdn_allowed) is None) is good


@given(NUMBERS)
def test_a_mask_hides_two_digits_or_more(number: str) -> None:
    masked = mask(number)
    assert len(masked) == len(number)
    assert masked.count("*") >= 2
    assert all(shown in ("*", digit) for shown, digit in zip(masked, number, strict=True))
