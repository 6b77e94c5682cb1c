"""Receipts that are too good to be true."""

from typing import Any

import pytest

from heliograph.app.ports.series import SeriesCell
from heliograph.app.routing.receipt_doubts import doubt_query, find_doubts
from heliograph.domain.series import Cell, CellKey, Grain
from heliograph.domain.sketch import add

DE, FR = CellKey(1, 7, "DE", "26201"), CellKey(1, 7, "FR", "")


def cell(delays: dict[int, int] | None = None, **counts: int) -> Cell:
    made = Cell()
    for name, number in counts.items():
        setattr(made, name, number)
    for delay, number in (delays or {}).items():
        add(made.to_receipt, delay, number)
    return made


def signs(*cells: tuple[CellKey, Cell]) -> dict[int, list[str]]:
    details = [SeriesCell(Grain.HOUR, 0, key, each) for key, each in cells]
    return {connector: sorted(found) for connector, found in find_doubts(cells, details).items()}


@pytest.mark.parametrize(
    ("delays", "doubted"),
    [({300: 150, 800: 50}, True), ({300: 199}, False), ({300: 500, 1_200: 1}, False), ({}, False)],
)
def test_receipts_that_all_come_within_a_second(delays: dict[int, int], doubted: bool) -> None:
    found = signs((DE, cell(delays)), (CellKey(2, 7, "FR", ""), cell()))
    assert found == ({7: ["instant"]} if doubted else {})


@pytest.mark.parametrize(
    ("delivered", "denied", "doubted"), [(400, 20, True), (100, 19, False), (401, 20, False), (0, 25, True)]
)
def test_messages_that_customers_deny(delivered: int, denied: int, doubted: bool) -> None:
    found = signs((DE, cell(delivered=delivered, denied=denied)))
    assert found == ({7: ["denied"]} if doubted else {})


@pytest.mark.parametrize(
    ("key", "counts", "doubted"),
    [
        (CellKey(1, 7, "DE", ""), {"delivered": 95, "failed": 5}, True),
        (CellKey(1, 7, "DE", ""), {"delivered": 99}, False),
        (CellKey(1, 7, "DE", ""), {"delivered": 80, "failed": 20}, False),
        (CellKey(1, 7, "FR", ""), {"delivered": 1_000}, False),  # no network of the country is known
    ],
)
def test_numbers_of_no_network(key: CellKey, counts: dict[str, int], doubted: bool) -> None:
    others = (CellKey(1, 8, "DE", "26202"), cell(delivered=500))
    assert signs((key, cell(None, **counts)), others) == ({7: ["nowhere"]} if doubted else {})


def test_the_sentences_have_the_figures() -> None:
    cells: Any = [(DE, cell({512: 250}, delivered=1_250, denied=125)), (FR, cell())]
    details = [SeriesCell(Grain.HOUR, 0, *each) for each in cells]
    assert find_doubts(cells, details)[7] == {
        "instant": "all 250 receipts of the last day came within 528 ms, faster than phones answer: the operator may "
        "report deliveries that did not happen",
        "denied": "customers say that 125 of the 1,250 messages did not arrive that the operator reported as delivered "
        "in the last day",
    }


def test_a_day_ends_with_the_present_hour() -> None:
    query = doubt_query(1_700_000_000_000)
    assert (query.end - query.start, query.start <= 1_700_000_000_000 < query.end) == (86_400_000, True)
