"""Inbound messages: headers of user data, joining of parts, and decoding of octets. Pure; no octets make it fail.

A short message may begin with a user data header (3GPP TS 23.040, 9.2.3.24): elements that number the parts of a long
message, select national tables, or have another meaning. A truncated or malformed header is ignored. Parts are joined
before they are decoded, because phones do split escape and surrogate pairs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from heliograph.domain.message.ids import to_uuid
from heliograph.domain.text import alphabet, national
from heliograph.domain.text.header import (
    CONCATENATION_8,
    CONCATENATION_16,
    NATIONAL_LOCKING,
    NATIONAL_SINGLE,
    Element,
    elements_of,
)

GSM: Final = "gsm"
LATIN_1: Final = "latin1"
ASCII: Final = "ascii"
"""Values of `default_alphabet`: an operator's meaning of data coding 0."""

_BINARY: Final = "binary"
_UCS2: Final = "ucs2"
_DEFAULT: Final = "default"

MOST_PARTS: Final = 255
"""The highest total that a header, and the octet of `sar_total_segments`, have room for."""

_MOST_REFERENCE: Final = 0xFFFF
"""The low octets of a longer `sar_msg_ref_num` count (SMPP v3.4, 5.3.2.22, has two). A store would take no longer
number: the part would be lost, and its operator answered that it is kept."""

REPLY_PREFIX: Final = "reply:"
"""Begins the references of replies of webhooks."""

PartPosition = tuple[int, int, int]
"""Reference, total, and number from 1 of a part of a long message."""


@dataclass(slots=True)
class UserData:
    """Content of a short message, with its header parsed."""

    coding: int
    """SMPP data_coding."""
    octets: bytes
    """Text or data, without the header."""
    position: PartPosition | None = None
    """Index among the parts of a long message; None for a whole message."""
    locking: int = 0
    """Language of the national locking shift table; 0: the default alphabet."""
    single: int = 0
    """Language of the national single shift table; 0: the extension table."""
    elements: tuple[Element, ...] = ()
    """Other elements of the header, such as ports, in their order."""


@dataclass(slots=True)
class JoinedText:
    """A message, joined from its parts."""

    text: str
    """The text; empty if all parts are binary."""
    octets: bytes
    """Octets of all parts, without headers."""
    coding: int
    """SMPP data_coding of the first part that arrived."""
    parts: int
    """Number of the parts that arrived."""
    complete: bool


def read(octets: bytes, coding: int, *, has_header: bool, sar: PartPosition | None = None) -> UserData:
    """Parses a short message.

    `has_header`: the header indicator of esm_class.

    `sar`: the values of the TLVs `sar_msg_ref_num`, `sar_total_segments` and `sar_segment_seqnum`, if all three are
    present. They are used if the header does not number parts.
    """
    data = UserData(coding, octets)
    if has_header and octets and octets[0] < len(octets):
        end = octets[0] + 1
        data.octets = octets[end:]
        elements = elements_of(octets[1:end])
        if elements is not None:
            _read_elements(data, elements)
    if data.position is None and sar is not None:
        reference, total, number = sar
        data.position = _sound((reference & _MOST_REFERENCE, total, number))
    return data


def _read_elements(data: UserData, elements: list[Element]) -> None:
    """Sorts the elements; of repeated elements the last well-formed element is used (9.2.3.24)."""
    others: list[Element] = []
    for kind, value in elements:
        size = len(value)
        if kind == CONCATENATION_8 and size == 3:
            data.position = _sound((value[0], value[1], value[2])) or data.position
        elif kind == CONCATENATION_16 and size == 4:
            data.position = _sound((value[0] << 8 | value[1], value[2], value[3])) or data.position
        elif kind == NATIONAL_SINGLE and size == 1:
            data.single = value[0]
        elif kind == NATIONAL_LOCKING and size == 1:
            data.locking = value[0]
        else:
            others.append((kind, value))
    data.elements = tuple(others)


