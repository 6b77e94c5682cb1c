"""Rules for the optional parameters (TLV) of a request, such as `0x1400-0x15ff/text`: they select the TLVs that pass to
an operator, and the form of their values."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from heliograph.domain.message.extras import Tlv

MAX_TLVS: Final = 16
"""Most optional parameters of a message."""

MAX_VALUE_OCTETS: Final = 254
"""Octets of a value, so that all of them fit a submit_sm beside its text."""


class TlvForm(StrEnum):
    """Form in which the value of a TLV is written."""

    OCTETS = "octets"
    TEXT = "text"
    """With a NUL at its end (C-octet string; SMPP v3.4, 3.1)."""
    INTEGER = "integer"


@dataclass(frozen=True, slots=True)
class TlvRule:
    """Allowed tags, from `first` to `last`. `name`: of a single tag. `octets`: size of an integer."""

    first: int
    last: int
    name: str = ""
    form: TlvForm = TlvForm.OCTETS
    octets: int = 0

    def __str__(self) -> str:
        tags = f"{self.first:#06x}" if self.first == self.last else f"{self.first:#06x} to {self.last:#06x}"
        return f"{self.name} ({tags})" if self.name else tags

    def value(self, given: Any) -> bytes:
        """Returns the octets of a value: a text, an integer, or `{"hex": DIGITS}`. Raises ValueError in words."""
        if isinstance(given, dict):
            octets = _from_hex(given)
        elif self.form is TlvForm.INTEGER:
            octets = self._integer(given)
        elif isinstance(given, str) or type(given) is int:
            octets = str(given).encode() + (b"\0" if self.form is TlvForm.TEXT else b"")
        else:
            raise ValueError('is a text, an integer, or an object such as {"hex": "0102"}')
        if len(octets) > MAX_VALUE_OCTETS:
            raise ValueError(f"has {len(octets)} octets; the limit is {MAX_VALUE_OCTETS}")
        return octets

    def _integer(self, given: Any) -> bytes:
        try:
            return int(str(given)).to_bytes(self.octets, "big")
        except (ValueError, OverflowError):
            raise ValueError(f"is a whole number from 0 to {256**self.octets - 1}") from None


def _from_hex(given: dict[str, Any]) -> bytes:
    digits = given.get("hex")
    if len(given) != 1 or not isinstance(digits, str):
        raise ValueError('is an object with nothing but "hex"')
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise ValueError("has hex that is not two hexadecimal digits for each octet") from None


def passing(given: Mapping[str, Any], rules: tuple[TlvRule, ...]) -> tuple[Tlv, ...]:
    """Returns the TLVs of a request, given by number (`0x1400`, `5120`) or name, by their tags. Raises ValueError in
    words if no rule allows a tag, or if a value cannot be written.
    """
    if len(given) > MAX_TLVS:
        raise ValueError(f"There are {len(given)} TLVs; a message may have {MAX_TLVS}.")
    found: dict[int, bytes] = {}
    for key, value in given.items():
        tag, rule = _rule(key, rules)
        if rule is None:
            named = ", ".join(map(str, rules)) or "none"
            raise ValueError(
                f"The TLV {key[:40]!r} does not pass to this number's operator. Allowed parameters: {named}."
            )
        if tag in found:
            raise ValueError(f"The TLV {rule} is given twice.")
        try:
            found[tag] = rule.value(value)
        except ValueError as problem:
            raise ValueError(f"The value of the TLV {key[:40]!r} {problem}.") from None
    return tuple(sorted(found.items()))


def _rule(key: str, rules: tuple[TlvRule, ...]) -> tuple[int, TlvRule | None]:
    for rule in rules:
        if rule.name and rule.name == key.lower():
            return rule.first, rule
    try:
        tag = int(key, 0)
    except ValueError:
        return 0, None
    return tag, next((rule for rule in rules if rule.first <= tag <= rule.last), None)
