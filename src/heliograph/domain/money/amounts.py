"""Credit, as whole micro-credits inside and exact decimal text outside."""

import re
from enum import IntEnum
from typing import Final

MICRO: Final = 1_000_000
"""Micro-credits in a credit."""


class EntryKind(IntEnum):
    """The purpose of a ledger entry. The numbers are stored."""

    CHARGE = 0
    REFUND = 1
    TOP_UP = 2
    INBOUND = 3

    @property
    def label(self) -> str:
        """The word for people and programs, such as `refund`."""
        return self.name.lower().replace("_", "-")


_CREDITS = re.compile(r"([+-]?)([0-9]{1,12})(?:\.([0-9]{1,6}))?").fullmatch
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?").fullmatch


def parse_credits(text: str) -> int:
    """Returns the micro-credits of a decimal text such as `12`, `0.035` or `-2.5`.

    Raises ValueError, with a sentence for people, for three reasons: an exponent, more than 6 decimals (not exact in
    the store), and a million million or more (the sum of a ledger must fit 64 bits).
    """
    match = _CREDITS(text)
    if match is None:
        if _NUMBER(text) is None:
            raise ValueError(f"{text!r} is not an amount; write plain digits with a point, such as 12 or 0.035")
        if len(text.partition(".")[2]) > 6:
            raise ValueError(f"{text} has more than 6 decimals; the smallest amount is 0.000001")
        raise ValueError(f"{text} is too large; an amount has at most 12 digits before the point")
    sign, whole, fraction = match.groups(default="")
    micro = int(whole) * MICRO + int(fraction.ljust(6, "0"))
    return -micro if sign == "-" else micro


def format_credits(micro: int) -> str:
    """Returns exact decimal text without exponent and trailing zeros, such as `1`, `0.035` or `-2.5`."""
    whole, rest = divmod(abs(micro), MICRO)
    sign = "-" if micro < 0 else ""
    if not rest:
        return f"{sign}{whole}"
    return f"{sign}{whole}." + f"{rest:06d}".rstrip("0")