def _sound(position: PartPosition) -> PartPosition | None:
    """Returns a valid index; None for a message of a single part, or for contradictory numbers."""
    return position if 1 <= position[2] <= position[1] and 1 < position[1] <= MOST_PARTS else None


def join(parts: Iterable[UserData], default_alphabet: str) -> JoinedText:
    """Joins the parts of a long message, in any order.

    The first part with a number is used; later parts with the same number are ignored. A part without an index, or with
    another reference or total than the first, is left out. Raises ValueError without parts.
    """
    by_number: dict[int, UserData] = {}
    first: UserData | None = None
    of: PartPosition | None = None
    for part in parts:
        position = part.position
        if position is None:
            continue
        if first is None or of is None:
            first, of = part, position
        if position[:2] == of[:2]:
            by_number.setdefault(position[2], part)
    if first is None or of is None:
        raise ValueError("there is no part")
    return JoinedText(
        _joined_text(by_number, default_alphabet),
        b"".join([by_number[number].octets for number in sorted(by_number)]),
        first.coding,
        len(by_number),
        len(by_number) == of[1],
    )


def _joined_text(parts: Mapping[int, UserData], default_alphabet: str) -> str:
    """Decodes runs: consecutive parts in the same encoding."""
    texts: list[str] = []
    run: list[bytes] = []
    last: UserData | None = None
    before = 0
    for number in sorted(parts):
        part = parts[number]
        if last is not None and not (
            number == before + 1
            and (part.coding, part.locking, part.single) == (last.coding, last.locking, last.single)
        ):
            texts.append(_decoded(b"".join(run), last, default_alphabet))
            run = []
        run.append(part.octets)
        last, before = part, number
    if last is not None:
        texts.append(_decoded(b"".join(run), last, default_alphabet))
    return "".join(texts)


def text_of(data: UserData, default_alphabet: str) -> str:
    """Returns the text of a whole message; empty if it is binary."""
    return _decoded(data.octets, data, default_alphabet)


def _decoded(octets: bytes, data: UserData, default_alphabet: str) -> str:
    kind = _alphabet_of(data.coding)
    if kind == _BINARY:
        return ""
    if kind == _UCS2:
        return decode_ucs2(octets)
    if data.locking or data.single:
        # Some senders, such as npm smpp, also mark texts in national tables with data coding 1.
        return national.decode(octets, data.locking, data.single)
    if kind == _DEFAULT:
        kind = default_alphabet
    return alphabet.decode(octets) if kind == GSM else octets.decode("latin-1")


def decode_ucs2(octets: bytes) -> str:
    """Returns the text of UTF-16 octets, high ones first unless a byte order mark says otherwise. Never fails: a lone
    surrogate, and an octet left over at the end, read as U+FFFD."""
    if octets[:2] == b"\xff\xfe":
        return octets[2:].decode("utf-16-le", "replace")
    return octets.removeprefix(b"\xfe\xff").decode("utf-16-be", "replace")


def _alphabet_of(coding: int) -> str:
    """Returns the alphabet of a data_coding: SMPP v3.4, 5.2.19, below 0x10, and 3GPP TS 23.038, 4, above.

    ASCII is read as Latin-1, which includes it, so that an operator's octets beyond ASCII are not lost.
    """
    if coding < 0x10:
        if coding == 0x00:
            return _DEFAULT
        if coding in (0x01, 0x03):
            return LATIN_1
        return _UCS2 if coding == 0x08 else _BINARY
    if coding < 0x80:  # general data coding, and the same marked for automatic deletion
        if coding & 0x20:  # compressed, which operators do not send
            return _BINARY
        return (_DEFAULT, _BINARY, _UCS2, _BINARY)[coding >> 2 & 3]
    if coding < 0xC0:  # reserved
        return _BINARY
    if coding < 0xE0:  # message waiting, with text
        return _DEFAULT
    if coding < 0xF0:
        return _UCS2
    return _BINARY if coding & 0x04 else _DEFAULT


def reply_reference(key: int, tail: int) -> str:
    """Returns the reference of the request to send that replies to an inbound message."""
    return f"{REPLY_PREFIX}{to_uuid(key, tail)}"
