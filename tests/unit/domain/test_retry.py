import pytest

from heliograph.domain.message.retry import next_pause


@pytest.mark.parametrize(
    ("attempt", "jitter", "pause"),
    [
        (1, 0.0, 4_000),
        (1, 0.5, 5_000),
        (1, 0.999999, 5_999),
        (2, 0.5, 10_000),
        (3, 0.5, 20_000),
        (10, 0.5, 2_560_000),
        (11, 0.5, 3_000_000),
        (1_000_000, 0.5, 3_000_000),
    ],
)
def test_pauses(attempt: int, jitter: float, pause: int) -> None:
    assert next_pause(attempt, jitter) == pause


def test_attempts_are_counted_from_one() -> None:
    with pytest.raises(ValueError, match="from 1"):
        next_pause(0, 0.5)


def test_a_day_has_about_thirty_attempts() -> None:
    elapsed, attempt = 0, 1
    while elapsed < 86_400_000:
        elapsed += next_pause(attempt, 0.5)
        attempt += 1
    assert 30 <= attempt <= 45
