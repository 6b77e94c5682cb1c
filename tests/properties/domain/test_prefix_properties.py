from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.pricing import PriceTable
from heliograph.domain.routing import Route, RouteTable

PREFIXES = st.text("123", max_size=4)
NUMBERS = st.text("123", max_size=7)
ROUTES = st.lists(st.builds(Route, PREFIXES, st.integers(1, 5), st.integers(-2, 2)), max_size=20)


@given(st.dictionaries(PREFIXES, st.integers(0, 10**6)), NUMBERS)
def test_a_price_is_that_of_the_longest_prefix(prices: dict[str, int], number: str) -> None:
    fitting = [prefix for prefix in prices if number.startswith(prefix)]
    expected = prices[max(fitting, key=len)] if fitting else None
    assert PriceTable(prices.items()).price(number) == expected


@given(ROUTES, NUMBERS)
def test_a_route_is_found_by_prefix_priority_and_connector(routes: list[Route], number: str) -> None:
    best = max((len(route.prefix) for route in routes if number.startswith(route.prefix)), default=None)
    fitting = [route for route in routes if number.startswith(route.prefix) and len(route.prefix) == best]
    ranked = sorted((-route.priority, route.connector) for route in fitting)
    assert RouteTable(reversed(routes)).find(number) == (ranked[0][1] if ranked else None)
