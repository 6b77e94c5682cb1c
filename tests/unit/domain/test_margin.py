"""The least margin of a segment, as credits or as a part of the price."""

import pytest

from heliograph.domain.money.margin import MinMargin, read_min_margin


@pytest.mark.parametrize(
    ("text", "margin"),
    [
        ("0.001", MinMargin(1_000)),
        ("-0.50", MinMargin(-500_000)),
        ("10%", MinMargin(10_000_000, is_percent=True)),
        (" -2.5 %", MinMargin(-2_500_000, is_percent=True)),
    ],
)
def test_a_least_margin_is_read_and_written(text: str, margin: MinMargin) -> None:
    assert read_min_margin(text) == margin
    assert read_min_margin(str(margin)) == margin


@pytest.mark.parametrize("text", ["", "%", "much", "1e3", "0.0000001", "101%", "1 0%"])
def test_other_texts_are_refused_in_words(text: str) -> None:
    with pytest.raises(ValueError, match=r"neither credits|out of reach"):
        read_min_margin(text)


@pytest.mark.parametrize(
    ("text", "price", "cost", "is_enough"),
    [
        ("0.001", 50_000, 49_000, True),
        ("0.001", 50_000, 49_001, False),
        ("-0.001", 50_000, 51_000, True),
        ("10%", 50_000, 45_000, True),
        ("10%", 50_000, 45_001, False),
        ("33.333333%", 3, 2, True),
        ("100%", 50_000, 1, False),
        ("0%", 0, 0, True),
        ("0%", 0, 1, False),
    ],
)
def test_a_margin_is_compared_exactly(text: str, price: int, cost: int, is_enough: bool) -> None:
    assert read_min_margin(text).allows(price, cost) is is_enough
