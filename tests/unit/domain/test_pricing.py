import pytest

from heliograph.domain.money.pricing import BUILT_IN_PRICE, PriceTable


def table(*prices: tuple[str, int]) -> PriceTable:
    """Prices of the plan `gold`."""
    return PriceTable(("gold", prefix, 0, price, 0) for prefix, price in prices)


TABLE = table(("", 1_000_000), ("44", 35_000), ("447", 40_000), ("4477009", 0), ("1", 10_000)).tariff("gold")


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


def test_the_later_of_two_entries_counts() -> None:
    assert table(("44", 1), ("44", 2)).tariff("gold").price("447700900123") == 2


def test_a_price_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="below zero"):
        table(("44", -1))


BOOK = PriceTable([("default", "", 0, 5, 0), ("default", "44", 0, 6, 2), ("gold", "447", 0, 7, 3)])


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
    book = table(("44", 7))
    assert book.tariff("gold").price("33123456789") is None
    assert book.tariff("default").price("33123456789") == BUILT_IN_PRICE
    assert book.tariff("gold").named_by("33123456789") is None
    assert [book.knows(plan) for plan in ("default", "gold", "silver")] == [True, True, False]
    assert [book.tariff(plan).inbound("33123456789") for plan in ("default", "gold")] == [0, 0]


def test_an_inbound_message_has_the_price_of_its_senders_prefix() -> None:
    assert [BOOK.tariff("gold").inbound(number) for number in ("447700900123", "442079460123", "33")] == [3, 2, 0]


def test_a_plan_without_its_last_price_is_not_known() -> None:
    book = table(("44", 7), ("49", 8))
    book.remove("gold", "44")
    assert (book.tariff("gold").price("447700900123"), book.tariff("gold").price("491701234567")) == (None, 8)
    book.remove("gold", "49")
    book.remove("silver", "49")
    assert not book.knows("gold")
