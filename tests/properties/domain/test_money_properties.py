from decimal import Context, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.money.amounts import MICRO, format_credits, parse_credits

AMOUNTS = st.integers(-(10**18) + 1, 10**18 - 1)
EXACT = Context(prec=60)


@given(AMOUNTS)
def test_amounts_are_read_back(micro: int) -> None:
    assert parse_credits(format_credits(micro)) == micro


@given(AMOUNTS)
def test_text_is_exact_and_shortest(micro: int) -> None:
    text = format_credits(micro)
    assert Decimal(text) == EXACT.divide(Decimal(micro), Decimal(MICRO))
    assert "e" not in text.lower()
    assert "." not in text or text[-1] not in "0."


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**11), max_value=10**11))
def test_decimals_of_six_places_are_read_exactly(value: Decimal) -> None:
    assert parse_credits(f"{value:f}") == EXACT.multiply(value, Decimal(MICRO))


@given(st.lists(AMOUNTS, max_size=30))
def test_the_sum_of_texts_is_the_text_of_the_sum(amounts: list[int]) -> None:
    total = Decimal(0)
    for micro in amounts:
        total = EXACT.add(total, Decimal(format_credits(micro)))
    assert Decimal(format_credits(sum(amounts))) == total


@given(st.text(max_size=20))
def test_any_text_is_read_or_refused_with_a_sentence(text: str) -> None:
    try:
        micro = parse_credits(text)
    except ValueError as problem:
        assert len(str(problem)) > 20  # noqa: PT017
    else:
        assert Decimal(format_credits(micro)) == Decimal(text)


def test_prices_of_a_thousandth_never_lose_one() -> None:
    # The grid that goes wrong in half of its cells with binary floating point.
    for price in range(1, 200):
        unit = parse_credits(f"0.{price:03d}")
        for messages in range(1, 50):
            assert parse_credits(format_credits(unit * messages)) // unit == messages


@given(st.integers(7, 30), st.integers(0, 10**30))
def test_more_decimals_than_can_be_kept_are_refused(places: int, digits: int) -> None:
    with pytest.raises(ValueError, match="6 decimals"):
        parse_credits(f"0.{digits:0{places}d}"[: places + 2])
