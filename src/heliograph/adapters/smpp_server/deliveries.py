"""Writes receipts and inbound messages as bodies of deliver_sm (SMPP v3.4, 4.6.1).

A receipt has the text of Appendix B with all fields in order, since Kannel reads them in this order only:

    id:019e2b1c-... sub:001 dlvrd:001 submit date:2611270038 done date:2611270039 stat:DELIVRD err:000 text:Hello

SMPP 3.3 has no TLVs: its clients get a receipt's text alone, and a long message from a phone in parts.
"""

from datetime import datetime
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from heliograph.adapters.smpp_server.expected import expected_of, message_id
from heliograph.app.configuration import Account
from heliograph.app.facts import InboundMessage
from heliograph.app.notice import ReachedState
from heliograph.domain.message.receipt import Delivery, err_of, is_final
from heliograph.domain.message.state import Kind
from heliograph.domain.text import alphabet
from heliograph.domain.text.inbound import MOST_PARTS
from heliograph.domain.text.repertoire import Encoding
from heliograph.domain.text.segment import parts_of
from heliograph.smpp import codec, tlv
from heliograph.smpp import constants as c
from heliograph.smpp.constants import DataCoding
from heliograph.smpp.pdu import DeliverSm

TEXT_CHARS: Final = 20
"""Characters of the message that a receipt repeats (SMPP v3.4, Appendix B)."""

_GSM_NETWORK: Final = 3
"""Network type of network_error_code (SMPP v3.4, 5.3.2.31)."""


def bodies_of(
    subject: ReachedState | InboundMessage, owner: Account, zone: ZoneInfo, *, reads_tlvs: bool
) -> list[bytes]:
    """Returns the bodies of a notice: several for a long message from a phone if the client speaks SMPP 3.3
    (`reads_tlvs` is False). Raises FieldError for values that no deliver_sm can hold."""
    if isinstance(subject, ReachedState):
        return [receipt_body(subject, zone, reads_tlvs=reads_tlvs)]
    return inbound_bodies(subject, owner.smpp.alphabet, reads_tlvs=reads_tlvs)


def receipt_body(reached: ReachedState, zone: ZoneInfo, *, reads_tlvs: bool = True) -> bytes:
    """Returns the body of a receipt. Dates are in `zone`. `reads_tlvs`: False for a client of SMPP 3.3."""
    message, state = reached.message, reached.state
    expected = expected_of(message)
    key = message.batch or message.key
    name = message_id(expected.id_form, key, message.tail)
    err = err_of(reached.err, state)
    text = "" if message.kind == Kind.BINARY else message.content[:TEXT_CHARS]
    delivered = 1 if state is Delivery.DELIVRD else 0
    content = (
        f"id:{name} sub:001 dlvrd:00{delivered} submit date:{_date(message.time // 60_000, zone)}"
        f" done date:{_date(reached.at // 60_000, zone)} stat:{state.name} err:{err} text:"
    ).encode() + text.encode("ascii", "replace")
    tlvs: tlv.Tlvs = (
        (tlv.RECEIPTED_MESSAGE_ID, name.encode() + b"\0"),
        (tlv.MESSAGE_STATE, bytes((state,))),
        (tlv.NETWORK_ERROR_CODE, bytes((_GSM_NETWORK, *int(err).to_bytes(2, "big")))),
    )
    source = expected.destination_as_written(message.destination)
    destination = expected.sender.written(message.sender)
    return codec.encode_body(
        DeliverSm(
            tlvs=tlvs if reads_tlvs else (),
            source_addr_ton=source.ton,
            source_addr_npi=source.npi,
            source_addr=source.number,
            dest_addr_ton=destination.ton,
            dest_addr_npi=destination.npi,
            destination_addr=destination.number,
            esm_class=c.ESM_RECEIPT if is_final(state) else c.ESM_INTERMEDIATE,
            short_message=content,
        )
    )


def inbound_bodies(message: InboundMessage, account_alphabet: str, *, reads_tlvs: bool = True) -> list[bytes]:
    """Returns the body of a message from a phone: its text in the account's alphabet, else in UCS-2; or its octets. A
    client of SMPP 3.3 (`reads_tlvs` is False) gets a long message as several bodies, the parts in their order.

    Operators send longer addresses (data_sm) and texts than a deliver_sm has room for: they are cut.
    """
    coding, encoding, octets = _content(message, account_alphabet)
    if len(octets) <= c.MAX_SHORT_MESSAGE_OCTETS:
        return [_inbound_body(message, coding, octets)]
    if reads_tlvs:
        payload = octets[: c.MAX_TLV_OCTETS & ~1]  # whole characters of UCS-2
        return [_inbound_body(message, coding, b"", tlvs=((tlv.MESSAGE_PAYLOAD, payload),))]
    parts = parts_of(encoding, octets)[:MOST_PARTS]
    reference = message.key * 0x9E3779B97F4A7C15 >> 56 & 0xFF  # each try has the same
    headed = [b"\5\0\3%c%c%c%b" % (reference, len(parts), number, part) for number, part in enumerate(parts, 1)]
    return [_inbound_body(message, coding, part, esm_class=c.ESM_UDHI) for part in headed]


def _inbound_body(
    message: InboundMessage, coding: int, octets: bytes, *, esm_class: int = 0, tlvs: tlv.Tlvs = ()
) -> bytes:
    return codec.encode_body(
        DeliverSm(
            tlvs=tlvs,
            source_addr_ton=c.Ton.INTERNATIONAL,
            source_addr_npi=c.Npi.E164,
            source_addr=message.sender[: c.ADDRESS_OCTETS - 1],
            dest_addr_ton=c.Ton.UNKNOWN,
            dest_addr_npi=c.Npi.UNKNOWN,
            destination_addr=message.recipient[: c.ADDRESS_OCTETS - 1],
            esm_class=esm_class,
            data_coding=coding,
            short_message=octets,
        )
    )


def _content(message: InboundMessage, account_alphabet: str) -> tuple[int, Encoding, bytes]:
    """Returns data_coding, how the octets are cut into parts, and the octets."""
    if message.octets and not message.content:
        return message.coding, Encoding.BINARY, message.octets
    codec_name = alphabet.CODECS.get(account_alphabet)
    try:
        octets = alphabet.encode(message.content) if codec_name is None else message.content.encode(codec_name)
    except UnicodeEncodeError:
        octets = None
    if octets is not None:
        return DataCoding.DEFAULT, Encoding.GSM7 if codec_name is None else Encoding.LATIN1, octets
    return DataCoding.UCS2, Encoding.UCS2, message.content.encode("utf-16-be", "replace")


@lru_cache(maxsize=4_096)
def _date(minute: int, zone: ZoneInfo) -> str:
    """Returns a minute since the epoch as YYMMDDhhmm."""
    return datetime.fromtimestamp(minute * 60, zone).strftime("%y%m%d%H%M")
