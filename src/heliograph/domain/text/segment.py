"""Encoding a message's content and cutting it into short messages (3GPP TS 23.040, 9.2.3.24.1).

A short message carries 140 octets: 160 septets, 70 UTF-16 code units, or 140 octets of data. A part of a longer message
needs some octets for the user data header with its number: six octets with an 8-bit reference leave 153 septets, 67
code units or 134 octets. A part never ends within an escape pair or a surrogate pair. So the number of parts may exceed
the length divided by the size of a part.
"""

import re
from dataclasses import dataclass
from typing import Final

from heliograph.domain.message.state import Kind
from heliograph.domain.text import alphabet, national
from heliograph.domain.text.header import named_tables, numbers_parts
from heliograph.domain.text.repertoire import PLAIN, Encoded, Encoding, Repertoire, Tables

USER_DATA_OCTETS: Final = 140
"""TP-User-Data of a short message (3GPP TS 23.040, 9.2.3.24)."""

SINGLE_SEPTETS: Final = 160
SINGLE_UNITS: Final = 70
HEADER_OCTETS: Final = 6
"""Length octet, and the concatenation element with an 8-bit reference (9.2.3.24.1); 7 with a 16-bit reference."""

LEAST_ROOM: Final = 8
"""Least octets for text in each part of a longer message: see `MAX_REPEATED_OCTETS`."""

MAX_REPEATED_OCTETS: Final = 100
"""Most octets of elements in each part of a longer message."""

_HEX = re.compile(r"(?:[0-9A-Fa-f]{2})+").fullmatch
_TEXT: Final = Kind.TEXT
_GSM7: Final = Encoding.GSM7


@dataclass(slots=True)
class Split:
    encoding: Encoding
    parts: list[bytes]
    """User data without its header: unpacked septets, UTF-16BE, or octets."""
    elements: bytes = b""
    """Elements of the header of each part, without the element that numbers it."""
    language: int = 0
    """The language of its national tables; 0 for none."""


def hex_problem(content: str) -> str | None:
    """Returns the problem of the content of a binary message and its solution, or None."""
    if _HEX(content) is not None:
        return None
    if not content:
        return "The content is empty; give at least one octet as two hexadecimal digits."
    if len(content) % 2 and re.fullmatch(r"[0-9A-Fa-f]+", content):
        return "The content has an odd number of hexadecimal digits; give two for each octet."
    return "The content of a binary message must be hexadecimal, two digits for each octet, such as 0605040B."


def split(
    content: str, kind: int, header_octets: int = HEADER_OCTETS, repertoire: Repertoire = PLAIN, elements: bytes = b""
) -> Split:
    """Returns the content of a `Kind` as a single part, or as parts that leave `header_octets` (length octet included)
    for a header with their number. Each part also has room for `elements` of a header.

    A text uses the alphabet of the operator's `repertoire` with the fewest parts; of two alphabets with equally many
    parts, the more usual alphabet. If `elements` select national tables, it uses these, or else UCS-2. Empty content
    is a single empty part. HALF_ESCAPE at the end stays, if `elements` number the content as a part and its alphabet
    is GSM 7 bit: a phone joins it with the next part. Raises ValueError on a lone surrogate and on binary content that
    `hex_problem` rejects.
    """
    if kind == Kind.BINARY:
        if content and (problem := hex_problem(content)) is not None:
            raise ValueError(problem)
        return _cut(Encoded(Encoding.BINARY, bytes.fromhex(content)), header_octets, elements)
    if kind == Kind.UNICODE:
        return _cut(Encoded(Encoding.UCS2, content.encode("utf-16-be")), header_octets, elements)
    if not elements and len(content) <= SINGLE_SEPTETS and alphabet.is_plain(content):
        return Split(_GSM7, [content.encode("ascii")])
    if content.endswith(alphabet.HALF_ESCAPE) and numbers_parts(elements):
        cut = split(content[:-1] + " ", kind, header_octets, repertoire, elements)
        if cut.encoding is _GSM7:
            cut.parts[-1] = cut.parts[-1][:-1] + alphabet.HALF_ESCAPE.encode()
        return cut
    tables = named_tables(elements)
    if any(tables):
        return _cut(_by_tables(content, tables, repertoire), header_octets, elements)
    ways = repertoire.ways(content, flash=kind == Kind.FLASH)
    best = _cut(next(ways), header_octets, elements)
    for way in ways:
        cut = _cut(way, header_octets, elements)
        if len(cut.parts) < len(best.parts):
            best = cut
    return best


