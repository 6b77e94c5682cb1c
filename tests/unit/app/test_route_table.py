"""Lists of routes as CSV: what is read, and which lines are named because they cannot be used."""

from io import StringIO

from heliograph.app.admin import route_table
from heliograph.app.admin.csv_rows import Sheet, values_of
from heliograph.app.resources.routes import LISTED
from heliograph.domain.csv_lines import write_rows


def read(text: str) -> Sheet:
    return route_table.read(text.splitlines(keepends=True), ["one", "two"])


def test_routes_are_read_whatever_the_order_of_columns() -> None:
    sheet = read("Connector;priority;prefix;;\none;5;+49;;\ntwo;;;;\n")
    assert sheet.rows == [
        values_of(LISTED, {"prefix": "49", "connector": "one", "priority": "5"}),
        values_of(LISTED, {"connector": "two"}),
    ]
    assert sheet.bad == []


def test_each_line_that_cannot_be_used_is_named() -> None:
    sheet = read("connector,prefix\none\none,49,9\nnone,49\none,x\none,49\none,49\n")
    assert [each.line for each in sheet.bad] == [2, 3, 4, 5, 7]
    assert "the cell prefix is missing" in str(sheet.bad[0])
    assert "it has 3 cells, but the heading has 2" in str(sheet.bad[1])
    assert "there is no connector 'none'" in str(sheet.bad[2])
    assert "line 6 has the same route" in str(sheet.bad[4])
    assert sheet.rows == [values_of(LISTED, {"prefix": "49", "connector": "one"})]


def test_rows_without_a_connector_have_the_usual_one() -> None:
    sheet = route_table.read(["prefix,connector\n", "49,\n", "44,two\n"], connector="one")
    assert [(row["prefix"], row["connector"]) for row in sheet.rows] == [("49", "one"), ("44", "two")]
    assert sheet.lines == [2, 3]
    assert route_table.read(["prefix\n", "49\n"], connector="one").rows == sheet.rows[:1]


def test_two_columns_of_one_name_are_refused() -> None:
    assert "there are two columns prefix" in str(read("prefix,connector,prefix\n49,one,44\n").bad[0])


def test_a_plan_that_looks_like_a_formula_survives() -> None:
    file = StringIO()
    write_rows([["prefix", "connector", "plan"], ["49", "one", "-10"], ["44", "two", "-gold"]], file)
    assert file.getvalue().splitlines()[1:] == ["49,one,-10", "44,two,'-gold"]
    assert [row["plan"] for row in read(file.getvalue()).rows] == ["-10", "-gold"]
