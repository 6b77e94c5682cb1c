from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.numbers.phone import PrefixTable

PREFIXES = st.text("123", max_size=4)
NUMBERS = st.text("123", max_size=7)


@given(st.dictionaries(PREFIXES, st.integers(0, 10**6)), NUMBERS)
def test_a_price_is_that_of_the_longest_prefix(prices: dict[str, int], number: str) -> None:
    fitting = [prefix for prefix in prices if number.startswith(prefix)]
    expected = prices[max(fitting, key=len)] if fitting else None
    table = PrefixTable(prices)
    assert table.find(number) == expected
    assert table.longest(number) == (max(fitting, key=len) if fitting else None)
