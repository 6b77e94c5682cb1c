"""The rates of accounts."""

from heliograph.app.sending.limits import RateLimits


def go(rates: RateLimits, rate: float, now: float, messages: int = 1) -> float:
    """Counts the messages where they may go; returns how long they must wait."""
    wait = rates.wait(1, rate, messages, now)
    if not wait:
        rates.count(1, rate, messages, now)
    return wait


def test_a_rate_allows_a_second_at_once_and_then_keeps_to_itself() -> None:
    rates = RateLimits()
    sent = sum(not go(rates, 5.0, tenth / 10) for tenth in range(100) for _ in range(3))
    assert 50 <= sent <= 55


def test_a_large_request_goes_and_holds_up_the_next() -> None:
    rates = RateLimits()
    assert go(rates, 10.0, 0.0, 1000) == 0
    assert 0 < go(rates, 10.0, 98.0) <= 1
    assert 89 < go(rates, 10.0, 9.0) <= 90
    assert go(rates, 10.0, 99.1) == 0


def test_asking_counts_nothing() -> None:
    rates = RateLimits()
    assert [rates.wait(1, 1.0, 1, 0.0) for _ in range(3)] == [0.0, 0.0, 0.0]


def test_each_account_has_its_own() -> None:
    rates = RateLimits()
    assert go(rates, 1.0, 0.0) == 0
    assert rates.wait(2, 1.0, 1, 0.0) == 0
    assert rates.wait(1, 1.0, 1, 0.0) > 0


def test_another_rate_holds_at_once_and_what_has_gone_counts() -> None:
    rates = RateLimits()
    steps = ((1.0, 0.0), (1.0, 0.02), (100.0, 0.03), (100.0, 0.05), (1.0, 0.06), (1.0, 0.07))
    went = [(rate, not go(rates, rate, at)) for rate, at in steps]
    assert went == [(1.0, True), (1.0, False), (100.0, False), (100.0, True), (1.0, True), (1.0, False)]


def test_a_burst_may_come_at_once_and_the_rate_goes_on_behind_it() -> None:
    rates = RateLimits()
    for _ in range(20):
        assert rates.wait(1, 2.0, 1, 0.0, 20) == 0
        rates.count(1, 2.0, 1, 0.0)
    assert 0 < rates.wait(1, 2.0, 1, 0.0, 20) <= 0.5
    assert rates.wait(1, 2.0, 1, 0.5, 20) == 0


def test_another_burst_holds_at_once() -> None:
    rates = RateLimits()
    assert rates.wait(1, 2.0, 1, 0.0, 20) == 0
    for _ in range(3):
        assert rates.wait(1, 2.0, 1, 0.0, 3) == 0
        rates.count(1, 2.0, 1, 0.0)
    assert rates.wait(1, 2.0, 1, 0.0, 3) > 0
