"""Encodes parts of messages as bodies of submit_sm (SMPP v3.4, 4.4.1), in the operator's dialect."""

from datetime import UTC, datetime
from typing import Final

from heliograph.adapters.smpp.address_rules import prefixed, readdress, renamed
from heliograph.adapters.smpp.options import Dialect
from heliograph.app.ports import Part
from heliograph.app.ports.carrier import UNSENDABLE
from heliograph.domain.message.extras import read_extras
from heliograph.domain.message.state import Kind
from heliograph.domain.text import alphabet
from heliograph.domain.text.repertoire import Encoding
from heliograph.domain.text.segment import HEADER_OCTETS
from heliograph.smpp import constants as c
from heliograph.smpp import tlv
from heliograph.smpp.error import FieldError
from heliograph.smpp.submit import BodyTemplate

MAX_TEMPLATES: Final = 4096
"""Most templates in the cache; at this limit the cache is emptied."""

HEADER16_OCTETS: Final = 7
"""The user data header with a 16-bit reference, its length octet included (3GPP TS 23.040, 9.2.3.24.8)."""

MINUTE_MS: Final = 60_000

_MAX_RELATIVE_DAYS: Final = 30
"""Days to which a longer validity is cut, since months have no length that both ends agree on."""

_MESSAGE_CLASS_0: Final = 0x10
"""Bit 4 of data_coding: a class is given, and it is 0 (3GPP TS 23.038, 4)."""

_Key = tuple[str, int, int, bool, bool, int, int, str]


