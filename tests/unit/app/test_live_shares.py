"""Live shares: the division of the last hours' messages among the routes of a group."""

from heliograph.app.configuration import Route
from heliograph.app.routing.live_shares import live_shares, shares_query
from heliograph.domain.series import Cell, CellKey

HOUR_MS = 3_600_000


def sent(messages: int) -> Cell:
    cell = Cell()
    cell.submitted = messages
    return cell


TOTALS = [
    (CellKey(1, 1, "DE"), sent(60)),
    (CellKey(2, 1, "DE"), sent(15)),
    (CellKey(1, 2, "DE"), sent(25)),
    (CellKey(1, 2, "FR"), sent(100)),
]


def test_a_group_divides_the_messages_of_its_country() -> None:
    routes = [Route(7, "49", 1), Route(8, "49", 2), Route(9, "33", 2), Route(10, "39", 1)]
    assert live_shares(routes, TOTALS) == {7: 0.75, 8: 0.25, 9: 1.0}


def test_a_group_of_all_numbers_divides_all_messages() -> None:
    assert live_shares([Route(1, "", 1), Route(2, "", 2)], TOTALS) == {1: 0.375, 2: 0.625}


def test_messages_without_a_country_count_once() -> None:
    totals = [(CellKey(1, 1, ""), sent(50)), (CellKey(1, 2, "DE"), sent(50))]
    assert live_shares([Route(1, "", 1), Route(2, "", 2)], totals) == {1: 0.5, 2: 0.5}


def test_the_query_has_the_present_hour_and_the_hour_before() -> None:
    query = shares_query(10 * HOUR_MS + 5)
    assert (query.start, query.end) == (9 * HOUR_MS, 11 * HOUR_MS)
