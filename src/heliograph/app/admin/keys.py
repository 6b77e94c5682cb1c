"""API keys: how they are made, and until when they are good."""

import hashlib
import re
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from heliograph.app.resources.desk import Invalid
from heliograph.domain import calendar
from heliograph.domain.calendar import DAY_MS

MOST_DAYS = 3_660

_DAYS = re.compile(r"([1-9][0-9]{0,3})d").fullmatch
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}").fullmatch


@dataclass(slots=True)
class NewKey:
    """An API key, known only now. `expires` is in ms, None if it never does."""

    account: str
    key_id: str
    api_key: str = field(repr=False)
    expires: int | None = None


def digest_key(api_key: str) -> bytes:
    """Returns the SHA-256 of an API key, which the store keeps. A key has enough random bits to need no slow hash."""
    return hashlib.sha256(api_key.encode()).digest()


def parse_expiry(text: str, now: int) -> int | None:
    """Returns the time that a text names: `90d` from now, a date (its begin in UTC), or ISO 8601; None for an empty
    one. Raises Invalid for another text, a time that has passed, and one ten years ahead."""
    if not text:
        return None
    days = _DAYS(text)
    try:
        if days is not None:
            at = now + int(days[1]) * DAY_MS
        else:
            at = calendar.parse_time(f"{text}T00:00:00Z" if _DATE(text) else text, ZoneInfo("UTC"))
    except ValueError:
        raise Invalid("expires", "it is days from now such as 90d, a date such as 2027-06-30, or ISO 8601") from None
    if not now < at <= now + MOST_DAYS * DAY_MS:
        raise Invalid("expires", f"it is a time to come, within {MOST_DAYS} days")
    return at
