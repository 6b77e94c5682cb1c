"""Times of SMPP v3.4, 7.1.1: `YYMMDDhhmmsstnnp`.

absolute   240131235959000+   p is + or -, nn the quarters of an hour from UTC
relative   000007000000000R   years, months, days, hours, minutes, seconds from now
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

_TIME: Final = re.compile(r"([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})([0-9])([0-9]{2})([-+R])")

_DAYS_OF_YEAR: Final = 365
_DAYS_OF_MONTH: Final = 30
"""Days of a relative year and month, which have no length that both ends agree on."""

_MOST_QUARTERS: Final = 48
"""Quarters of an hour from UTC, at most (5.2.13)."""


def read_time(text: str, now: int) -> int | None:
    """Returns a time as ms since the epoch, or None if the text is no time of SMPP. `now` is in ms.

    Raises nothing: `000000000000000R`, which some clients send for "none", is now.
    """
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, tenth, quarters = map(int, match.groups()[:8])
    sign = match[9]
    if sign == "R":
        days = year * _DAYS_OF_YEAR + month * _DAYS_OF_MONTH + day
        return now + ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1_000
    if quarters > _MOST_QUARTERS:
        return None
    offset = timedelta(minutes=15 * quarters)
    try:
        at = datetime(
            2000 + year, month, day, hour, minute, second, tzinfo=timezone(-offset if sign == "-" else offset)
        )
    except ValueError:
        return None
    return int(at.timestamp()) * 1_000 + tenth * 100


def absolute(ms: int) -> str:
    """Returns a time in UTC as SMPP writes it, for example `240131235959000+`."""
    return datetime.fromtimestamp(ms / 1_000, UTC).strftime("%y%m%d%H%M%S000+")
