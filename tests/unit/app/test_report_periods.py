"""Periods of reports in words and dates."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from heliograph.app.resources.report_periods import MOST_DAYS, last_months, read_period
from heliograph.app.resources.report_steps import DAY_MS, HOUR_MS, RANGES, cut
from heliograph.domain.calendar import format_offset

BERLIN = ZoneInfo("Europe/Berlin")
NOW = round(datetime(2026, 11, 28, 2, 30, tzinfo=UTC).timestamp() * 1000)  # a Saturday


def days_of(text: str, zone: ZoneInfo = BERLIN) -> tuple[str, str]:
    """The first day, and the day after the last."""
    span, at = read_period(text, NOW, zone, 90.0)
    parts = cut(span, NOW, zone, 90.0, at)
    return format_offset(parts.steps.start, zone)[:10], format_offset(parts.steps.end, zone)[:10]


@pytest.mark.parametrize(
    ("text", "first", "end"),
    [
        ("today", "2026-11-28", "2026-11-29"),
        ("yesterday", "2026-11-27", "2026-11-28"),
        ("this week", "2026-11-23", "2026-11-30"),
        ("last week", "2026-11-16", "2026-11-23"),
        (" Last  Week ", "2026-11-16", "2026-11-23"),
        ("this month", "2026-11-01", "2026-12-01"),
        ("last month", "2026-10-01", "2026-11-01"),
        ("October", "2026-10-01", "2026-11-01"),
        ("oct", "2026-10-01", "2026-11-01"),
        ("2026-10", "2026-10-01", "2026-11-01"),
        ("2026-10-03", "2026-10-03", "2026-10-04"),
        ("2026-10-01..2026-10-15", "2026-10-01", "2026-10-16"),
        ("October..today", "2026-10-01", "2026-11-29"),
    ],
)
def test_a_period_is_whole_days_of_the_zone(text: str, first: str, end: str) -> None:
    assert days_of(text) == (first, end)


@pytest.mark.parametrize(
    ("text", "first", "end"),
    [
        ("December", "2025-12-01", "2026-01-01"),
        ("May 2025", "2025-05-01", "2025-06-01"),
        ("2025", "2025-01-01", "2026-01-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("this year", "2026-01-01", "2027-01-01"),
        ("2024-02", "2024-02-01", "2024-03-01"),
    ],
)
def test_a_month_or_a_year_may_be_long_ago(text: str, first: str, end: str) -> None:
    assert days_of(text, ZoneInfo("UTC")) == (first, end)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("sometimes", "is not a period; there are 1h, 6h"),
        ("", "is not a period"),
        ("ju", "is not a period"),
        ("Ju 2026", "is not a period"),
        ("2026-13", "is not a date"),
        ("2026-02-30", "is not a date"),
        ("9999", "is not a date"),
        ("0001", "is before 1970"),
        ("0001-02..0001-03", "is before 1970"),
        ("2026..2026..2026", "is not a period"),
        ("2026.." * 1_300 + "2026", "is not a period"),
        ("2026-10-15..2026-10-01", "ends before it begins"),
        ("2027-01", "is in the future"),
        ("2020-01-01..today", f"the most are {MOST_DAYS:,}"),
    ],
)
def test_other_words_are_no_period(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_period(text, NOW, BERLIN, 90.0)


def test_ranges_up_to_now_are_as_they_were() -> None:
    assert read_period("24h", NOW, BERLIN, 90.0) == (RANGES["24h"], NOW)


def test_steps_are_finer_while_counts_by_the_hour_exist() -> None:
    def step(text: str) -> int:
        return read_period(text, NOW, BERLIN, 90.0)[0].step

    assert [step(text) for text in ("last week", "October", "this year", "2026-01-07")] == [
        HOUR_MS, 6 * HOUR_MS, DAY_MS, DAY_MS,
    ]  # fmt: skip


def test_a_title_has_the_days() -> None:
    assert read_period("October", NOW, BERLIN, 90.0)[0].title == "1 October 2026 to 31 October 2026"
    assert read_period("yesterday", NOW, BERLIN, 90.0)[0].title == "27 November 2026"


def test_the_last_months_are_periods_too() -> None:
    months = last_months(NOW, BERLIN)
    assert (months[0], months[1], months[11]) == ("November 2026", "October 2026", "December 2025")
    assert days_of(months[11], ZoneInfo("UTC"))[0] == "2025-12-01"
