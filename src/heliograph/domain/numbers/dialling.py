"""National numbers: numbers that phones of a country use without the country code, and their international form.

A phone is identified by its international number only: opt-outs, suppressions and erasures compare its digits.
"""

import re
from dataclasses import dataclass
from typing import Final

from heliograph.domain.numbers.phone import is_destination

LEAST_NATIONAL_DIGITS: Final = 6
"""Fewest digits of a phone's number within its country; a shorter number is a short code."""

_DIGITS = re.compile(r"[0-9]+").fullmatch
_INTERNATIONAL_PREFIX: Final = "00"
"""Prefix of international calls (ITU-T E.123, and in most countries). No country code and no area code begins so."""


@dataclass(frozen=True, slots=True)
class NationalNumbers:
    """The country of an operator's national numbers."""

    country: str = ""
    """Country code, for example `49`; empty if national numbers cannot be converted."""
    trunk: str = "0"
    """Trunk prefix, which is not part of the international number; empty if there is none."""

    def international(self, address: str, *, is_national: bool) -> str | None:
        """Returns the international number for an address of digits, without `+`; other addresses are unchanged.

        `is_national`: the type of number is national. Otherwise only a leading 0 marks a national number, because a
        trunk prefix such as 8 may also begin a country code. Returns None for a national number that cannot be
        converted: no country is set, or the digits do not fit it.
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
