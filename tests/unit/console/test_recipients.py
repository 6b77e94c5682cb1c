"""Recipients as people paste them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.console import recipients
from heliograph.console.recipients import RecipientTable, Unreadable
from heliograph.domain.numbers.phone import number_of


@pytest.mark.parametrize(
    "text",
    [
        "491701234567\n431234567890",
        "491701234567, 431234567890",
        "+49 170 1234567;0043 1234567890",
        "491701234567\r\n\r\n431234567890\r\n",
        "+49 (170) 123-4567\t+43.1234567890",
        "+49 (0)170 1234567\n0043 (0)1234567890",
    ],
)
def test_a_list_of_numbers_has_one_column(text: str) -> None:
    table = recipients.read(text)
    assert table.plain
    assert [number_of(row[0]) for row in table.rows] == ["491701234567", "431234567890"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_table_has_the_names_of_its_first_row(delimiter: str) -> None:
    lines = [["name", "mobile", "code"], ["Ada", "+49 170 1234567", "12"], ["Bob", "431234567890", "34"]]
    table = recipients.read("\n".join(delimiter.join(line) for line in lines))
    assert table.columns == lines[0]
    assert table.rows == lines[1:]
    assert table.guess() == 1


def test_the_column_of_the_numbers_is_told_by_its_name_too() -> None:
    for text in ("customer;Tel.\n4917012345;491701234567", "id;to\n4917012345;12", "from;x\n491701234;491701234567"):
        assert recipients.read(text).guess() == 1
    assert recipients.read("a;b\nx;y").guess() == 0


def test_no_two_columns_share_a_name() -> None:
    table = recipients.read("a,a 3,a,,column 4\n1,2,3,4,447700900123")
    assert table.columns == ["a", "a 3", "a 3 3", "column 4", "column 4 5"]
    assert recipients.fill("{a} {a 3} {a 3 3}", table.columns, table.rows[0]) == "1 2 3"


def test_a_table_without_names_gets_some() -> None:
    table = recipients.read("491701234567;Ada\n431234567890;Bob")
    assert table.columns == ["column 1", "column 2"]
    assert len(table.rows) == 2


def test_cells_may_be_quoted_and_rows_ragged() -> None:
    table = recipients.read('number;name;name\n491701234567;"Ada; Countess"\n431234567890;Bob;Robert;more\n')
    assert table.columns == ["number", "name", "name 3", "column 4"]
    assert table.rows[0] == ["491701234567", "Ada; Countess", "", ""]
    assert table.rows[1] == ["431234567890", "Bob", "Robert", "more"]


@pytest.mark.parametrize(
    ("text", "told"), [("", "no recipients"), (" \n\n", "no recipients"), ("a;b\n", "without rows")]
)
def test_what_is_no_table_is_told(text: str, told: str) -> None:
    with pytest.raises(Unreadable, match=told):
        recipients.read(text)


def test_a_table_is_not_endless() -> None:
    with pytest.raises(Unreadable, match="100,000"):
        recipients.read("491701234567\n" * (recipients.MAX_ROWS + 1))


def test_columns_stand_in_the_text() -> None:
    table = RecipientTable(["number", "first name"], [["4917", "Ada"]])
    text = "Hi {first name}, {nobody}: {{number}}"
    assert recipients.columns_in(text) == ["first name", "nobody", "number"]
    assert recipients.fill(text, table.columns, table.rows[0]) == "Hi Ada, {nobody}: {4917}"
    # what is filled in is not looked at again
    assert recipients.fill("{a}", ["a", "b"], ["{b}", "x"]) == "{b}"


def test_a_text_that_grows_beyond_any_message_is_cut() -> None:
    filled = recipients.fill("{a}" * 50_000, ["a"], ["x" * 100_000])
    assert filled == "x" * (recipients.MAX_TEXT_CHARS + 1)


@pytest.mark.parametrize("text", ["", " \n", ",", '"",""', "\t\n\t"])
def test_cells_with_nothing_in_them_are_nobody(text: str) -> None:
    with pytest.raises(Unreadable, match="no recipients"):
        recipients.read(text)


@given(st.text(max_size=200))
def test_any_text_is_a_table_or_is_told(text: str) -> None:
    try:
        table = recipients.read(text)
    except Unreadable:
        return
    assert table.rows
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert 0 <= table.guess() < len(table.columns)
