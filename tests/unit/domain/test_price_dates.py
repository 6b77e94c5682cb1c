"""Prices with dates: the rule, and single cases."""

from hypothesis import given
from hypothesis import strategies as st

from heliograph.app.configuration import Price
from heliograph.domain.money.pricing import in_force
from tests.support.memory_administration import next_change
from tests.support.memory_large_tables import place_of

_PRICES = st.lists(
    st.builds(
        lambda plan, target, price, since: Price(plan, target[0], price, 0, since, target[1]),
        st.sampled_from("ab"),
        st.sampled_from([("", ""), ("4", ""), ("49", ""), ("", "26201"), ("", "26202")]),
        st.integers(0, 9),
        st.integers(0, 9),
    ),
    unique_by=place_of,
)


@given(_PRICES, st.integers(-1, 10))
def test_of_each_prefix_in_a_plan_the_latest_that_has_begun_holds(prices: list[Price], at: int) -> None:
    holding = in_force(prices, at)
    places = [place_of(each)[:3] for each in holding]
    assert places == sorted({place_of(each)[:3] for each in prices if each.since <= at})
    for held in holding:
        others = [each.since for each in prices if place_of(each)[:3] == place_of(held)[:3]]
        assert held.since == max(since for since in others if since <= at)


@given(_PRICES, st.integers(-1, 10))
def test_nothing_changes_before_the_next_change(prices: list[Price], at: int) -> None:
    change = next_change(prices, at)
    end = 11 if change is None else change
    assert all(in_force(prices, moment) == in_force(prices, at) for moment in range(at, end))
    if change is not None:
        assert in_force(prices, change) != in_force(prices, at)


def test_no_prices_hold_and_change() -> None:
    assert in_force([], 5) == []
    assert next_change([], 5) is None
