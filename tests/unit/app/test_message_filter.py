"""Which messages a filter lets pass, and what of a cell a spreadsheet could take for a formula."""

import csv
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.app.admin.csv_lines import csv_line, harmless
from heliograph.app.admin.message_filter import EVERY_MESSAGE, MessageFilter
from heliograph.app.records import Hit
from heliograph.domain.receipt import Delivery
from tests.support.use_case_fakes import Messages, SetClock


def hit(**changes: Any) -> Hit:
    return Hit(Messages(SetClock())(**changes), Delivery.UNDELIV, "011")


@pytest.mark.parametrize(
    ("only", "fits"),
    [
        (MessageFilter(), True),
        (MessageFilter(connector=3), True),
        (MessageFilter(connector=4), False),
        (MessageFilter(sender="helio"), True),
        (MessageFilter(sender="heli"), False),
        (MessageFilter(country="de"), True),
        (MessageFilter(country="FR"), False),
        (MessageFilter(error="undeliv"), True),
        (MessageFilter(error="UNDELIV 011"), True),
        (MessageFilter(error="011"), True),
        (MessageFilter(error="UNDELIV 012"), False),
        (MessageFilter(3, "011", "Helio", "FR"), False),
    ],
)
def test_all_that_is_asked_must_fit(only: MessageFilter, fits: bool) -> None:
    assert only.fits(hit(connector=3, sender="Helio", destination="491701234567")) is fits


def test_a_message_without_a_final_state_has_no_error() -> None:
    assert not MessageFilter(error="011").fits(Hit(Messages(SetClock())(), None))
    assert EVERY_MESSAGE.fits(Hit(Messages(SetClock())(), None))
    assert not EVERY_MESSAGE.narrows


@pytest.mark.parametrize("cell", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", "\rx", "--1", "+49 170"])
def test_what_could_be_a_formula_is_text(cell: str) -> None:
    assert harmless(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["", "12", "-0.07", "+491701234567", "a=1", "2027-01-15T08:00:00Z"])
def test_numbers_and_words_stay_as_they_are(cell: str) -> None:
    assert harmless(cell) == cell


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0\r")), min_size=2, max_size=5))
def test_a_line_is_read_back_as_it_was_made_harmless(cells: list[str]) -> None:
    (read,) = csv.reader(io.StringIO(csv_line(*cells).decode(), newline=""))
    assert read == [harmless(cell) for cell in cells]
