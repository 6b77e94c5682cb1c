"""Whatever fails, and however little room there is, no name is counted too few times."""

from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.limits.failure_counts import FailureCounts

NAMES = st.integers(0, 30).map(lambda number: number.to_bytes(16, "big"))
STEPS = st.lists(st.tuples(NAMES, st.floats(0, 30)), max_size=80)


@given(STEPS, st.integers(0, 40))
def test_no_name_is_counted_too_few_times(steps: list[tuple[bytes, float]], room: int) -> None:
    counts, now, failed = FailureCounts(60, exact=room), 0.0, list[tuple[bytes, float]]()
    for name, pause in steps:
        now += pause
        counts.add(name, now, now)
        failed.append((name, now))
        assert len(counts) <= room
    for name in {name for name, _ in failed}:
        true = sum(1 for each, at in failed if each == name and at > now - 60)
        assert counts.count(name, now) >= true
        if room > 30:
            assert counts.count(name, now) == true
            wait = counts.wait(name, 1, now)
            assert (wait == 0) == (true == 0)
            assert counts.count(name, now + wait + 0.001) < max(true, 1)
