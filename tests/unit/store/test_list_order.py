"""The order of the rows of long lists."""

from random import Random

from heliograph.adapters.store.shared import lists


def test_rows_are_sorted_in_steps() -> None:
    chance = Random(1)
    rows = [(str(chance.randrange(900)), chance.random()) for _ in range(2_500)]
    assert lists.in_order(rows) == sorted(rows)
    by_prefix = lists.in_order(rows, lambda row: row[0])
    assert by_prefix == sorted(rows, key=lambda row: row[0]), "rows with the same key keep their order"
    assert lists.in_order([]) == []
