import pytest

from heliograph.domain.pace.throttle import TokenBucket


def test_it_starts_full_and_fills_at_the_rate() -> None:
    bucket = TokenBucket(rate=10, burst=5)
    assert bucket.take(100.0, 8) == 5
    assert bucket.take(100.0) == 0
    assert bucket.take(100.25, 8) == 2
    assert bucket.take(200.0, 8) == 5


@pytest.mark.parametrize(("rate", "burst"), [(0.5, 1.0), (10, 1.0), (50, 5.0), (1000, 100.0)])
def test_the_burst_is_a_tenth_of_the_rate_and_at_least_one(rate: float, burst: float) -> None:
    assert TokenBucket(rate).burst == burst


def test_a_rate_below_one() -> None:
    bucket = TokenBucket(rate=0.25)
    assert bucket.take(0.0) == 1
    assert bucket.ready_at(0.0) == 4.0
    assert bucket.take(3.9) == 0
    assert bucket.take(4.0) == 1


def test_the_unit_of_time_is_the_callers() -> None:
    now = 1_735_689_600_000.0
    bucket = TokenBucket(rate=0.5, burst=1)  # a message each two milliseconds
    assert bucket.take(now) == 1
    assert bucket.ready_at(now) == now + 2


def test_a_clock_that_goes_back_grants_nothing_new() -> None:
    bucket = TokenBucket(rate=1)
    assert bucket.take(100.0) == 1
    assert bucket.take(50.0) == 0
    assert bucket.ready_at(50.0) == 101.0
    assert bucket.take(100.5) == 0


def test_ready_for_several_at_once_and_never_for_more_than_the_burst() -> None:
    bucket = TokenBucket(rate=10, burst=4)
    bucket.take(0.0, 4)
    assert bucket.ready_at(0.0, 2) == 0.2
    assert bucket.ready_at(0.0, 100) == bucket.ready_at(0.0, 4) == 0.4
    assert bucket.take(0.4, 4) == 4


def test_asking_changes_nothing() -> None:
    bucket = TokenBucket(rate=10, burst=4)
    assert bucket.ready_at(7.0) == 7.0
    bucket.take(7.0, 4)
    assert bucket.ready_at(9.0) == 9.0
    assert bucket.take(7.0) == 0


def test_a_change_of_rate_keeps_what_was_used() -> None:
    bucket = TokenBucket(rate=10, burst=4)
    bucket.take(0.0, 4)
    bucket.change(0.0, 100, 10)
    assert bucket.take(0.0) == 0
    assert bucket.take(0.05, 10) == 5
    bucket.change(10.0, 1)
    assert bucket.take(10.0, 10) == 1


@pytest.mark.parametrize(
    ("rate", "burst"), [(0, None), (-1, None), (1, 0.5), (float("nan"), None), (float("inf"), None), (1, 0)]
)
def test_rates_and_bursts_that_would_stand_still_are_refused(rate: float, burst: float | None) -> None:
    with pytest.raises(ValueError, match="above 0"):
        TokenBucket(rate, burst)
