from collections import Counter

from heliograph.domain.slot import SLOTS, slot_of


def test_rows_are_stored_by_it_so_it_never_changes() -> None:
    assert [slot_of(account) for account in range(8)] == [0, 39, 15, 54, 30, 5, 45, 20]
    assert slot_of(1_000_000) == 63
    assert slot_of((1 << 32) + 1) == slot_of(1)


def test_accounts_in_a_row_are_spread_evenly() -> None:
    counts = Counter(map(slot_of, range(1, 6_401)))
    assert set(counts) == set(range(SLOTS))
    assert max(counts.values()) - min(counts.values()) < 10
