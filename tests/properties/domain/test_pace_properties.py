"""The pace against limits that nobody thought of."""

from copy import deepcopy
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.domain.pace.pace import Pace
from heliograph.simulator.limiter import BucketLimiter, CalendarLimiter, SlidingLimiter
from tests.support.paced_link import Limit, PacedLink

RATES = st.integers(8, 400)
LOW_RATES = st.integers(8, 100)
"""For many runs: a run has as many steps as parts."""


@st.composite
def limits(draw: st.DrawFn, rates: st.SearchStrategy[int] = RATES) -> tuple[float, Limit]:
    """What it takes a second, and the limit. Of spans beyond two seconds it may take three quarters to find."""
    rate = draw(rates)
    span_s = draw(st.sampled_from([0.2, 0.5, 1.0, 2.0]))
    count = max(4, round(rate * span_s))
    match draw(st.sampled_from(["bucket", "sliding", "calendar"])):
        case "bucket":
            return rate, BucketLimiter(rate, draw(st.integers(2, 100)))
        case "sliding":
            return count / span_s, SlidingLimiter(count, span_s)
        case _:
            return count / span_s, CalendarLimiter(count, span_s)


@pytest.mark.slow
@settings(max_examples=20)
@given(limits(), st.sampled_from([0.0, 0.01, 0.1, 0.3]), st.integers(0, 1_000))
def test_most_of_what_it_takes_is_sent_and_little_more(
    limited: tuple[float, Limit], latency_s: float, seed: int
) -> None:
    takes, limit = limited
    link = PacedLink(limit, latency_s, seed=seed)
    link.run(100)
    assert link.goodput(40, 100) >= 0.8 * takes
    assert link.share_throttled(40, 100) < 0.06


@settings(max_examples=6)
@given(limits(LOW_RATES), st.floats(0.005, 0.2), st.sampled_from([0.0, 0.01, 0.1]), st.integers(0, 1_000))
def test_an_operator_that_throttles_at_random_besides_is_not_starved(
    limited: tuple[float, Limit], share: float, latency_s: float, seed: int
) -> None:
    """A run may be unlucky, two of three are not: of 240 operators with up to three parts in ten at random, a run each,
    the worst got 37 percent of what it took, and the mean 94."""
    takes, limit = limited
    got = []
    for each in range(3):
        link = PacedLink(deepcopy(limit), latency_s, seed=seed + each, at_random=share)
        link.run(80)
        got.append(link.goodput(40, 80))
    assert sorted(got)[1] >= 0.4 * takes


@settings(max_examples=20)
@given(limits(), st.floats(1, 200), st.sampled_from([0.0, 0.05]))
def test_a_configured_limit_is_never_passed(limited: tuple[float, Limit], configured: float, latency_s: float) -> None:
    link = PacedLink(limited[1], latency_s, configured=configured)
    link.run(20)
    for second in range(19):
        sent = sum(second <= at < second + 1 for at, _ in link.sent)
        assert sent <= max(1.2 * configured, configured + 2)


ANSWERS = st.lists(
    st.tuples(
        st.sampled_from(["send", "taken", "throttled", "lost", "limit", "congested"]),
        st.floats(0, 3), st.integers(1, 50),
    ),
    max_size=120,
)  # fmt: skip


@given(ANSWERS, st.sampled_from([0.0, 0.5, 20.0]))
def test_whatever_is_answered_it_goes_on_at_some_time(answers: list[tuple[str, float, int]], limit: float) -> None:
    pace, now, flying = Pace(limit), 0.0, list[float]()
    for kind, after, n in answers:
        now += after
        if kind == "send":
            granted = pace.take(now, n)
            assert 0 <= granted <= n
            flying += [now] * granted
        elif kind == "limit":
            pace.limit(now, float(n))
        elif kind == "congested":
            pace.congested(now, 2 * n)
        elif flying:
            written = flying.pop(0)
            if kind == "taken" and pace.is_free:
                pace.took_freely(now, 1)
            elif kind == "taken":
                pace.taken(written, now)
            elif kind != "lost":
                pace.throttled(written, now)
    ready = pace.ready_at(now)
    assert now <= ready < now + 15
    assert pace.take(ready, 1) == 1
    assert 0 < pace.rate <= inf
