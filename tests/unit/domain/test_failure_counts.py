"""Failures are counted exactly while there is room, and never too few after that."""

import pytest

from heliograph.domain.limits.failure_counts import COLUMNS, TIMES, FailureCounts, Sketch


def name(number: int) -> bytes:
    return (
        number.to_bytes(16, "little")
        if number < 0
        else (number * 0x9E3779B97F4A7C15F39CC0605CEDC834 % 2**128).to_bytes(16, "little")
    )


def test_failures_count_for_the_window_and_no_longer() -> None:
    counts = FailureCounts(60)
    for at in (0.0, 10.0, 59.0):
        counts.add(name(1), at, at)
    assert [counts.count(name(1), now) for now in (59.0, 60.0, 70.0, 118.9, 119.0)] == [3, 2, 1, 1, 0]
    assert counts.count(name(2), 59.0) == 0


def test_the_wait_ends_when_the_failures_are_few_enough() -> None:
    counts = FailureCounts(60)
    for at in (0.0, 10.0, 20.0):
        counts.add(name(1), at, at)
    assert counts.wait(name(1), 4, 20.0) == 0
    assert counts.wait(name(1), 3, 20.0) == 40
    assert counts.wait(name(1), 2, 20.0) == 50
    assert counts.wait(name(1), 3, 60.0) == 0


def test_who_is_counted_makes_no_room_for_others() -> None:
    counts = FailureCounts(60, exact=10)
    for _ in range(5):
        counts.add(name(0), 0.0, 0.0)
    for number in range(1, 20_801):
        counts.add(name(number), 4.0, 4.0)
    assert counts.count(name(0), 5.0) == 5
    assert len(counts) == 10


def test_those_without_a_place_are_counted_too() -> None:
    counts = FailureCounts(60, exact=10)
    for number in range(5_000):
        counts.add(name(number), 0.0, 0.0)
    for _ in range(30):
        counts.add(name(9_999), 1.0, 1.0)
    assert counts.count(name(9_999), 2.0) == 30
    assert counts.wait(name(9_999), 20, 2.0) == 60
    assert counts.count(name(9_999), 200.0) == 0


def test_few_are_taken_for_others() -> None:
    counts = FailureCounts(60, exact=0)
    for number in range(COLUMNS):
        counts.add(name(number), 0.0, 0.0)
    strangers = [counts.count(name(number), 1.0) for number in range(100_000, 101_000)]
    assert sum(found >= 5 for found in strangers) == 0


def test_a_name_that_gets_a_place_keeps_what_the_sketch_has_of_it() -> None:
    counts = FailureCounts(60, exact=1)
    counts.add(name(0), 0.0, 0.0)
    for _ in range(7):
        counts.add(name(1), 50.0, 50.0)
    counts.add(name(1), 61.0, 61.0)
    assert counts.count(name(1), 61.0) == 8
    assert len(counts) == 1


def test_of_one_name_so_many_are_kept() -> None:
    counts = FailureCounts(60)
    for _ in range(TIMES * 3):
        counts.add(name(1), 0.0, 0.0)
    assert counts.count(name(1), 0.0) == TIMES


@pytest.mark.parametrize(("now", "found"), [(59.0, 3), (60.0, 3), (119.0, 3), (120.0, 0)])
def test_a_sketch_forgets_after_the_window_and_before_the_second(now: float, found: int) -> None:
    sketch = Sketch(60, 0.0)
    for _ in range(3):
        sketch.add(name(1), 1.0)
    sketch.count(name(1), min(now, 60.0))
    assert sketch.count(name(1), now) == found
