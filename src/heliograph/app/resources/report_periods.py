"""Periods of reports in words and dates, such as `last week`, `October` and `2026-10-01..2026-10-15`.

They are whole days of a time zone. A week begins on Monday. A month without a year is the latest that has begun.
"""

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from heliograph.app.resources.report_steps import DAY_MS, HOUR_MS, RANGES, TimeRange
from heliograph.domain.series import Grain

WORDS: Final = ("today", "yesterday", "this week", "last week", "this month", "last month", "this year", "last year")

MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip

FIRST_YEAR: Final = 1970
"""Counts have no earlier time."""

MOST_DAYS: Final = 1_100
"""Days. The longest period: three years."""

FORMS: Final = (
    f"{', '.join(RANGES)}, {', '.join(WORDS)}, a month such as October or 2026-10, a day such as 2026-10-03, or days "
    "such as 2026-10-01..2026-10-15"
)

_MONTH = re.compile(r"([a-z]{3,9})(?: (\d{4}))?", re.IGNORECASE).fullmatch
_NUMBERED = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?", re.ASCII).fullmatch


def read_period(text: str, now: int, zone: ZoneInfo, hours_days: float) -> tuple[TimeRange, int]:
    """Returns a period and a time (ms) within its last day. Counts by the hour exist for `hours_days` days. Raises
    ValueError with a sentence for people."""
    known = RANGES.get(text)
    if known is not None:
        return known, now
    today = datetime.fromtimestamp(now / 1000, zone).date()
    words = " ".join(text.split())
    first, end = _days(words, today)
    days = (end - first).days
    if days < 1:
        raise ValueError(f"{text!r} ends before it begins")
    if days > MOST_DAYS:
        raise ValueError(f"{text!r} has {days:,} days; the most are {MOST_DAYS:,}")
    if first.year < FIRST_YEAR:
        raise ValueError(f"{text!r} is before {FIRST_YEAR}")
    if first > today:
        raise ValueError(f"{text!r} is in the future")
    has_hours = _at(first, zone) >= now - int(hours_days * DAY_MS)
    step = DAY_MS if days > 31 or not has_hours else HOUR_MS if days <= 7 else 6 * HOUR_MS
    last = end - timedelta(days=1)
    title = _spelled(first) if first == last else f"{_spelled(first)} to {_spelled(last)}"
    fine = Grain.DAY if step == DAY_MS else Grain.HOUR
    return TimeRange(words, title, days * DAY_MS, step, fine, Grain.DAY), _at(last, zone)


def last_months(now: int, zone: ZoneInfo) -> list[str]:
    """Returns the last twelve months, the present month first, such as `October 2026`."""
    today = datetime.fromtimestamp(now / 1000, zone)
    numbers = range(today.year * 12 + today.month - 1, today.year * 12 + today.month - 13, -1)
    return [f"{MONTHS[number % 12]} {number // 12}" for number in numbers]


def _days(words: str, today: date) -> tuple[date, date]:
    """Returns the first day, and the day after the last."""
    first, dots, last = words.partition("..")
    if dots and ".." not in last:
        return _days(first.strip(), today)[0], _days(last.strip(), today)[1]
    spoken = _SPOKEN.get(words.lower())
    if spoken is not None:
        return spoken(today)
    named, numbered = _MONTH(words), _NUMBERED(words)
    if numbered is not None:
        year, month, day = (int(each) if each else 0 for each in numbered.groups())
        try:
            if day:
                return date(year, month, day), date(year, month, day) + timedelta(days=1)
            return _month(year, month) if month else (date(year, 1, 1), date(year + 1, 1, 1))
        except (ValueError, OverflowError):
            raise ValueError(f"{words!r} is not a date") from None
    months = [number for number, name in enumerate(MONTHS, 1) if named and name.lower().startswith(named[1].lower())]
    if named is None or len(months) != 1:
        raise ValueError(f"{words!r} is not a period; there are {FORMS}")
    year = int(named[2]) if named[2] else today.year - (months[0] > today.month)
    return _month(year, months[0])


def _month(year: int, month: int) -> tuple[date, date]:
    return date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)


def _week(day: date) -> tuple[date, date]:
    monday = day - timedelta(days=day.weekday())
    return monday, monday + timedelta(days=7)


def _day(day: date) -> tuple[date, date]:
    return day, day + timedelta(days=1)


def _before(day: date) -> date:
    return day - timedelta(days=1)


_SPOKEN: Final[dict[str, Callable[[date], tuple[date, date]]]] = {
    "today": _day,
    "yesterday": lambda today: _day(_before(today)),
    "this week": _week,
    "last week": lambda today: _week(_before(_week(today)[0])),
    "this month": lambda today: _month(today.year, today.month),
    "last month": lambda today: _month(_before(today.replace(day=1)).year, _before(today.replace(day=1)).month),
    "this year": lambda today: (date(today.year, 1, 1), date(today.year + 1, 1, 1)),
    "last year": lambda today: (date(today.year - 1, 1, 1), date(today.year, 1, 1)),
}


def _at(day: date, zone: ZoneInfo) -> int:
    return int(datetime(day.year, day.month, day.day, 12, tzinfo=zone).timestamp()) * 1000


def _spelled(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"
