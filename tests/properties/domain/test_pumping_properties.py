"""The pumping guard's judgement: two signs together, whatever the numbers."""

from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.limits.pumping import (
    BLOCKS,
    FAILED_SHARE,
    LEAST,
    LEAST_ENDED,
    NEAR_SHARE,
    SURGE,
    Neighbourhood,
    TrafficCount,
    TrafficFigures,
    suspicion,
)

COUNTS = st.integers(0, 10_000)


@given(messages=COUNTS, near=COUNTS, ended=COUNTS, failed=COUNTS, hours=st.integers(0, 192), earlier=COUNTS)
def test_two_signs_together_are_suspicious_and_one_is_not(
    messages: int, near: int, ended: int, failed: int, hours: int, earlier: int
) -> None:
    near, failed = min(near, messages), min(failed, ended)
    usual = earlier / hours if hours else 0.0
    signs = (
        messages >= SURGE * max(usual, LEAST / SURGE),
        near >= NEAR_SHARE * messages,
        ended >= LEAST_ENDED and failed >= FAILED_SHARE * ended,
    )
    why = suspicion(TrafficFigures(TrafficCount(1, "49170", 0, messages, near, ended, failed), hours, earlier))
    assert (why is not None) == (messages >= LEAST and sum(signs) >= 2)
    assert why is None or why.count(";") == sum(signs) - 1


@given(start=st.integers(10**10, 10**14), step=st.integers(1, 5), count=st.integers(LEAST, 300))
def test_numbers_in_a_row_are_neighbours_and_the_same_number_is_none_of_its_own(
    start: int, step: int, count: int
) -> None:
    known = Neighbourhood()
    met = [known.meet(str(start + step * place)) for place in range(count)]
    assert not met[0]
    assert all(met[1:])
    assert len(known.latest) <= BLOCKS
    alone = Neighbourhood()
    assert not any(alone.meet(str(start)) for _ in range(count))


@given(numbers=st.lists(st.integers(10**10, 10**14), max_size=400))
def test_what_is_remembered_is_bounded(numbers: list[int]) -> None:
    known = Neighbourhood()
    for number in numbers:
        known.meet(str(number))
    assert len(known.latest) <= BLOCKS
