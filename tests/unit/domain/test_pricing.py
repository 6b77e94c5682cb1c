import pytest

from heliograph.domain.pricing import PriceTable

TABLE = PriceTable([("", 1_000_000), ("44", 35_000), ("447", 40_000), ("4477009", 0), ("1", 10_000)])


@pytest.mark.parametrize(
    ("destination", "micro"),
    [
        ("447700900123", 0),
        ("447800900123", 40_000),
        ("442079460123", 35_000),
        ("15550100", 10_000),
        ("33123456789", 1_000_000),
        ("44", 35_000),
        ("4", 1_000_000),
        ("", 1_000_000),
    ],
)
def test_the_longest_prefix_counts(destination: str, micro: int) -> None:
    assert TABLE.price(destination) == micro


def test_without_a_prefix_that_fits_there_is_no_price() -> None:
    table = PriceTable([("44", 1)])
    assert table.price("33123456789") is None
    assert PriceTable([]).price("447700900123") is None


def test_the_later_of_two_entries_counts() -> None:
    assert PriceTable([("44", 1), ("44", 2)]).price("447700900123") == 2


def test_a_price_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="below zero"):
        PriceTable([("44", -1)])
