"""National numbers: how phones of one country are written without its code, and the international number that is meant.

A phone is known by one number alone, the international one: opt-outs, suppressions and erasures compare its digits.
"""

import re
from dataclasses import dataclass
from typing import Final

from heliograph.domain.numbers.phone import is_destination

LEAST_NATIONAL_DIGITS: Final = 6
"""The least digits of a phone's number within its country; what is shorter is a short code."""

_DIGITS = re.compile(r"[0-9]+").fullmatch
_INTERNATIONAL_PREFIX: Final = "00"
"""Prefix of international calls (ITU-T E.123, and in most countries). No country's code, and no area's, begins so."""


@dataclass(frozen=True, slots=True)
class NationalNumbers:
    """The country whose national numbers an operator writes."""

    country: str = ""
    """Country code; empty where national numbers cannot be understood."""
    trunk: str = "0"
    """Prefix of calls within the country, which is no part of the international number; empty where there is none."""

    def international(self, address: str, *, is_national: bool) -> str | None:
        """Returns the international number that an address of digits means, without `+`; other addresses as they are.

        `is_national` says that the type of number is national. Otherwise a number is national by its leading 0 alone: a
        trunk prefix such as 8 may as well begin a country code. Returns None for a national number that cannot be
        understood, since no country is set or the digits are none of its numbers.
        """
        if address.startswith("+"):
            address, is_national = address[1:], False
        if _DIGITS(address) is None:
            return address
        if address.startswith(_INTERNATIONAL_PREFIX):
            bare = address.removeprefix(_INTERNATIONAL_PREFIX)
            return bare if is_destination(bare) else address
        begins_with_0 = address[0] == "0"
        if not (begins_with_0 or is_national) or len(address) < LEAST_NATIONAL_DIGITS:
            return address
        return self._with_country(address, is_national=is_national)

    def _with_country(self, address: str, *, is_national: bool) -> str | None:
        if not self.country:
            return None
        within = address
        if self.trunk and address.startswith(self.trunk):
            within = address.removeprefix(self.trunk)
        elif self.trunk and not is_national:
            return None
        number = self.country + within
        return number if len(within) >= LEAST_NATIONAL_DIGITS and is_destination(number) else None
