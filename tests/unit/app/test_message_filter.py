"""Which messages a filter lets pass, and what of a cell a spreadsheet could take for a formula."""

import csv
import io
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.app.records import Hit, Search
from heliograph.app.resources.messages import fits
from heliograph.domain.csv_lines import csv_line, harmless, plain
from heliograph.domain.message.ids import first_key_at
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.status import MessageStatus
from tests.support.use_case_fakes import Messages, SetClock


def hit(**changes: Any) -> Hit:
    return Hit(Messages(SetClock())(**changes), Delivery.UNDELIV, "011")


@pytest.mark.parametrize(
    ("search", "found"),
    [
        (Search(), True),
        (Search(connector=3), True),
        (Search(connector=4), False),
        (Search(sender="helio"), True),
        (Search(sender="heli"), False),
        (Search(country="de"), True),
        (Search(country="FR"), False),
        (Search(error="undeliv"), True),
        (Search(error="UNDELIV 011"), True),
        (Search(error="011"), True),
        (Search(error="UNDELIV 012"), False),
        (Search(connector=3, error="011", sender="Helio", country="FR"), False),
        (Search(error="EXPIRED UNDELIV"), False),
        (Search(error="undeliv 011 011"), True),
    ],
)
def test_all_that_is_asked_must_fit(search: Search, found: bool) -> None:
    assert fits(search, hit(connector=3, sender="Helio", destination="491701234567")) is found


def test_a_connector_that_sent_a_message_in_place_of_its_own_counts_too() -> None:
    moved = replace(hit(connector=3), sent_by=5)
    assert [fits(Search(connector=each), moved) for each in (3, 4, 5)] == [True, False, True]
    assert (moved.connector, hit(connector=3).connector) == (5, 3)


def test_a_message_without_a_final_state_has_no_error() -> None:
    assert not fits(Search(error="011"), Hit(Messages(SetClock())(), None))
    assert fits(Search(), Hit(Messages(SetClock())(), None))


def test_a_delivered_message_has_no_error() -> None:
    assert not fits(Search(error="011"), Hit(Messages(SetClock())(), Delivery.DELIVRD, "011"))


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


@pytest.mark.parametrize("status", [None, MessageStatus.UNDELIVERED])
def test_times_are_of_sending_within_an_account(status: MessageStatus | None) -> None:
    scheduled = hit(key=first_key_at(1_000), time=5_000)
    for account, at in ((None, 1_000), (1, 5_000)):
        found = [each for each in (1_000, 5_000) if fits(Search(account, "", status, each, each + 9), scheduled)]
        assert found == [at], account
    assert not fits(Search(2), scheduled)
