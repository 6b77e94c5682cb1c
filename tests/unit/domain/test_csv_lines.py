"""Cells of a CSV file that a spreadsheet could take for a formula."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.csv_lines import csv_line, harmless, plain


@pytest.mark.parametrize("cell", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", "\rx", "--1", "+49 170"])
def test_what_could_be_a_formula_is_text(cell: str) -> None:
    assert harmless(cell) == f"'{cell}"


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("Hi;=1+1", "Hi;'=1+1"),
        ("Hi\t+cmd|' /C calc'!A0;x", "Hi\t'+cmd|' /C calc'!A0;x"),
        ('Hi;"=1+1', "Hi;\"'=1+1"),
        ("Hi\n@SUM(A1)", "Hi\n'@SUM(A1)"),
        ("=1;=2", "'=1;'=2"),
        ("Hi;-5;+491701234567\n-1.5", "Hi;-5;+491701234567\n-1.5"),
        ("Hi; =) a=1,=2", "Hi; =) a=1,=2"),
    ],
)
def test_a_text_is_no_formula_if_semicolons_or_tabs_separate_it(cell: str, told: str) -> None:
    assert harmless(cell) == told
    assert plain(told) == cell


@pytest.mark.parametrize("cell", ["", "12", "-0.07", "+491701234567", "a=1", "2027-01-15T08:00:00Z"])
def test_numbers_and_words_stay_as_they_are(cell: str) -> None:
    assert harmless(cell) == cell


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0\r")), min_size=2, max_size=5))
def test_a_line_is_read_back_as_it_was_made_harmless(cells: list[str]) -> None:
    (read,) = csv.reader(io.StringIO(csv_line(*cells).decode(), newline=""))
    assert read == [harmless(cell) for cell in cells]
