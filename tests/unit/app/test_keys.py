"""Until when a key is good."""

import pytest

from heliograph.app.resources.desk import Invalid
from heliograph.app.resources.keys import MOST_DAYS, parse_expiry
from heliograph.domain.calendar import DAY_MS
from tests.support.gateway import START


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("90d", 90),
        ("1d", 1),
        (f"{MOST_DAYS}d", MOST_DAYS),
        ("2027-01-16T08:00:00Z", 1),
        ("2027-01-17T10:00:00+02:00", 2),
    ],
)
def test_a_time_to_come(text: str, days: int) -> None:
    assert parse_expiry(text, START) == START + days * DAY_MS


def test_a_date_is_its_begin_and_nothing_is_never() -> None:
    assert parse_expiry("2027-01-16", START) == START + DAY_MS - 8 * 3_600_000
    assert parse_expiry("", START) is None


@pytest.mark.parametrize(
    "text", ["0d", "9999d", "-1d", "soon", "2027-01-15", "2026-12-31", "2099-01-01", "2027-02-30", "90"]
)
def test_what_is_no_time_to_come_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as problem:
        parse_expiry(text, START)
    assert problem.value.field == "expires"
