"""Decodes and encodes a message: its alphabet, its user data header, its index among the parts of a longer message.

The table of GSM 03.38 is repeated here instead of shared with the gateway, so that a mistake in either table shows.
"""

from typing import Final, NamedTuple

from heliograph.simulator.behaviour import Alphabet
from heliograph.smpp import constants as c
from heliograph.smpp import tlv
from heliograph.smpp.constants import DataCoding

_ESCAPE: Final = 0x1B
_BASIC: Final = (
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\x1bÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
_EXTENDED: Final = {
    0x0A: "\f", 0x14: "^", 0x28: "{", 0x29: "}", 0x2F: "\\", 0x3C: "[", 0x3D: "~", 0x3E: "]", 0x40: "|", 0x65: "€",
}  # fmt: skip
_OCTETS: Final = {letter: bytes((octet,)) for octet, letter in enumerate(_BASIC) if octet != _ESCAPE} | {
    letter: bytes((_ESCAPE, octet)) for octet, letter in _EXTENDED.items()
}
_CONCATENATED_8: Final = 0x00
_CONCATENATED_16: Final = 0x08


class PartIndex(NamedTuple):
    """Index of a part in a longer message: 3GPP TS 23.040, 9.2.3.24.1 and 9.2.3.24.8; SMPP v3.4, 5.3.2.22."""

    reference: int
    total: int
    number: int


def split_header(content: bytes, esm_class: int, tlvs: tlv.Tlvs) -> tuple[PartIndex | None, bytes]:
    """Returns the index among the parts (None for a single message) and the octets of the text."""
    if esm_class & c.ESM_UDHI and content and content[0] < len(content):
        end = content[0] + 1
        return _index_in(content[1:end]), content[end:]
    if tlvs:
        total = tlv.find_integer(tlvs, tlv.SAR_TOTAL_SEGMENTS)
        number = tlv.find_integer(tlvs, tlv.SAR_SEGMENT_SEQNUM)
        reference = tlv.find_integer(tlvs, tlv.SAR_MSG_REF_NUM)
        if total and number and reference is not None and number <= total:
            return PartIndex(reference, total, number), content
    return None, content


def _index_in(header: bytes) -> PartIndex | None:
    position = 0
    while position + 2 <= len(header):
        kind, length = header[position], header[position + 1]
        data = header[position + 2 : position + 2 + length]
        position += 2 + length
        if (kind, len(data)) in ((_CONCATENATED_8, 3), (_CONCATENATED_16, 4)):
            index = PartIndex(int.from_bytes(data[:-2], "big"), data[-2], data[-1])
            return index if 0 < index.number <= index.total else None
    return None


def alphabet_of(data_coding: int) -> DataCoding:
    """Returns DEFAULT, ASCII, LATIN_1, UCS2 or BINARY: SMPP v3.4, 5.2.19; 3GPP TS 23.038, section 4."""
    if data_coding < 0x10:
        if data_coding in (DataCoding.DEFAULT, DataCoding.ASCII, DataCoding.LATIN_1, DataCoding.UCS2):
            return DataCoding(data_coding)
        return DataCoding.BINARY
    if data_coding < 0x40:
        return (DataCoding.DEFAULT, DataCoding.BINARY, DataCoding.UCS2, DataCoding.BINARY)[data_coding >> 2 & 3]
    if data_coding >= 0xF0:
        return DataCoding.BINARY if data_coding & 4 else DataCoding.DEFAULT
    return DataCoding.BINARY


def decode(octets: bytes, data_coding: int, default: Alphabet) -> str:
    """Decodes a text; binary contents become hexadecimal digits. Never fails."""
    match alphabet_of(data_coding):
        case DataCoding.UCS2:
            return octets.decode("utf-16-be", "replace")
        case DataCoding.LATIN_1:
            return octets.decode("latin-1")
        case DataCoding.ASCII:
            return octets.decode("ascii", "replace")
        case DataCoding.BINARY:
            return octets.hex()
    return _from_gsm(octets) if default is Alphabet.GSM else octets.decode(default.value, "replace")


def gsm_octets(letter: str) -> bytes:
    """Encodes a letter in GSM 03.38. Raises UnicodeEncodeError for a letter outside it."""
    encoded = _OCTETS.get(letter)
    if encoded is None:
        raise UnicodeEncodeError("gsm", letter, 0, 1, "no letter of GSM 03.38")
    return encoded


def _from_gsm(octets: bytes) -> str:
    characters = []
    escaped = False
    for octet in octets:
        if escaped:
            escaped = False
            characters.append(_EXTENDED.get(octet) or (_BASIC[octet] if octet < len(_BASIC) else "\ufffd"))
        elif octet == _ESCAPE:
            escaped = True
        else:
            characters.append(_BASIC[octet] if octet < len(_BASIC) else "\ufffd")
    return "".join(characters)
