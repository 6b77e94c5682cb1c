"""The rates of accounts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.app.sending.limits import RateLimits


def test_a_rate_allows_a_second_at_once_and_then_keeps_to_itself() -> None:
    rates = RateLimits()
    sent = sum(not rates.take(1, 5.0, 1, tenth / 10) for tenth in range(100) for _ in range(3))
    assert 50 <= sent <= 55


def test_a_large_request_goes_and_holds_up_the_next_until_its_messages_would_have_gone() -> None:
    rates = RateLimits()
    assert rates.take(1, 10.0, 1000, 0.0) == 0
    assert rates.take(1, 10.0, 1, 98.0) == pytest.approx(1.1)
    assert rates.take(1, 10.0, 1, 9.0) == pytest.approx(90.1)
    assert rates.take(1, 10.0, 1000, 99.15) == pytest.approx(0.85)
    assert rates.take(1, 10.0, 1, 99.15) == 0
    assert rates.take(1, 10.0, 1, 99.15) > 0


def test_what_may_not_go_is_not_counted() -> None:
    rates = RateLimits()
    assert rates.take(1, 1.0, 1, 0.0) == 0
    assert [rates.take(1, 1.0, 1, 0.5) for _ in range(3)] == [0.5, 0.5, 0.5]
    assert rates.take(1, 1.0, 1, 1.0) == 0


def test_each_account_has_its_own() -> None:
    rates = RateLimits()
    assert rates.take(1, 1.0, 1, 0.0) == 0
    assert rates.take(2, 1.0, 1, 0.0) == 0
    assert rates.take(1, 1.0, 1, 0.0) > 0


def test_another_rate_holds_at_once_and_what_has_gone_counts() -> None:
    rates = RateLimits()
    steps = ((1.0, 0.0), (1.0, 0.02), (100.0, 0.03), (100.0, 0.05), (1.0, 0.06), (1.0, 0.07))
    went = [(rate, not rates.take(1, rate, 1, at)) for rate, at in steps]
    assert went == [(1.0, True), (1.0, False), (100.0, False), (100.0, True), (1.0, True), (1.0, False)]


def test_a_burst_may_come_at_once_and_the_rate_goes_on_behind_it() -> None:
    rates = RateLimits()
    assert [rates.take(1, 2.0, 1, 0.0, 20) for _ in range(20)] == [0.0] * 20
    assert 0 < rates.take(1, 2.0, 1, 0.0, 20) <= 0.5
    assert rates.take(1, 2.0, 1, 0.5, 20) == 0


def test_another_burst_holds_at_once() -> None:
    rates = RateLimits()
    assert rates.take(1, 2.0, 1, 0.0, 20) == 0
    assert [rates.take(1, 2.0, 1, 0.0, 3) for _ in range(3)] == [0.0] * 3
    assert rates.take(1, 2.0, 1, 0.0, 3) > 0


@given(
    rate=st.floats(0.1, 1e6),
    burst=st.integers(0, 50),
    requests=st.lists(st.tuples(st.floats(0, 3), st.integers(1, 100))),
)
def test_no_more_goes_than_the_rate_and_one_burst_or_request(
    rate: float, burst: int, requests: list[tuple[float, int]]
) -> None:
    rates = RateLimits()
    now, gone = 0.0, 0
    most = max(1.0, burst or rate)
    for pause, messages in requests:
        now += pause
        wait = rates.take(1, rate, messages, now, burst)
        if wait:
            assert wait <= (messages + gone) / rate
            assert rates.take(1, rate, messages, now + wait * (1 + 1e-9) + 1e-9, burst) == 0
            now += wait * (1 + 1e-9) + 1e-9
        gone += messages
        assert gone <= (rate * now + max(most, messages)) * (1 + 1e-6) + 1e-6


def test_a_request_larger_than_the_burst_goes_at_once_and_uses_up_the_next_seconds() -> None:
    rates = RateLimits()
    assert rates.take(1, 200.0, 1_000, 0.0) == 0
    assert rates.take(1, 200.0, 1, 0.0) == pytest.approx(4.005)
    assert rates.take(1, 200.0, 1_000, 4.0) == pytest.approx(1.0), "only after a whole second without messages"
