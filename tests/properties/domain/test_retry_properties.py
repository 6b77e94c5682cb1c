from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.message.retry import next_pause

ATTEMPTS = st.integers(1, 10_000)
JITTERS = st.floats(0, 1, exclude_max=True)


@given(ATTEMPTS, JITTERS)
def test_a_pause_is_at_most_an_hour_and_within_the_jitter(attempt: int, jitter: float) -> None:
    pause = next_pause(attempt, jitter)
    middle = next_pause(attempt, 0.5)
    assert 0.8 * middle <= pause <= 1.2 * middle
    assert 4_000 <= pause <= 3_600_000


@given(st.integers(1, 9))
def test_each_is_double_the_one_before(attempt: int) -> None:
    assert next_pause(attempt + 1, 0.5) == 2 * next_pause(attempt, 0.5)


@given(ATTEMPTS, JITTERS)
def test_pauses_never_shrink(attempt: int, jitter: float) -> None:
    assert next_pause(attempt + 1, jitter) >= next_pause(attempt, jitter)
