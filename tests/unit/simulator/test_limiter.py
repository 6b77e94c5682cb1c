"""Limits of the simulated operator: no more passes than each says, and no less than that."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.simulator.behaviour import Behaviour
from heliograph.simulator.limiter import BucketLimiter, CalendarLimiter, Limiter, LimiterKind, SlidingLimiter

PAUSES = st.lists(st.floats(0.0, 0.5), max_size=200)
COUNTS = st.sampled_from([1, 5, 50])


def passed(limiter: Limiter, pauses: list[float]) -> list[float]:
    now, times = 0.0, []
    for pause in pauses:
        now += pause
        if limiter.take(now):
            times.append(now)
        assert 0 <= limiter.load <= 99
    return times


@given(PAUSES, st.sampled_from([1.0, 7.0, 50.0]), st.sampled_from([1.0, 5.0]), st.booleans())
def test_a_bucket(pauses: list[float], rate: float, burst: float, counts_refused: bool) -> None:
    times = passed(BucketLimiter(rate, burst, counts_refused=counts_refused), pauses)
    for first in range(len(times)):
        for last in range(first, len(times)):
            assert last - first + 1 <= burst + rate * (times[last] - times[first]) + 1e-6


@given(PAUSES, COUNTS, st.sampled_from([0.1, 1.0, 3.0]), st.booleans())
def test_any_span(pauses: list[float], count: int, span_s: float, counts_refused: bool) -> None:
    times = passed(SlidingLimiter(count, span_s, counts_refused=counts_refused), pauses)
    for first, start in enumerate(times):
        assert sum(start - span_s < at <= start for at in times[: first + 1]) <= count


@given(PAUSES, COUNTS, st.sampled_from([0.25, 1.0, 4.0]))
def test_each_span(pauses: list[float], count: int, span_s: float) -> None:
    times = passed(CalendarLimiter(count, span_s), pauses)
    spans = [int(at / span_s) for at in times]
    assert all(spans.count(span) <= count for span in spans)


@pytest.mark.parametrize(
    "make", [lambda: BucketLimiter(50, 10), lambda: SlidingLimiter(50, 1), lambda: CalendarLimiter(50, 1)]
)
def test_what_is_offered_in_excess_passes_as_far_as_the_limit(make: Callable[[], Limiter]) -> None:
    assert 500 <= len(passed(make(), [0.005] * 2_000)) <= 560


@pytest.mark.parametrize("make", [BucketLimiter, SlidingLimiter])
def test_what_is_refused_may_count_too(make: Callable[..., Limiter]) -> None:
    arguments = (10, 10) if make is BucketLimiter else (10, 1)
    greedy = len(passed(make(*arguments, counts_refused=True), [0.01] * 1_000))
    assert greedy < 30, "who goes on asking gets nothing"
    limiter = make(*arguments, counts_refused=True)
    passed(limiter, [0.001] * 1_000)
    assert limiter.take(20.0), "and is forgiven"


@pytest.mark.parametrize(
    ("kind", "made"),
    [
        (LimiterKind.BUCKET, BucketLimiter),
        (LimiterKind.SLIDING, SlidingLimiter),
        (LimiterKind.CALENDAR, CalendarLimiter),
    ],
)
def test_the_knobs_make_it(kind: LimiterKind, made: type[Limiter]) -> None:
    behaviour = Behaviour(throttle_per_s=10, throttle_by=kind, throttle_span_ms=60_000, throttle_burst=600)
    limiter = behaviour.limiter(0.0)
    assert isinstance(limiter, made)
    assert len(passed(limiter, [0.001] * 700)) in (600, 606)
