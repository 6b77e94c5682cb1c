"""A tally finds the cell of each thing, whatever came before it."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from heliograph.app.observing.tally import Tally
from heliograph.domain.numbers.country import country_of
from heliograph.domain.series import CellKey, Grain
from heliograph.domain.sketch import add, bucket_of

MINUTE = 60_000
NUMBERS = st.sampled_from(
    ["4917012345678", "4915112345678", "12025550123", "12045550123", "1", "", "79161234567", "77011234567"]
)
THINGS = st.tuples(st.integers(0, 3 * MINUTE), st.integers(1, 2), st.integers(1, 2), NUMBERS, st.integers(-1, 40))


@given(st.lists(THINGS, max_size=40))
def test_things_are_counted_where_they_belong(things: list[tuple[int, int, int, str, int]]) -> None:
    tally = Tally()
    counts: Counter[tuple[int, CellKey]] = Counter()
    delays: Counter[tuple[int, CellKey, int]] = Counter()
    for at, account, connector, number, delay in things:
        cell = tally.cell(at, account, connector, number)
        cell.submitted += 1
        add(cell.to_operator, delay)
        place = at - at % MINUTE, CellKey(account, connector, country_of(number))
        counts[place] += 1
        delays[(*place, bucket_of(delay))] += 1
    cells = tally.widened(Grain.MINUTE)
    assert {place: cell.submitted for place, cell in cells.items()} == counts
    found = {(*place, bucket): count for place, cell in cells.items() for bucket, count in cell.to_operator.items()}
    assert found == delays
