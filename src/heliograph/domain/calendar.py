"""Times as customers write and read them; inside, a time is whole milliseconds since the Unix epoch, UTC."""

import re
from datetime import UTC, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

DAY_MS = 86_400_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST_S = 253_402_300_799  # the last second of the year 9999
_FORMS = "write YYYY-MM-DD HH:MM:SS, ISO 8601 with T, or Unix seconds"

_SECONDS = re.compile(r"([0-9]{1,19})(?:\.([0-9]{1,19}))?").fullmatch
_DATE_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?: ([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"|[Tt]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,19}))?)?([Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)?)"
).fullmatch
_MINUTE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}").fullmatch
_UNESCAPED_PLUS = re.compile(r".*[Tt].* [0-9]{2}:?[0-9]{2}").fullmatch
_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*").fullmatch
# Entries in the database of zones that are no zones: the machine's own zone, and the trees with leap seconds.
_NO_ZONES = ("localtime", "posixrules", "posix/", "right/")
_QUARTER_S: Final = 900  # offsets from UTC are whole quarters of an hour nowadays
_SIXTY: Final = [f"{number:02}" for number in range(60)]


class TimeProblem(ValueError):
    """An unusable time; its text has the problem and the solution."""


def zone(name: str) -> ZoneInfo:
    """Returns the zone of an IANA name such as `Europe/Berlin`. Raises ValueError, with a sentence for people, if there
    is none.
    """
    problem = f"{name!r} is no time zone; give an IANA name such as UTC or Europe/Berlin"
    if _ZONE(name) is None or name.startswith(_NO_ZONES):
        raise ValueError(problem)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # OSError: a directory of zones, such as `Europe`
        raise ValueError(problem) from None


def day_of(at: int, zone: tzinfo) -> tuple[int, int]:
    """Returns begin and end (ms) of the day of a time (ms) in a zone."""
    today = datetime.fromtimestamp(at / 1000, zone).date()
    first, last = (datetime.combine(day, time.min, zone) for day in (today, today + timedelta(days=1)))
    return int(first.timestamp()) * 1000, int(last.timestamp()) * 1000


def month_start(at: int) -> int:
    """Returns the beginning of the month of UTC, in ms since the epoch."""
    moment = datetime.fromtimestamp(at / 1000, UTC)
    return int(datetime(moment.year, moment.month, 1, tzinfo=UTC).timestamp()) * 1000


def day_steps(at: int, days: int, zone: tzinfo, *, parts: int = 1, back: int = 0) -> list[int]:
    """Returns the beginnings of `days` days in a zone, and the end of the last, in ms, ascending. The last day is
    `back` days before the day of `at`.

    Each day is split into `parts` of equal hours by its clock. A day of a clock change has 23 or 25 hours, and one of
    its parts an hour less or more. A day that a zone skipped is left out.
    """
    end = datetime.fromtimestamp(at / 1000, zone).date() + timedelta(days=1 - back)
    bounds: list[int] = []
    for number in range(-days * parts, 1):
        day, part = divmod(number, parts)
        begins = datetime.combine(end + timedelta(days=day), time(24 // parts * part), zone)
        bounds.append(max(int(begins.timestamp()) * 1000, bounds[-1] if bounds else 0))
    return bounds


def parse_time(value: str | int | Decimal, zone: ZoneInfo) -> int:
    """Returns milliseconds since the epoch; finer fractions are truncated.

    Accepts `2026-03-01 08:30:00` in `zone`; ISO 8601 such as `2026-03-01T08:30:00Z`, in `zone` without an offset; Unix
    seconds as a number or as digits, with fractions. Of a local time that occurs twice, the earlier is meant. Raises
    TimeProblem for other texts, for invalid dates, and for a local time that is skipped.
    """
    if not isinstance(value, str):
        return _from_number(value)
    seconds = _SECONDS(value)
    if seconds is not None:
        return _bounded(int(seconds[1])) * 1000 + _milliseconds(seconds[2])
    match = _DATE_TIME(value)
    if match is None:
        if _UNESCAPED_PLUS(value) is not None:
            raise TimeProblem(f"The time {value!r} has a space before its offset; a + in a URL or form is %2B.")
        raise TimeProblem(f"The time {value!r} cannot be read; {_FORMS}.")
    year, month, day, *clock, fraction, offset = match.groups()
    hour, minute, second = clock[:3] if clock[0] is not None else clock[3:]
    try:
        local = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second or 0))  # noqa: DTZ001
        there = local.replace(tzinfo=_offset(offset) if offset else zone)
        milliseconds = (there - _EPOCH) // timedelta(milliseconds=1)
        skipped = offset is None and there.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != local
    except (ValueError, OverflowError):
        raise TimeProblem(f"The time {value!r} does not exist; give a real date and time of day.") from None
    if skipped:
        raise TimeProblem(f"The time {value!r} is skipped by a clock change in {zone.key}; give another time.")
    return milliseconds + _milliseconds(fraction)


