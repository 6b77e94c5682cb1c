"""What the soak calls growth."""

import pytest

from tests.e2e.soak import SPAN_S, Sample, drift, faults, growth


def samples(
    grow_mib_an_hour: float = 0.0, slow: float = 1.0, log_mib: float = 8.0, free_mib: float = 0.0
) -> list[Sample]:
    """Two hours, of which the first quarter warms up by 30 MiB. `free_mib` is kept in the second half of each span of
    the second hour."""
    return [
        Sample(
            at,
            50
            + min(at, 1800) / 60
            + grow_mib_an_hour * at / 3600
            + free_mib * (at > 3600 and at % SPAN_S > SPAN_S / 2),
            log_mib,
            0,
            10 * slow ** (at / 7200),
        )
        for at in map(float, range(0, 7200, 10))
    ]


def test_warming_up_is_no_growth() -> None:
    assert growth(samples()) == pytest.approx(0, abs=0.01)
    assert drift(samples()) == 1
    assert faults(samples(), []) == []


def test_steady_growth_is_found() -> None:
    assert growth(samples(grow_mib_an_hour=3)) == pytest.approx(3, abs=0.01)
    assert faults(samples(grow_mib_an_hour=3), []) == ["memory grows by 3.00 MiB an hour"]


def test_memory_that_is_given_back_is_no_growth_and_hides_none() -> None:
    assert growth(samples(free_mib=5)) == pytest.approx(0, abs=0.01)
    assert growth(samples(free_mib=5, grow_mib_an_hour=3)) == pytest.approx(3, abs=0.01)


def test_slower_answers_and_a_long_log_are_found() -> None:
    assert faults(samples(slow=10, log_mib=300), []) == [
        "the write-ahead log grew to 300 MiB",
        "p99 of the answers is 3.2 times the first",
    ]


def test_the_findings_of_the_audit_are_passed_on() -> None:
    assert faults(samples(), ["a balance is wrong"]) == ["a balance is wrong"]
