import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.money.pricing import BUILT_IN_PRICE, PriceTable


def table(*prices: tuple[str, int]) -> PriceTable:
    """Prices of the plan `gold`."""
    return PriceTable(("gold", prefix, "", 0, price, 0) for prefix, price in prices)


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
    assert TABLE.price(destination, "") == micro


def test_the_later_of_two_entries_counts() -> None:
    assert table(("44", 1), ("44", 2)).tariff("gold").price("447700900123", "") == 2


def test_a_price_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="below zero"):
        table(("44", -1))


BOOK = PriceTable(
    [
        ("default", "", "", 0, 5, 0),
        ("default", "44", "", 0, 6, 2),
        ("gold", "447", "", 0, 7, 3),
        ("default", "", "23401", 0, 9, 0),
        ("default", "", "23402", 0, 10, 0),
        ("gold", "", "23402", 0, 8, 0),
    ]
)


@pytest.mark.parametrize(
    ("plan", "destination", "network", "micro", "named_by"),
    [
        ("gold", "447700900123", "", 7, ("gold", "", "447")),
        ("gold", "442079460123", "", 6, ("default", "", "44")),
        ("gold", "33123456789", "", 5, ("default", "", "")),
        ("default", "447700900123", "", 6, ("default", "", "44")),
        ("silver", "447700900123", "", 6, ("default", "", "44")),
        # a network counts before a prefix of the same plan
        ("gold", "447700900123", "23402", 8, ("gold", "23402", "")),
        ("gold", "442079460123", "23402", 8, ("gold", "23402", "")),
        ("gold", "447700900123", "23401", 7, ("gold", "", "447")),
        ("gold", "442079460123", "23401", 9, ("default", "23401", "")),
        ("silver", "447700900123", "23401", 9, ("default", "23401", "")),
        ("default", "447700900123", "23402", 10, ("default", "23402", "")),
        ("default", "447700900123", "23403", 6, ("default", "", "44")),
    ],
)
def test_an_accounts_own_plan_counts_before_the_default(
    plan: str, destination: str, network: str, micro: int, named_by: tuple[str, str, str]
) -> None:
    tariff = BOOK.tariff(plan)
    assert (tariff.price(destination, network), tariff.named_by(destination, network)) == (micro, named_by)


AMOUNTS = st.dictionaries(
    st.sampled_from([("", ""), ("4", ""), ("44", ""), ("447", ""), ("33", ""), ("", "23401"), ("", "23402")]),
    st.integers(0, 9),
    max_size=5,
)
BY_PLAN = st.fixed_dictionaries({"gold": AMOUNTS, "default": AMOUNTS})


@given(BY_PLAN, st.sampled_from(["", "23401", "23402"]), st.sampled_from(["447", "4412", "331", "1"]))
def test_the_order_is_own_network_own_prefix_default_network_default_prefix(
    amounts: dict[str, dict[tuple[str, str], int]], network: str, number: str
) -> None:
    rows = [(plan, *target, 0, price, 0) for plan, of in amounts.items() for target, price in of.items()]
    book = PriceTable(rows)
    for plan in ("gold", "default"):
        steps = [amounts[of] for of in dict.fromkeys((plan, "default"))]
        targets = [*[("", network)] * bool(network), *((number[:size], "") for size in range(len(number), -1, -1))]
        found = [of[target] for of in steps for target in targets if target in of]
        last = BUILT_IN_PRICE if plan == "default" or not amounts[plan] else None
        assert book.tariff(plan).price(number, network) == (found[0] if found else last)
        assert book.tariff(plan).names_networks == any(of for step in steps for _, of in step)
    for plan, prefix, of_network, *_ in rows:
        book.remove(plan, prefix, of_network)
    assert not book.knows("gold")
    assert book.tariff("gold").price(number, network) == BUILT_IN_PRICE


def test_what_no_plan_names() -> None:
    book = table(("44", 7))
    assert book.tariff("gold").price("33123456789", "") is None
    assert book.tariff("default").price("33123456789", "") == BUILT_IN_PRICE
    assert book.tariff("gold").named_by("33123456789", "") is None
    assert [book.knows(plan) for plan in ("default", "gold", "silver")] == [True, True, False]
    assert [book.tariff(plan).inbound("33123456789") for plan in ("default", "gold")] == [0, 0]


def test_an_inbound_message_has_the_price_of_its_senders_prefix() -> None:
    assert [BOOK.tariff("gold").inbound(number) for number in ("447700900123", "442079460123", "33")] == [3, 2, 0]


def test_the_price_of_a_network_holds_from_its_date_on() -> None:
    rows = [("gold", "", "23401", 0, 5, 0), ("gold", "", "23401", 10, 6, 0), ("gold", "44", "", 20, 7, 0)]
    prices = [PriceTable(rows, at).tariff("gold").price("447700900123", "23401") for at in (0, 9, 10, 30)]
    assert prices == [5, 5, 6, 6]


def test_a_plan_without_its_last_price_is_not_known() -> None:
    book = table(("44", 7), ("49", 8))
    book.remove("gold", "44", "")
    assert [book.tariff("gold").price(each, "") for each in ("447700900123", "491701234567")] == [None, 8]
    book.remove("gold", "49", "")
    book.remove("silver", "49", "")
    assert not book.knows("gold")