def with_seconds(text: str) -> str:
    """Returns `2026-03-01 08:30` with its seconds, `2026-03-01 08:30:00`, and other texts unchanged.

    For commands and files, which people write. Requests of customers give the seconds.
    """
    return f"{text}:00" if _MINUTE(text) is not None else text


def check_future(ms: int, now: int, horizon_days: int) -> None:
    """Raises TimeProblem unless `ms` lies after `now` and at most `horizon_days` after it."""
    if ms <= now:
        raise TimeProblem("The time has passed; give a future time.")
    if ms - now > horizon_days * DAY_MS:
        raise TimeProblem(f"The time is too far ahead; at most {horizon_days} days are possible.")


def format_utc(ms: int) -> str:
    """Returns ISO 8601 in UTC, for example `2026-03-01T08:30:00.000Z`."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def format_offset(ms: int, zone: tzinfo) -> str:
    """Returns ISO 8601 in the zone, with milliseconds and the offset from UTC, or `Z` for none."""
    return datetime.fromtimestamp(ms / 1000, zone).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_utc(text: str) -> int:
    """Reads a text of `format_utc`."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def format_local(ms: int, zone: ZoneInfo) -> str:
    """`YYYY-MM-DD HH:MM:SS` in the zone; the fraction of the second is cut off."""
    seconds = ms // 1000
    quarter, second = divmod(seconds, _QUARTER_S)
    known = _quarter(quarter, zone)
    if known is None:
        return _spelled(seconds, zone)
    hour, minute = known
    return f"{hour}{_SIXTY[minute + second // 60]}:{_SIXTY[second % 60]}"


@lru_cache(maxsize=4096)
def _quarter(number: int, zone: ZoneInfo) -> tuple[str, int] | None:
    """Returns `YYYY-MM-DD HH:` and the minute at which this quarter of an hour, counted from the epoch, begins in the
    zone.

    Returns None if the clock changes within it, or if the quarter does not exist there: offsets were not always whole
    quarters of an hour.
    """
    # The receipts of a busy account fall into a few quarters of an hour, and so do a list or a month of messages.
    first = number * _QUARTER_S
    last = first + _QUARTER_S - 1
    begins, ends = datetime.fromtimestamp(first, zone), datetime.fromtimestamp(last, zone)
    # differences of two local times follow the zone's clock
    if begins.minute % 15 or begins.second or ends - begins != timedelta(seconds=last - first):
        return None
    return _spelled(first, zone)[: len("YYYY-MM-DD HH:")], begins.minute


def _spelled(seconds: int, zone: ZoneInfo) -> str:
    return datetime.fromtimestamp(seconds, zone).isoformat(" ")[: len("YYYY-MM-DD HH:MM:SS")]


def _from_number(value: int | Decimal) -> int:
    if isinstance(value, bool):
        raise TimeProblem(f"The time cannot be true or false; {_FORMS}.")
    if isinstance(value, Decimal):
        if not value.is_finite() or value.adjusted() > 19:
            raise TimeProblem(f"The time {value} cannot be read; {_FORMS}.")
        # By its digits: Decimal's own arithmetic rounds to the precision of the context.
        sign, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        number = int("".join(map(str, digits)) or "0")
        shift = exponent + 3
        scale: int = 10 ** min(abs(shift), len(digits) + 30)
        milliseconds = number * scale if shift >= 0 else number // scale
        milliseconds = -milliseconds if sign else milliseconds
    else:
        milliseconds = value * 1000
    _bounded(milliseconds // 1000)
    return milliseconds


def _bounded(seconds: int) -> int:
    if not -_LATEST_S <= seconds <= _LATEST_S:
        raise TimeProblem(f"The time {seconds} is out of range; Unix time is in seconds, not milliseconds.")
    return seconds


def _milliseconds(fraction: str | None) -> int:
    return int(fraction[:3].ljust(3, "0")) if fraction else 0


def _offset(text: str) -> tzinfo:
    if text in "Zz":
        return UTC
    digits = text[1:].replace(":", "")
    minutes = int(digits[:2]) * 60 + int(digits[2:] or 0)
    if int(digits[2:] or 0) > 59:
        raise ValueError(text)
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))
