"""How long data are kept."""

import pytest

from heliograph.domain.calendar import DAY_MS
from heliograph.domain.message.retention import SCHEDULED, RetentionDays, Stage

NOW = 1_700_000_000_000


def test_by_default_everything_is_kept() -> None:
    assert [RetentionDays().before(stage, NOW) for stage in Stage] == [None] * 4
    assert RetentionDays().shortest is None


def test_each_stage_has_its_own_days() -> None:
    kept = RetentionDays(1, 2.5, 30)
    assert [kept.before(stage, NOW) for stage in SCHEDULED] == [
        NOW - DAY_MS, NOW - int(2.5 * DAY_MS), NOW - 30 * DAY_MS
    ]  # fmt: skip
    assert kept.before(Stage.ERASURE, NOW) is None
    assert kept.shortest == 1


@pytest.mark.parametrize(
    ("own", "found"),
    [((None, None, None), (10, 20, 0)), ((0, None, 5), (0, 20, 5)), ((1.5, 0, 0), (1.5, 0, 0))],
)
def test_what_an_account_has_of_its_own_goes_first(own: tuple[float | None, ...], found: tuple[float, ...]) -> None:
    kept = RetentionDays(10, 20, 0).override(*own)
    assert (kept.text_days, kept.number_days, kept.days) == found


def test_nothing_is_kept_for_ever_by_one_that_has_a_shorter_other() -> None:
    assert RetentionDays(0, 20, 7).shortest == 7
