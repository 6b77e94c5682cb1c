"""User data headers: elements before a short message's text (3GPP TS 23.040, 9.2.3.24). Pure."""

from typing import Final

CONCATENATION_8: Final = 0x00
CONCATENATION_16: Final = 0x08
NATIONAL_SINGLE: Final = 0x24
NATIONAL_LOCKING: Final = 0x25

MAX_HEADER_OCTETS: Final = 139
"""Octets. A header with its length octet leaves at least one of the 140 octets of a short message."""

Element = tuple[int, bytes]
"""Identifier and data of an element."""


def elements_of(header: bytes) -> list[Element] | None:
    """Returns the elements of a header without its length octet, or None if they do not fill it (9.2.3.24 then ignores
    the whole header)."""
    elements: list[Element] = []
    at, end = 0, len(header)
    while at < end:
        if at + 2 > end:
            return None
        start = at + 2
        at = start + header[at + 1]
        if at > end:
            return None
        elements.append((header[start - 2], header[start:at]))
    return elements


def header_problem(header: bytes) -> str | None:
    """Returns the problem of a whole header, its length octet first, or None."""
    if len(header) > MAX_HEADER_OCTETS:
        return f"It has {len(header)} octets; the limit is {MAX_HEADER_OCTETS}."
    if not header or header[0] != len(header) - 1:
        named = header[0] if header else 0
        return f"Its first octet is the number of octets after it, {max(0, len(header) - 1)}, and says {named}."
    elements = elements_of(header[1:])
    if elements is None:
        return "Its elements do not fill it: each is an identifier, a length, and so many octets."
    if not elements:
        return "It has no element; leave it out."
    return None


def numbers_parts(header: bytes) -> bool:
    """True if a well-formed header, without its length octet, has an element that numbers the parts of a message."""
    return any(kind in (CONCATENATION_8, CONCATENATION_16) for kind, _ in elements_of(header) or ())


def named_tables(header: bytes) -> tuple[int, int]:
    """Returns the languages of the locking and the single shift table that a header, without its length octet, selects;
    0 for none."""
    named = {kind: value[0] for kind, value in elements_of(header) or () if len(value) == 1}
    return named.get(NATIONAL_LOCKING, 0), named.get(NATIONAL_SINGLE, 0)


def national_elements(locking: int, single: int) -> bytes:
    """Returns the elements that select the languages of national tables (9.2.3.24.15 and 9.2.3.24.16); 0 for none."""
    named = bytes((NATIONAL_SINGLE, 1, single)) if single else b""
    return named + bytes((NATIONAL_LOCKING, 1, locking)) if locking else named
