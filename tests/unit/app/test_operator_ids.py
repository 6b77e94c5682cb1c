"""Whose a receipt is, by the operator's id and the number in it."""

import pytest

from heliograph.app.ports import Report
from heliograph.app.receipts.operator_ids import ALIASES, REMEMBER_FINISHED, OperatorIds
from heliograph.app.receipts.readings import STALE_MS, agrees, is_for
from heliograph.domain.message.receipt import Delivery
from tests.support.store import START
from tests.support.use_case_fakes import Messages, SetClock

TO = "491701234567"


def report(operator_id: str, destination: str = "", came: int = 0) -> Report:
    return Report(operator_id, destination, Delivery.DELIVRD, True, "000", came)


@pytest.mark.parametrize(
    ("reported", "is_it"),
    [
        ("", True),
        (TO, True),
        (f"+{TO}", True),
        (f"00{TO}", True),
        (f"0{TO[2:]}", True),
        (f"8{TO}", True),
        ("1234567", True),
        ("234567", False),
        ("491701234568", False),
        ("7654321", False),
        ("+", False),
        ("0", False),
    ],
)
def test_numbers_agree_in_their_last_seven_digits_at_least(reported: str, is_it: bool) -> None:
    assert agrees(reported, TO) is is_it


@pytest.mark.parametrize(("late", "is_it"), [(0, True), (STALE_MS, True), (STALE_MS + 1, False)])
def test_a_receipt_may_be_older_than_its_message_by_what_clocks_of_nodes_may_differ(late: int, is_it: bool) -> None:
    message = Messages(SetClock())()
    assert is_for(report("a", message.destination, message.time - late), "a", message) is is_it


def test_an_id_that_another_part_has_now_is_not_finished() -> None:
    """Its receipt may come before it is written to memory: it must not be taken for the earlier one's again."""
    ids = OperatorIds()
    ids.finish(1, "a", TO)
    assert ids.is_repeat(1, report("a"))
    ids.begin(1, "a")
    assert not ids.is_repeat(1, report("a"))
    assert ids.repeated == 1


def test_a_guess_is_a_repetition_only_if_the_number_agrees() -> None:
    ids = OperatorIds()
    ids.finish(1, "10", TO)
    assert [ids.is_repeat(1, report("a", to)) for to in ("", "491701234568", TO)] == [False, False, True]
    assert ids.repeated == 1


def test_finished_ids_that_are_remembered_are_bounded() -> None:
    ids = OperatorIds()
    for number in range(REMEMBER_FINISHED + 1):
        ids.finish(1, f"id-{number}", TO)
    assert not ids.is_repeat(1, report("id-0"))
    assert not ids.is_repeat(1, report(f"id-{REMEMBER_FINISHED // 10 - 1}"))
    assert ids.is_repeat(1, report(f"id-{REMEMBER_FINISHED // 10}"))
    assert ids.is_repeat(1, report(f"id-{REMEMBER_FINISHED}"))


def test_second_names_that_are_remembered_are_bounded() -> None:
    ids = OperatorIds()
    for number in range(ALIASES + 1):
        ids.add_alias(1, f"second-{number}", f"first-{number}", TO)
    assert ids.resolve_alias(1, report("second-0")) is None
    resolved = ids.resolve_alias(1, report(f"second-{ALIASES}", came=START))
    assert resolved is not None
    assert resolved.operator_id == f"first-{ALIASES}"