class Encoder:
    """Writes bodies; keeps the constant rest of each kind of message ready."""

    __slots__ = ("_codec", "_concatenation", "_dialect", "_numbering", "_rewrites", "_templates")

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._concatenation = dialect.concatenation
        self._rewrites = bool(dialect.dest_rules or dialect.dest_strip or dialect.dest_prefix)
        self._numbering = dialect.dest_ton << 8 | dialect.dest_npi
        self._codec = {"gsm": "", "latin1": "latin-1", "ascii": "ascii"}[dialect.alphabet]
        self._templates: dict[_Key, BodyTemplate] = {}

    @property
    def header_octets(self) -> int:
        """Octets that a long message's part must leave free for the header (`domain.segment.split`)."""
        return HEADER16_OCTETS if self._concatenation == "udh16" else HEADER_OCTETS

    def body(self, part: Part, now: int) -> bytes:
        """Encodes the body of a part's submit_sm; `now` in ms since the epoch. Raises FieldError for values that no
        submit_sm can hold."""
        message = part.message
        if part.encoding == UNSENDABLE:
            raise FieldError(
                "short_message",
                "it takes more parts than were charged, or has a TLV that does not pass",
            )
        destination, numbering = message.destination, self._numbering
        if self._rewrites:
            dialect = self._dialect
            destination, ruled = readdress(destination, dialect.dest_rules)
            numbering = numbering if ruled is None else ruled
            destination = prefixed(destination, dialect.dest_strip, dialect.dest_prefix)
        encoding, octets, elements = part.encoding, part.octets, part.elements
        if self._codec and encoding == Encoding.GSM7:
            octets = self._transcoded(octets)
        single = part.total == 1
        has_header = bool(elements) or not (single or self._concatenation == "sar")
        validity = self._validity(message.expires, now)
        key = (
            message.sender, message.kind, encoding, message.wants_receipt, has_header, validity, numbering,
            message.extras,
        )  # fmt: skip
        template = self._templates.get(key) or self._make(key)
        tlvs = part.tlvs
        if single:
            if elements:
                octets = b"%c%b%b" % (len(elements), elements, octets)
            if message.segments > 1 or len(octets) > c.MAX_SHORT_MESSAGE_OCTETS:
                return template.payload_body(destination, octets, tlvs)
            return template.body(destination, octets, tlvs)
        if self._concatenation == "udh8":
            return template.body(destination, _numbered(part, octets), tlvs)
        return self._rarer(template, part, destination, octets, tlvs)

    def _rarer(self, template: BodyTemplate, part: Part, destination: str, octets: bytes, tlvs: tlv.Tlvs) -> bytes:
        """Encodes a part of a long message with another numbering than the usual header with an 8-bit reference, for
        example in TLVs (`sar`)."""
        number = part.segment + 1
        # The low octet separates the reference from messages in flight, the high octet from earlier messages.
        wide = (part.message.key * 0x9E3779B97F4A7C15 >> 32 & 0xFF) << 8 | part.reference & 0xFF
        match self._concatenation:
            case "udh16" if part.header_octets >= HEADER16_OCTETS:
                numbers = (wide >> 8, wide & 0xFF, part.total, number)
                header = b"%c\x08\4%c%c%c%c%b" % (6 + len(part.elements), *numbers, part.elements)
                return template.body(destination, header + octets, tlvs)
            case "sar":
                numbering = (
                    tlv.make(tlv.SAR_MSG_REF_NUM, wide),
                    tlv.make(tlv.SAR_TOTAL_SEGMENTS, part.total),
                    tlv.make(tlv.SAR_SEGMENT_SEQNUM, number),
                )
                if part.elements:
                    octets = b"%c%b%b" % (len(part.elements), part.elements, octets)
                return template.body(destination, octets, numbering + tlvs)
        if self._concatenation == "payload":
            return template.payload_body(destination, _numbered(part, octets), tlvs)
        return template.body(destination, _numbered(part, octets), tlvs)

    def _make(self, key: _Key) -> BodyTemplate:
        sender, kind, encoding, wants_receipt, has_header, validity, numbering, text = key
        extras = read_extras(text)
        dialect = self._dialect
        sender, ton, npi = source_of(sender, dialect)
        registered_delivery = dialect.registered_delivery | (c.RECEIPT_INTERMEDIATE if extras.progress else 0)
        template = BodyTemplate(
            source_addr=sender,
            source_addr_ton=ton,
            source_addr_npi=npi,
            dest_addr_ton=numbering >> 8,
            dest_addr_npi=numbering & 0xFF,
            service_type=dialect.service_type,
            esm_class=dialect.esm_class | (c.ESM_UDHI if has_header else 0),
            protocol_id=dialect.protocol_id,
            priority_flag=dialect.priority if extras.priority is None else extras.priority,
            validity_period=validity_period(validity, dialect.validity == "absolute"),
            registered_delivery=registered_delivery if wants_receipt else c.RECEIPT_NONE,
            data_coding=data_coding(kind, encoding, dialect) if extras.coding is None else extras.coding,
        )
        if len(self._templates) >= MAX_TEMPLATES:
            self._templates.clear()
        self._templates[key] = template
        return template

    def _validity(self, expires: int, now: int) -> int:
        """Whole minutes, rounded up so that messages share templates: relative, or since the epoch; 0 for none."""
        match self._dialect.validity:
            case "relative":
                return max(1, -((now - expires) // MINUTE_MS))
            case "absolute":
                return -(-max(expires, now + 1) // MINUTE_MS)
            case _:
                return 0

    def _transcoded(self, septets: bytes) -> bytes:
        """Converts a text to the operator's own alphabet. A text with other letters was cut as UCS-2
        (`domain.segment.split`), unless the option has just changed: then it raises FieldError. No letter is lost.
        """
        try:
            return alphabet.decode(septets).encode(self._codec)
        except UnicodeEncodeError:
            raise FieldError("short_message", "the operator's alphabet lacks letters of the text") from None


def _numbered(part: Part, octets: bytes) -> bytes:
    """The octets of a part after the header with an 8-bit reference."""
    numbers = (part.reference & 0xFF, part.total, part.segment + 1)
    return b"%c\0\3%c%c%c%b%b" % (5 + len(part.elements), *numbers, part.elements, octets)


def source_of(sender: str, dialect: Dialect) -> tuple[str, int, int]:
    """Returns a sender as it is sent, with TON and NPI."""
    sender = renamed(sender, dialect.sender_map, dialect.sender_default)
    sender, ruled = readdress(sender, dialect.source_rules)
    return (sender, *(source_numbering(sender, dialect) if ruled is None else divmod(ruled, 256)))


def source_numbering(sender: str, dialect: Dialect) -> tuple[int, int]:
    """Returns TON and NPI of a sender by its form. Digits are a short code such as `3388`, or an international number
    such as `491701234567`. All others are names, such as `ACME`."""
    sender = sender.removeprefix("+")
    if not (sender.isascii() and sender.isdigit()):
        ton, npi = dialect.alphanumeric_ton, dialect.alphanumeric_npi
    elif len(sender) <= dialect.short_code_digits:
        ton, npi = dialect.short_code_ton, dialect.short_code_npi
    else:
        ton, npi = dialect.msisdn_ton, dialect.msisdn_npi
    return (
        ton if dialect.source_ton is None else dialect.source_ton,
        npi if dialect.source_npi is None else dialect.source_npi,
    )


def data_coding(kind: int, encoding: int, dialect: Dialect) -> int:
    """Returns the data_coding (SMPP v3.4, 5.2.19). A flash message has its class in GSM's own coding group, for example
    0x18 in UCS-2."""
    if encoding == Encoding.BINARY:
        return dialect.binary_coding
    if encoding == Encoding.LATIN1 and dialect.latin1_coding is not None:
        return dialect.latin1_coding
    if kind == Kind.FLASH:
        return _MESSAGE_CLASS_0 | (c.DataCoding.UCS2 if encoding == Encoding.UCS2 else c.DataCoding.DEFAULT)
    return dialect.unicode_coding if encoding == Encoding.UCS2 else dialect.text_coding


def validity_period(minutes: int, absolute: bool) -> str:
    """Returns a time of SMPP v3.4, 7.1.1: absolute `YYMMDDhhmmss000+` in UTC, or relative `0000DDhhmm00000R`; empty for
    0. For example, 90 relative minutes are `000000013000000R`."""
    if minutes == 0:
        return ""
    if absolute:
        return datetime.fromtimestamp(minutes * 60, UTC).strftime("%y%m%d%H%M%S000+")
    minutes = min(minutes, _MAX_RELATIVE_DAYS * 1440)
    return f"0000{minutes // 1440:02d}{minutes // 60 % 24:02d}{minutes % 60:02d}00000R"
