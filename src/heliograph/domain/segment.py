"""Encoding a message's content and cutting it into short messages (3GPP TS 23.040, 9.2.3.24.1).

A short message carries 140 octets: 160 septets, 70 UTF-16 code units, or 140 octets of data. A part of a
longer one gives up some for the user data header that numbers the parts: six octets with an 8-bit reference
leave 153 septets, 67 code units or 134 octets. A part never ends within an escape pair or a surrogate pair,
so that the number of parts is not always the length divided by the size of a part.
"""

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from heliograph.domain import alphabet
from heliograph.domain.message import Kind

USER_DATA_OCTETS: Final = 140
"""TP-User-Data of one short message (3GPP TS 23.040, 9.2.3.24)."""

SINGLE_SEPTETS: Final = 160
SINGLE_UNITS: Final = 70
HEADER_OCTETS: Final = 6
"""Length octet, and the concatenation element with an 8-bit reference (9.2.3.24.1); 7 with a 16-bit one."""


class Encoding(IntEnum):
    GSM7 = 0
    UCS2 = 1
    BINARY = 2

    @property
    def label(self) -> str:
        """The word that the API shows."""
        return _LABELS[self]


_LABELS: dict[Encoding, str] = {
    Encoding.GSM7: "GSM-7",
    Encoding.UCS2: "UCS-2",
    Encoding.BINARY: "binary",
}

_HEX = re.compile(r"(?:[0-9A-Fa-f]{2})+").fullmatch
_TEXT: Final = Kind.TEXT
_GSM7: Final = Encoding.GSM7


@dataclass(slots=True)
class Split:
    encoding: Encoding
    parts: list[bytes]
    """User data without its header: unpacked septets, UTF-16BE, or octets."""


def hex_problem(content: str) -> str | None:
    """Says what is wrong with the content of a binary message and what to do about it; None when it is good."""
    if _HEX(content) is not None:
        return None
    if not content:
        return "The content is empty; give at least one octet as two hexadecimal digits."
    if len(content) % 2 and re.fullmatch(r"[0-9A-Fa-f]+", content):
        return "The content has an odd number of hexadecimal digits; give two for each octet."
    return "The content of a binary message must be hexadecimal, two digits for each octet, such as 0605040B."


def split(content: str, kind: int, header_octets: int = HEADER_OCTETS, default: str = alphabet.GSM) -> Split:
    """The content of a `Kind` as one part, or as parts that leave `header_octets` (length octet included) for a header.

    `default` is what the operator takes for the default alphabet: where that lacks a letter the content goes as UCS-2.

    Never without a part: no content is one empty part. Raises ValueError on a lone surrogate and on binary
    content that `hex_problem` refuses.
    """
    room = USER_DATA_OCTETS - header_octets
    encoding, data = _encode(content, kind, default)
    if encoding is _GSM7:
        if len(data) <= SINGLE_SEPTETS:
            return Split(encoding, [data])
        return Split(encoding, _cut_septets(data, room * 8 // 7))
    if len(data) <= USER_DATA_OCTETS:
        return Split(encoding, [data])
    if encoding is Encoding.UCS2:
        return Split(encoding, _cut_utf16(data, room // 2 * 2))
    return Split(encoding, [data[start : start + room] for start in range(0, len(data), room)])


def count(content: str, kind: Kind, default: str = alphabet.GSM) -> tuple[Encoding, int]:
    """The encoding and the number of parts that `split` makes with the usual header; raises what it does."""
    if kind is _TEXT and len(content) <= SINGLE_SEPTETS and alphabet.is_plain(content):
        return _GSM7, 1
    cut = split(content, kind, HEADER_OCTETS, default)
    return cut.encoding, len(cut.parts)


def _encode(content: str, kind: int, default: str) -> tuple[Encoding, bytes]:
    if kind == Kind.BINARY:
        if content and (problem := hex_problem(content)) is not None:
            raise ValueError(problem)
        return Encoding.BINARY, bytes.fromhex(content)
    if kind != Kind.UNICODE:
        septets = alphabet.encode(content)
        if septets is not None and alphabet.has_letters(content, default):
            return _GSM7, septets
    return Encoding.UCS2, content.encode("utf-16-be")


def _cut_septets(data: bytes, limit: int) -> list[bytes]:
    parts = []
    start, size = 0, len(data)
    while size - start > limit:
        end = start + limit
        if data[end - 1] == alphabet.ESCAPE:
            end -= 1
        parts.append(data[start:end])
        start = end
    parts.append(data[start:])
    return parts


def _cut_utf16(data: bytes, limit: int) -> list[bytes]:
    """Parts of at most `limit` octets, an even number."""
    parts = []
    start, size = 0, len(data)
    while size - start > limit:
        end = start + limit
        if data[end - 2] & 0xFC == 0xD8:  # a high surrogate: its other half would open the next part
            end -= 2
        parts.append(data[start:end])
        start = end
    parts.append(data[start:])
    return parts
