"""Lists of prices as CSV."""

from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.app.admin.csv_rows import BadLine
from heliograph.app.admin.price_table import PriceSheet, write
from heliograph.app.resources.desk import Invalid
from heliograph.app.resources.prices import SINCE


def read(text: str, plan: str = "default", since: str = "") -> PriceSheet:
    return PriceSheet(text.splitlines(keepends=True), plan, since)


def test_a_list_is_read_with_what_rows_leave_out() -> None:
    table = read(
        "Prefix;Price;Plan;Inbound;Since\n49;0.05;;;\n+44;0.06;gold;0.01;2027-03-01\n\n", "silver", "2027-01-01"
    )
    assert table.bad == []
    assert table.prices == [
        {"plan": "silver", "prefix": "49", "price": 50_000, "since": SINCE.read("2027-01-01")},
        {"plan": "gold", "prefix": "44", "price": 60_000, "inbound": 10_000, "since": SINCE.read("2027-03-01")},
    ]


def test_a_row_may_have_a_network_instead_of_a_prefix() -> None:
    table = read("mccmnc,prefix,price\n26201,,0.05\n,49,0.06\n,,0.07\n26202,49,1\n26201,,2\n2620,,3\n")
    assert [(each.get("network", ""), each["prefix"], each["price"]) for each in table.prices] == [
        ("26201", "", 50_000), ("", "49", 60_000), ("", "", 70_000),
    ]  # fmt: skip
    assert [each.line for each in table.bad] == [5, 6, 7]
    assert "it has a prefix and a network" in str(table.bad[0])
    assert "line 2 has the same plan, destination and date" in str(table.bad[1])
    assert "network: " in str(table.bad[2])


def test_an_empty_network_alone_does_not_price_all_numbers() -> None:
    table = read("network,price\n26201,0.05\n,0.06\n")
    assert [each["network"] for each in table.prices] == ["26201"]
    assert [str(each) for each in table.bad] == [
        "line 3: the cell mccmnc is empty; all numbers are a row with an empty cell prefix"
    ]


def test_each_line_that_cannot_be_used_is_named() -> None:
    table = read('prefix,price\n49,0.05\nx,1\n44,-1\n49,0.06\n1,2,3\n33,"0.5\n0"\n7,1\n')
    assert [each.line for each in table.bad] == [3, 4, 5, 6, 7]
    assert "prefix: 'x' is not a prefix" in str(table.bad[0])
    assert "below zero" in str(table.bad[1])
    assert "line 2 has the same plan, destination and date" in str(table.bad[2])
    assert "it has 3 cells, but the heading has 2" in str(table.bad[3])
    assert [each["prefix"] for each in table.prices] == ["49", "7"]


def test_other_columns_are_ignored_and_named() -> None:
    table = read("Country,prefix,price,Note,\nGermany,49,0.07,,\n")
    assert (table.bad, table.ignored) == ([], ["Country", "Note"])
    assert [(each["prefix"], each["price"]) for each in table.prices] == [("49", 70_000)]


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_prices_may_have_a_decimal_comma_if_no_commas_separate(separator: str) -> None:
    lines = ["", "country, or region|prefix|price|inbound", "A|43|12,50|0.01", '"B, C"|49|0,07|']
    table = read("\n".join(lines).replace("|", separator))
    assert table.bad == []
    assert [each["price"] for each in table.prices] == [12_500_000, 70_000]
    assert table.prices[0]["inbound"] == 10_000


@pytest.mark.parametrize(
    ("text", "line"),
    [('prefix,price\n49,"0,07"\n', 2), ("prefix;price\n49;1.234,50\n", 2), ("prefix;price\n4,9;1\n", 2)],
)
def test_other_commas_are_no_decimal_commas(text: str, line: int) -> None:
    assert [each.line for each in read(text).bad] == [line]


def test_a_spreadsheet_may_name_its_separator() -> None:
    table = read("\ufeffsep=;\r\nprefix;price\r\n49;0,07\r\nx;1\r\n")
    assert [each["price"] for each in table.prices] == [70_000]
    assert [each.line for each in table.bad] == [4]


def test_a_wrong_quote_hides_no_other_row() -> None:
    table = read('prefix,price\n"4"9,1\n44,2\n')
    assert ([each.line for each in table.bad], [each["prefix"] for each in table.prices]) == ([2], ["44"])


def test_a_row_that_was_cut_off_is_named_and_means_no_prefix() -> None:
    table = read("price,prefix,since\n0.07\n0.08,44\n")
    assert [str(each) for each in table.bad] == [str(BadLine(2, "the cell mccmnc or network or prefix is missing"))]
    assert [each["prefix"] for each in table.prices] == ["44"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the heading must name the columns mccmnc or network or prefix and price"),
        ("49,0.05\n", "the heading must name the columns mccmnc or network or prefix and price"),
        ("prefix,price,sinse\n49,1,2027-03-01\n", "there is no column 'sinse'; do you mean since?"),
        ("prefix,price,price\n49,1,2\n", "there are two columns price"),
        (f"price{',prefix' * 999}\n49,1\n", "there are two columns prefix"),
        (f"price{',prefix' * 1_000_000}\n49,1\n", "the heading has 1,000,001 columns; the most are 1,000"),
        ('prefix,price\n49,"1\n', "this is not valid CSV"),
    ],
)
def test_what_is_no_list_is_refused(text: str, problem: str) -> None:
    table = read(text)
    assert table.prices == []
    assert problem in str(table.bad[0])


def test_the_date_of_all_rows_is_checked_first() -> None:
    with pytest.raises(Invalid, match="since"):
        read("prefix,price\n49,1\n", since="soon")


_PRICES = st.fixed_dictionaries(
    {
        "plan": st.sampled_from(["default", "gold"]),
        "prefix": st.from_regex(r"([1-9][0-9]{0,14})?", fullmatch=True),
        "price": st.integers(0, 10**15),
        "inbound": st.integers(0, 10**15),
        "since": st.integers(0, 4 * 10**9).map(lambda seconds: seconds * 1000),
    }
)
_NETWORK_PRICES = st.fixed_dictionaries(
    {
        "plan": st.sampled_from(["default", "gold"]),
        "prefix": st.just(""),
        "network": st.from_regex(r"[0-9]{5,6}", fullmatch=True),
        "price": st.integers(0, 10**15),
        "since": st.just(0),
    }
)


@given(
    st.lists(
        _PRICES | _NETWORK_PRICES,
        unique_by=lambda each: (each["plan"], each["prefix"], each.get("network", ""), each["since"]),
    )
)
def test_what_is_written_is_read_again(prices: list[dict[str, Any]]) -> None:
    file = StringIO()
    write(prices, file)
    table = read(file.getvalue())
    assert table.bad == []
    assert table.prices == prices
