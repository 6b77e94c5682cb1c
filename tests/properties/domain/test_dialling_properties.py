"""National numbers: whatever an operator writes, one phone is one number, and nothing else is changed."""

from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.numbers.dialling import LEAST_NATIONAL_DIGITS, NationalNumbers
from heliograph.domain.numbers.phone import is_destination

COUNTRIES = st.from_regex(r"[1-9][0-9]{0,2}", fullmatch=True)
TRUNKS = st.sampled_from(["", "0", "1", "8", "01", "06"])
WITHIN = st.from_regex(r"[1-9][0-9]{5,11}", fullmatch=True)
ADDRESSES = st.one_of(st.text(max_size=20), st.text("0123456789+", max_size=20))


@given(COUNTRIES, WITHIN, st.booleans())
def test_one_phone_is_one_number_however_it_is_written(country: str, within: str, is_national: bool) -> None:
    numbers = NationalNumbers(country)
    phone = country + within
    assert numbers.international(within, is_national=True) == phone
    assert {numbers.international(form + phone, is_national=is_national) for form in ("+", "00", "+00")} == {phone}
    assert numbers.international("0" + within, is_national=is_national) == phone
    assert numbers.international(phone, is_national=False) == phone


@given(COUNTRIES, TRUNKS, ADDRESSES)
def test_a_number_once_read_is_read_the_same_again(country: str, trunk: str, address: str) -> None:
    numbers = NationalNumbers(country, trunk)
    for is_national in (False, True):
        number = numbers.international(address, is_national=is_national)
        if number is not None and is_destination(number):
            assert numbers.international(number, is_national=False) == number


@given(COUNTRIES, TRUNKS, ADDRESSES, st.booleans())
def test_what_is_no_national_number_stays_as_it_is(country: str, trunk: str, address: str, is_national: bool) -> None:
    digits = address.removeprefix("+")
    number = NationalNumbers(country, trunk).international(address, is_national=is_national)
    is_short = len(digits) < LEAST_NATIONAL_DIGITS or not (digits.isascii() and digits.isdigit())
    says_so = digits.startswith("0") or (is_national and digits == address)
    if is_short or not says_so:
        assert number == digits
    elif number is not None and number != digits:
        assert is_destination(number)


@given(ADDRESSES, st.booleans())
def test_without_a_country_no_number_is_made_up(address: str, is_national: bool) -> None:
    digits = address.removeprefix("+")
    number = NationalNumbers().international(address, is_national=is_national)
    assert number in (None, digits, digits.removeprefix("00"))
