"""Findings of a list's preview, as sentences for people."""

from heliograph.console.list_findings import NAMED, TOLD, ListFindings
from heliograph.console.recipients import read
from heliograph.domain.error import invalid

NAMED_TABLE = "mobile;name\n491701234567;Ada\n12;Bob"


def findings(text: str = NAMED_TABLE, content: str = "Hi {name}") -> ListFindings:
    table = read(text)
    return ListFindings(table, table.guess(), content)


def test_a_bad_cell_is_named_by_its_row_and_column() -> None:
    found = findings()
    for row in (2, 5, 9):
        found.add_fault(row, invalid("to", "The destination is empty."))
    found.add_fault(3, invalid("content", "The content is empty."))
    found.add_fault(4, invalid("time", "The time is past."))
    assert found.problem_lines() == [
        "Rows 2, 5 and 9, column mobile: The destination is empty.",
        "Row 3, column name: The content is empty.",
        "Row 4: The time is past.",
    ]
    assert (found.bad, found.field) == (5, "to")


def test_columns_of_a_text_are_those_that_it_names() -> None:
    text = "mobile;first name;city\n491701234567;Ada;Rome\n12;Bob;Oslo"
    for content, told in (
        ("Hi {first name} in {city} {none}", "Row 1, column first name, column city: Too long."),
        ("Hi {first name}", "Row 1, column first name: Too long."),
        ("Hi", "Row 1: Too long."),
    ):
        found = findings(text, content)
        found.add_fault(1, invalid("content", "Too long."))
        assert found.problem_lines() == [told]


def test_a_list_of_numbers_has_no_column_to_name() -> None:
    for text, told in (
        ("491701234567\n431234567890", "Row 2: Bad."),
        ("mobile\n491701234567\n12", "Row 2, column mobile: Bad."),
        ("491701234567;Ada\n431234567890;Bob", "Row 2, column 1: Bad."),
    ):
        found = findings(text, "Hi")
        found.add_fault(2, invalid("to", "Bad."))
        assert found.problem_lines() == [told]


def test_of_many_rows_the_first_are_named_and_the_others_counted() -> None:
    found = findings()
    for row in range(1, 1_213):
        found.add_fault(row, invalid("to", "Bad."))
    for row in range(2_000, 2_000 + TOLD):
        found.add_fault(row, invalid("to", f"Bad {row}."))
    for row in range(3_000, 3_003):
        found.add_opted_out(row, f"44{row}")
    lines = found.problem_lines()
    assert lines[0] == "Rows 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 1,202 more, column mobile: Bad."
    assert len(lines) == TOLD + 2
    assert lines[-2:] == [
        "1 more row with other problems.",
        "The recipient opted out: 443000 (row 3000), 443001 (row 3001) and 443002 (row 3002).",
    ]
    for row in range(NAMED):
        found.add_opted_out(row, "1")
    assert found.problem_lines()[-1].endswith("and 3 more.")
    assert found.bad == 1_212 + TOLD + 3 + NAMED


def test_numbers_that_occur_more_than_once_are_named_with_their_rows() -> None:
    found = findings()
    for row, number in enumerate(["1", "2", "1", "3", "1", "2"], 1):
        found.add_good(row, number)
    assert found.repeated == 2
    assert found.repeat_lines() == ["1 (rows 1, 3 and 5)", "2 (rows 2 and 6)"]
    for row in range(100, 400):
        found.add_good(row, "9")
    for row in range(1_000, 1_000 + NAMED):
        found.add_good(row, str(row))
        found.add_good(row + 500, str(row))
    assert "9 (rows 100, 101, 102, 103, 104, 105, 106, 107, 108, 109 and 290 more)" in found.repeat_lines()
    assert found.repeat_lines()[-1] == "3 more numbers"
    assert findings().repeat_lines() == []


def test_a_problem_of_the_whole_list_is_sole() -> None:
    found = findings()
    assert found.sole_problem(["from"]) == ""
    found.add_fault(1, invalid("from", "No sender."))
    found.add_fault(2, invalid("from", "No sender."))
    assert found.sole_problem(["from"]) == "No sender."
    assert found.sole_problem(["content"]) == ""
    found.add_opted_out(3, "491701234567")
    assert found.sole_problem(["from"]) == ""