def split_into(
    total: int, content: str, kind: int, repertoire: Repertoire = PLAIN, elements: bytes = b""
) -> Split | None:
    """Returns the content as exactly `total` parts, some of which may be shorter than possible; None if it needs
    more.
    """
    cut = split(content, kind, HEADER_OCTETS, repertoire, elements)
    data = b"".join(cut.parts)
    step = 2 if cut.encoding is Encoding.UCS2 else 1
    limit = _limit(cut.encoding, max(LEAST_ROOM, USER_DATA_OCTETS - HEADER_OCTETS - len(cut.elements)))
    while len(cut.parts) < total and limit > 2 * step:
        limit -= step
        cut.parts = _pieces(cut.encoding, data, limit)
    return cut if len(cut.parts) == total else None


def parts_of(encoding: Encoding, data: bytes) -> list[bytes]:
    """Returns the parts of an encoded content, each with room for the usual header."""
    return _pieces(encoding, data, _limit(encoding, USER_DATA_OCTETS - HEADER_OCTETS))


def count(content: str, kind: Kind, repertoire: Repertoire = PLAIN, elements: bytes = b"") -> tuple[Encoding, int]:
    """Returns the encoding and the number of parts that `split` makes with the usual header; raises the same errors."""
    if kind is _TEXT and not elements and len(content) <= SINGLE_SEPTETS and alphabet.is_plain(content):
        return _GSM7, 1
    cut = split(content, kind, HEADER_OCTETS, repertoire, elements)
    return cut.encoding, len(cut.parts)


def _by_tables(content: str, tables: Tables, repertoire: Repertoire) -> Encoded:
    """Encodes a text by the national tables that its sender's header selects: a phone reads GSM 7 bit by these."""
    septets = national.encode(content, *tables) if repertoire.default == alphabet.GSM else None
    if septets is None:
        return Encoded(Encoding.UCS2, content.encode("utf-16-be"))
    language = tables[0] or tables[1]
    return Encoded(_GSM7, septets, language=language if language in national.LANGUAGE_NAMES else 0)


def _cut(way: Encoded, header_octets: int, elements: bytes) -> Split:
    encoding, data = way.encoding, way.data
    elements += way.elements
    whole = USER_DATA_OCTETS - len(elements) - 1 if elements else USER_DATA_OCTETS
    if len(data) <= _limit(encoding, whole):
        return Split(encoding, [data], elements, way.language)
    limit = _limit(encoding, max(LEAST_ROOM, USER_DATA_OCTETS - header_octets - len(elements)))
    return Split(encoding, _pieces(encoding, data, limit), elements, way.language)


def _limit(encoding: Encoding, room: int) -> int:
    """Returns how many units fit into this many octets: septets or octets. For example, 153 septets into 134 octets."""
    if encoding is _GSM7:
        return room * 8 // 7
    return room // 2 * 2 if encoding is Encoding.UCS2 else room


def _pieces(encoding: Encoding, data: bytes, limit: int) -> list[bytes]:
    if encoding is _GSM7:
        return _cut_septets(data, limit)
    if encoding is Encoding.UCS2:
        return _cut_utf16(data, limit)
    return [data[start : start + limit] for start in range(0, len(data), limit)]


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
