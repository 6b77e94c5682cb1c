"""The rarer optional fields of a request, such as `validity`, `priority` or `tlvs`.

They are checked after all others, in the order of `NAMES`.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from heliograph.app.sending.fields import shown
from heliograph.domain.error import invalid
from heliograph.domain.message.extras import NONE, Extras, Tlv
from heliograph.domain.message.state import Kind
from heliograph.domain.message.tlv_rules import MAX_TLVS, TlvRule, passing
from heliograph.domain.text.header import header_problem, numbers_parts
from heliograph.domain.text.segment import MAX_REPEATED_OCTETS

VALIDITY: Final = "validity"
PRIORITY: Final = "priority"
UDH: Final = "udh"
CODING: Final = "coding"
TLVS: Final = "tlvs"
PROGRESS: Final = "progress"

NAMES: Final = (VALIDITY, PRIORITY, UDH, CODING, TLVS, PROGRESS)

LEAST_VALIDITY_S: Final = 60

MOST_PRIORITY: Final = 3

SECONDS: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,19})?").fullmatch
"""Matches a `validity` in seconds; digits from 1,000,000,000 on are a Unix time."""

_YES: Final = frozenset(("yes", "true", "1", "on"))
_NO: Final = frozenset(("no", "false", "0", "off"))


@dataclass(slots=True)
class OptionalFields:
    """Optional fields of a request that need no knowledge of the operator."""

    validity: Any = None
    extras: Extras = NONE
    is_one_part: bool = False
    """True if the customer's own header numbers the parts, or is too long to be repeated: then only a single part is
    possible.
    """

    def check_tlvs(self, rules: tuple[TlvRule, ...], attached: tuple[Tlv, ...] = ()) -> None:
        """Checks that an operator with these rules allows the TLVs, together with the TLVs `attached` by a template.
        Raises Fault."""
        try:
            tlvs = {**dict(attached), **dict(passing(self.extras.tlvs, rules))}
        except ValueError as problem:
            raise invalid(TLVS, str(problem)) from None
        if len(tlvs) > MAX_TLVS:
            both = f"With the {len(attached)} of its template the message has {len(tlvs)} TLVs"
            raise invalid(TLVS, f"{both}; the limit is {MAX_TLVS}.")


def read_optional_fields(given: dict[str, Any], kind: Kind, *, wants_receipt: bool) -> OptionalFields:
    """Reads the fields NAMES. Raises Fault."""
    optional = OptionalFields(given.get(VALIDITY))
    priority = coding = None
    elements = b""
    if (value := given.get(PRIORITY)) is not None:
        priority = _whole(PRIORITY, value, MOST_PRIORITY)
    if (value := given.get(UDH)) is not None:
        elements = _header(value)
        optional.is_one_part = numbers_parts(elements) or len(elements) > MAX_REPEATED_OCTETS
    if (value := given.get(CODING)) is not None:
        coding = _whole(CODING, value, 255)
        if kind is not Kind.BINARY:
            raise invalid(CODING, "The coding goes with the type binary; the coding of a text is found by its letters.")
    tlvs = given.get(TLVS)
    if tlvs is not None and not isinstance(tlvs, dict):
        raise invalid(TLVS, 'The tlvs are an object by number or name, such as {"0x1400": "text"}.')
    progress = False
    if (value := given.get(PROGRESS)) is not None:
        progress = _flag(value)
        if progress and not wants_receipt:
            raise invalid(PROGRESS, "The progress needs dlr and a URL; give them too, or leave it out.")
    optional.extras = Extras(priority, coding, elements, tlvs or {}, progress)
    return optional


def _whole(name: str, value: Any, most: int) -> int:
    text = str(value)
    base = 16 if text[:2].lower() == "0x" else 10
    try:
        number = int(text, base) if not isinstance(value, bool) and text.isascii() and len(text) <= 6 else -1
    except ValueError:
        number = -1
    if not 0 <= number <= most:
        raise invalid(name, f"The {name} {shown(value)} is no whole number from 0 to {most}.")
    return number


def _header(value: Any) -> bytes:
    """Returns the elements of a header."""
    try:
        header = bytes.fromhex(value) if isinstance(value, str) and value.isalnum() else b""
    except ValueError:
        header = b""
    if not header:
        problem = f"The udh {shown(value)} is no hexadecimal, two digits for each octet, such as 0605040B8423F0."
        raise invalid(UDH, problem)
    if (wrong := header_problem(header)) is not None:
        raise invalid(UDH, f"The udh is no user data header. {wrong}")
    return header[1:]


def _flag(value: Any) -> bool:
    text = str(value).lower() if isinstance(value, bool | str) else ""
    if text in _YES:
        return True
    if text not in _NO:
        raise invalid(PROGRESS, f"The progress {shown(value)} is unknown; give yes or no.")
    return False
