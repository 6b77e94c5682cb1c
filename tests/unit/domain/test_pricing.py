import pytest

from heliograph.domain.money.pricing import BUILT_IN_PRICE, PlanPrices, PriceTable

TABLE = PlanPrices([("", 1_000_000), ("44", 35_000), ("447", 40_000), ("4477009", 0), ("1", 10_000)])


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
    table = PlanPrices([("44", 1)])
    assert table.price("33123456789") is None
    assert PlanPrices([]).price("447700900123") is None


def test_the_later_of_two_entries_counts() -> None:
    assert PlanPrices([("44", 1), ("44", 2)]).price("447700900123") == 2


def test_a_price_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="below zero"):
        PlanPrices([("44", -1)])


BOOK = PriceTable([("default", "", 5), ("default", "44", 6), ("gold", "447", 7)])


@pytest.mark.parametrize(
    ("plan", "destination", "micro", "named_by"),
    [
        ("gold", "447700900123", 7, ("gold", "447")),
        ("gold", "442079460123", 6, ("default", "44")),
        ("gold", "33123456789", 5, ("default", "")),
        ("default", "447700900123", 6, ("default", "44")),
        ("silver", "447700900123", 6, ("default", "44")),
    ],
)
def test_an_accounts_own_plan_counts_before_the_default(
    plan: str, destination: str, micro: int, named_by: tuple[str, str]
) -> None:
    tariff = BOOK.tariff(plan)
    assert (tariff.price(destination), tariff.named_by(destination)) == (micro, named_by)


def test_what_no_plan_names() -> None:
    book = PriceTable([("gold", "44", 7)])
    assert book.tariff("gold").price("33123456789") is None
    assert book.tariff("default").price("33123456789") == BUILT_IN_PRICE
    assert book.tariff("gold").named_by("33123456789") is None
    assert [book.knows(plan) for plan in ("default", "gold", "silver")] == [True, True, False]
