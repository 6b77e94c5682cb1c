"""The quality of connectors: an account does not steer the messages of others."""

from hypothesis import given
from hypothesis import strategies as st

from heliograph.app.routing.quality import LEAST_ENDED, MOST_SWAY, measure
from heliograph.domain.series import Cell, CellKey

NUMBER = "491701234567"
CONNECTOR = 7
HOSTILE = 1
NEW = 99
"""An account without messages over the connector."""

COUNTS = st.integers(0, 5_000)


def cell(delivered: int, failed: int, confirmed: int = 0, denied: int = 0) -> Cell:
    counted = Cell()
    counted.delivered, counted.failed, counted.confirmed, counted.denied = delivered, failed, confirmed, denied
    return counted


def figure(cells: dict[int, Cell], account: int) -> float | None:
    totals = [(CellKey(number, CONNECTOR, "DE"), each) for number, each in cells.items()]
    return measure(totals, 0).share(CONNECTOR, NUMBER, "", account)


any_cells = st.builds(cell, COUNTS, COUNTS, COUNTS, COUNTS)
measured_cells = st.builds(cell, st.integers(LEAST_ENDED, 5_000), COUNTS)
few_cells = st.builds(cell, st.integers(0, 99), st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))


@given(any_cells, st.lists(measured_cells, min_size=1, max_size=6))
def test_an_account_moves_no_figure_of_measured_accounts_and_pushes_none_below_theirs(
    hostile: Cell, honest: list[Cell]
) -> None:
    others = dict(enumerate(honest, HOSTILE + 1))
    own = {number: figure(others, number) for number in others}
    cells = others | {HOSTILE: hostile}
    assert {number: figure(cells, number) for number in others} == own
    shares = [each.delivered / each.ended for each in honest]
    found = figure(cells, NEW)
    assert found is not None
    if hostile.ended >= LEAST_ENDED:
        assert found >= min(shares)
        assert len(shares) == 1 or found <= max(shares)


@given(any_cells, st.lists(few_cells, max_size=30), COUNTS, COUNTS)
def test_feedback_of_an_account_moves_figures_of_others_a_little(
    hostile: Cell, rest: list[Cell], confirmed: int, denied: int
) -> None:
    others = dict(enumerate(rest, HOSTILE + 1))
    if sum(each.ended for each in rest) >= LEAST_ENDED and hostile.ended >= LEAST_ENDED:
        return  # two figures; see above
    without = figure(others | {HOSTILE: cell(hostile.delivered, hostile.failed)}, NEW)
    found = figure(others | {HOSTILE: cell(hostile.delivered, hostile.failed, confirmed, denied)}, NEW)
    assert (found is None) == (without is None)
    if found is not None and without is not None:
        assert abs(found - without) <= MOST_SWAY + 1e-9


@given(any_cells)
def test_feedback_counts_in_full_for_its_own_account(counted: Cell) -> None:
    if counted.ended >= LEAST_ENDED:
        told = counted.delivered + counted.confirmed - counted.denied
        assert figure({HOSTILE: counted}, HOSTILE) == min(max(told, 0), counted.ended) / counted.ended
