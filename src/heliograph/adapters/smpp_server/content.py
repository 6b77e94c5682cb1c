"""The content of a submit_sm: which text or octets its data_coding and esm_class mean.

data_coding (SMPP v3.4, 5.2.19; 3GPP TS 23.038, 4)      sent on as
0             the account's alphabet: gsm, latin1, ascii text; gsm by the national tables of the header
1, 3          ASCII, Latin-1                             text
8             UCS-2                                      text in UCS-2
2, 4          octets                                     octets, with this data_coding
0x10 - 0x13   GSM 7 bit with a message class             text; class 0 is a flash message
0x14 - 0x17   octets with a message class                octets, with this data_coding
0x18 - 0x1B   UCS-2 with a message class                 text in UCS-2; class 0 is a flash message
0xF0 - 0xF3, 0xF8 - 0xFB  GSM 7 bit with a message class             text; class 0 is a flash message
0xF4 - 0xF7, 0xFC - 0xFF  octets with a message class                octets, with this data_coding
"""

from dataclasses import dataclass
from typing import Final

from heliograph.domain.message.state import Kind
from heliograph.domain.text import alphabet, national
from heliograph.domain.text.header import named_tables, numbers_parts
from heliograph.smpp import constants as c
from heliograph.smpp import tlv
from heliograph.smpp.constants import CommandStatus
from heliograph.smpp.tlv import Tlvs

_CLASS: Final = 0x03
"""Bits of data_coding that hold the message class, in the groups that have a class."""

_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"

_SAR: Final = (tlv.SAR_MSG_REF_NUM, tlv.SAR_TOTAL_SEGMENTS, tlv.SAR_SEGMENT_SEQNUM)


class Refused(Exception):
    """A PDU that is answered with `status`. `problem`: a sentence for people."""

    def __init__(self, status: CommandStatus, problem: str) -> None:
        super().__init__(problem)
        self.status = status
        self.problem = problem


class HalfPair(Refused):
    """UCS-2 with half of a surrogate pair, as of a client that splits long texts without regard to pairs."""


@dataclass(frozen=True, slots=True)
class Content:
    """A content as requests give it. `text`: the text, or hexadecimal digits if `kind` is BINARY."""

    kind: Kind
    text: str
    udh: str = ""
    """Hexadecimal digits of the user data header, its length octet first; empty without a header."""
    coding: int | None = None
    """data_coding of octets."""


def read_content(data_coding: int, esm_class: int, octets: bytes, tlvs: Tlvs, account_alphabet: str) -> Content:
    """Returns the content of a message. Raises Refused.

    `octets`: of short_message or message_payload. `account_alphabet`: `gsm`, `latin1` or `ascii`.
    """
    header = b""
    if esm_class & c.ESM_UDHI:
        if not octets or octets[0] >= len(octets):
            raise Refused(
                CommandStatus.ESME_RINVESMCLASS,
                "esm_class says that the content begins with a user data header, and it has none; clear bit 6.",
            )
        header, octets = octets[: octets[0] + 1], octets[octets[0] + 1 :]
    elements = header[1:]
    if not numbers_parts(elements):
        elements += _numbering(tlvs)
    if elements:
        # More than 255 octets are refused as too long, when the request is composed.
        header = bytes((min(len(elements), 0xFF),)) + elements
    try:
        kind, text = _read(data_coding, octets, account_alphabet, elements)
    except HalfPair:
        if not numbers_parts(elements):
            raise
        kind, text = Kind.BINARY, octets.hex()  # the phone joins the part with the other half
    return Content(kind, text, header.hex(), data_coding if kind is Kind.BINARY else None)


def _numbering(tlvs: Tlvs) -> bytes:
    """Returns the sar_ TLVs as an element of a user data header (3GPP TS 23.040, 9.2.3.24.1); empty without them, and
    for a message of a single part, which it would leave less room.

    The reference is cut to its low octet: a part that fills 153 septets leaves no room for two octets.
    """
    reference, total, number = (tlv.find(tlvs, tag) for tag in _SAR)
    if not (reference and total and number) or int.from_bytes(total, "big") < 2:
        return b""
    return b"\x00\x03" + reference[-1:] + total[-1:] + number[-1:]


def _read(coding: int, octets: bytes, account_alphabet: str, elements: bytes) -> tuple[Kind, str]:
    match coding:
        case 0:
            codec = alphabet.CODECS.get(account_alphabet)
            return Kind.TEXT, _gsm(octets, elements) if codec is None else _decoded(octets, codec)
        case 1:
            return Kind.TEXT, _decoded(octets, "ascii")
        case 3:
            return Kind.TEXT, _decoded(octets, "latin-1")
        case 8:
            return Kind.UNICODE, _ucs2(octets)
        case 2 | 4:
            return Kind.BINARY, octets.hex()
    # Bit 3 of the group 0xF0 is reserved, and ignored as TS 23.038 asks.
    group = coding & (0xF4 if coding >= 0xF0 else 0xFC)
    kind = Kind.FLASH if coding & _CLASS == 0 else Kind.TEXT
    match group:
        case 0x10 | 0xF0:
            return kind, _gsm(octets, elements)
        case 0x18:
            return Kind.FLASH if kind is Kind.FLASH else Kind.UNICODE, _ucs2(octets)
        case 0x14 | 0xF4:
            return Kind.BINARY, octets.hex()
    problem = f"data_coding {coding:#04x} is not supported; use 0 (GSM 7 bit), 3 (Latin-1), 4 (octets) or 8 (UCS-2)."
    raise Refused(CommandStatus.ESME_RSUBMITFAIL, problem)


def _gsm(octets: bytes, elements: bytes) -> str:
    tables, half = named_tables(elements), ""
    if alphabet.ends_in_escape(octets) and numbers_parts(elements):
        octets, half = octets[:-1], alphabet.HALF_ESCAPE
    text = national.decode(octets, *tables) if any(tables) else alphabet.decode(octets)
    if _REPLACEMENT in text:
        problem = "The content has octets above 0x7F, which GSM 7 bit lacks; set data_coding 3 for Latin-1."
        raise Refused(CommandStatus.ESME_RSUBMITFAIL, problem)
    return text + half


def _decoded(octets: bytes, codec: str) -> str:
    try:
        return octets.decode(codec)
    except UnicodeDecodeError:
        problem = "The content has octets above 0x7F, which ASCII lacks; set data_coding 3 for Latin-1."
        raise Refused(CommandStatus.ESME_RSUBMITFAIL, problem) from None


def _ucs2(octets: bytes) -> str:
    try:
        return octets.decode("utf-16-be")
    except UnicodeDecodeError:
        if len(octets) % 2 == 0:
            problem = "The content has half of a surrogate pair; send both halves in the same message."
            raise HalfPair(CommandStatus.ESME_RSUBMITFAIL, problem) from None
        problem = f"The content has {len(octets)} octets; UCS-2 has two for each character."
        raise Refused(CommandStatus.ESME_RSUBMITFAIL, problem) from None
