from math import ceil, inf, nextafter

from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.pace.throttle import TokenBucket

RATES = st.one_of(st.integers(1, 2_000), st.floats(0.01, 2_000))
STARTS = st.floats(0, 1e7)
REQUESTS = st.lists(st.tuples(st.floats(0, 1.5), st.integers(1, 50)), max_size=60)


def most_in_a_second(grants: list[tuple[float, int]]) -> int:
    """The most granted within any second, its end not included."""
    return max(
        (sum(n for at, n in grants if start <= at and at - start < 1) for start, _ in grants),
        default=0,
    )


@given(RATES, STARTS, REQUESTS)
def test_no_second_has_more_than_a_fifth_over_the_rate(
    rate: float, start: float, requests: list[tuple[float, int]]
) -> None:
    bucket, now, grants = TokenBucket(rate), start, []
    for pause, n in requests:
        now += pause
        grants.append((now, bucket.take(now, n)))
    assert most_in_a_second(grants) <= max(1.2 * rate, ceil(rate)) + 1e-6 * rate


@given(RATES, STARTS)
def test_a_greedy_sender_gets_the_rate_and_not_more(rate: float, start: float) -> None:
    """It always wants more, and asks again exactly when it is told to."""
    bucket, now, grants = TokenBucket(rate), start, []
    for _ in range(200):
        now = bucket.ready_at(now)
        grants.append((now, bucket.take(now, 1_000_000)))
    assert all(n >= 1 for _, n in grants)
    assert most_in_a_second(grants) <= max(1.2 * rate, ceil(rate)) + 1e-6 * rate
    elapsed, granted = now - start, sum(n for _, n in grants)
    assert granted >= int(elapsed * rate * (1 - 1e-6))
    assert granted <= elapsed * rate * (1 + 1e-6) + bucket.burst + 1e-6


@given(RATES, STARTS, st.integers(1, 300), st.floats(0, 2))
def test_what_is_ready_is_granted_and_not_before(rate: float, start: float, n: int, pause: float) -> None:
    bucket = TokenBucket(rate)
    bucket.take(start, 1_000_000)
    now = start + pause
    ready = bucket.ready_at(now, n)
    wanted = min(n, int(bucket.burst))
    assert ready >= now
    if ready > now:
        assert bucket.take(nextafter(now, -inf), wanted) < wanted
        bucket = TokenBucket(rate)
        bucket.take(start, 1_000_000)
    assert bucket.take(ready, wanted) == wanted


@given(st.floats(-1e7, 1e7), st.lists(st.tuples(st.floats(-10, 10), st.integers(0, 5)), max_size=50))
def test_a_clock_that_jumps_never_gives_more_than_time_that_passed(
    start: float, steps: list[tuple[float, int]]
) -> None:
    bucket, now, latest = TokenBucket(10, 5), start, start
    granted = bucket.take(start)
    for step, n in steps:
        now += step
        latest = max(latest, now)
        granted += bucket.take(now, n)
    assert granted <= 5 + (latest - start) * 10 + 1e-3


@given(st.lists(st.tuples(st.floats(0, 0.3), st.integers(5, 100)), min_size=1, max_size=40), STARTS)
def test_changes_of_the_rate_give_nothing_away(changes: list[tuple[float, int]], start: float) -> None:
    highest = max(rate for _, rate in changes)
    bucket, now, grants = TokenBucket(5), start, []
    for pause, rate in changes:
        now += pause
        bucket.change(now, rate)
        grants.append((now, bucket.take(now, 1_000)))
    assert most_in_a_second(grants) <= 1.2 * highest + 1e-6 * highest
