"""Areas: beginnings of numbers that tell the country."""

from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.numbers.country import country_and_area_of, country_of


@given(st.text("0123456789", max_size=6), st.text("0123456789", max_size=8))
def test_an_area_is_of_one_country(number: str, rest: str) -> None:
    country, area = country_and_area_of(number)
    assert number.startswith(area)
    if area:
        assert country_of(area + rest) == country
