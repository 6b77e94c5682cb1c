"""The breaker: when it opens, tests and closes."""

from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.pace.breaker import LATEST, TEST_S, Breaker


def test_it_opens_at_half_of_the_latest_answers() -> None:
    breaker = Breaker()
    for _ in range(LATEST // 2 - 1):
        breaker.answered(0.0, failed=True)
    assert not breaker.is_open
    breaker.answered(0.0, failed=True)
    assert breaker.is_open


def test_a_single_test_message_closes_it() -> None:
    breaker = Breaker()
    for _ in range(LATEST):
        breaker.answered(10.0, failed=True)
    assert not breaker.may_test(10.0 + TEST_S - 0.1)
    assert breaker.may_test(10.0 + TEST_S)
    breaker.tests(10.0 + TEST_S)
    assert not breaker.may_test(10.0 + TEST_S)
    breaker.answered(16.0, failed=True)
    assert breaker.is_open
    breaker.answered(20.0, failed=False)
    assert (breaker.is_open, breaker.failures) == (False, 0)


@given(st.lists(st.booleans(), max_size=400))
def test_it_counts_the_latest_answers_only(answers: list[bool]) -> None:
    """While it is closed, it is open exactly when half of the last answers are failures."""
    breaker, seen = Breaker(), [False] * LATEST
    for failed in answers:
        breaker.answered(0.0, failed=failed)
        seen = [*seen[1:], failed]
        opens = failed and sum(seen) * 2 >= LATEST
        assert breaker.is_open == opens
        if opens:
            break
        assert bool(breaker.failures) == any(seen)
