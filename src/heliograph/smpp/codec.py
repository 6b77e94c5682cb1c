"""PDUs to octets and back: SMPP v3.4, sections 3.2 and 4.

A layout describes each PDU. The four PDUs of a busy link (submit_sm, deliver_sm and their responses) are also unrolled
by hand, which makes them several times faster. Tests compare them with their layouts.

Requests are read strictly: octets that do not add up are answered with the status of the `PduError`. Responses are read
leniently and never fail, because only status and sequence number count. Peers leave out bodies, closing zeros, and
other fields that a client can do without.
"""

import struct
from collections.abc import Callable
from typing import Final, cast

from heliograph.smpp import constants as c
from heliograph.smpp import pdu as p
from heliograph.smpp import tlv, wire
from heliograph.smpp.constants import CommandStatus
from heliograph.smpp.error import FieldError, PduError
from heliograph.smpp.wire import Content, Destinations, FailedDestinations, Octet, Text

HEADER: Final = struct.Struct(">IIII")
"""command_length, command_id, command_status, sequence_number."""

# Our own limits when sending. Operators hand out longer names, passwords and ids than the specification allows.
_OUR_SYSTEM_ID_OCTETS: Final = 65
_OUR_PASSWORD_OCTETS: Final = 65
_OUR_SYSTEM_TYPE_OCTETS: Final = 33
_OUR_MESSAGE_ID_OCTETS: Final = 256

_SOURCE: Final[wire.Layout] = (
    Octet("source_addr_ton"),
    Octet("source_addr_npi"),
    Text("source_addr", c.ADDRESS_OCTETS),
)
_DESTINATION: Final[wire.Layout] = (
    Octet("dest_addr_ton"),
    Octet("dest_addr_npi"),
    Text("destination_addr", c.ADDRESS_OCTETS),
)
_BIND: Final[wire.Layout] = (
    Text("system_id", _OUR_SYSTEM_ID_OCTETS),
    Text("password", _OUR_PASSWORD_OCTETS),
    Text("system_type", _OUR_SYSTEM_TYPE_OCTETS),
    Octet("interface_version"),
    Octet("addr_ton"),
    Octet("addr_npi"),
    Text("address_range", c.ADDRESS_RANGE_OCTETS),
)
_BIND_RESP: Final[wire.Layout] = (Text("system_id", _OUR_SYSTEM_ID_OCTETS),)
_DELIVERY: Final[wire.Layout] = (
    Octet("esm_class"),
    Octet("protocol_id"),
    Octet("priority_flag"),
    Text("schedule_delivery_time", c.TIME_OCTETS),
    Text("validity_period", c.TIME_OCTETS),
    Octet("registered_delivery"),
    Octet("replace_if_present_flag"),
    Octet("data_coding"),
    Octet("sm_default_msg_id"),
    Content(),
)
_SERVICE_TYPE: Final = Text("service_type", c.SERVICE_TYPE_OCTETS)
_MESSAGE_ID: Final = Text("message_id", _OUR_MESSAGE_ID_OCTETS)
_SHORT_MESSAGE: Final[wire.Layout] = (_SERVICE_TYPE, *_SOURCE, *_DESTINATION, *_DELIVERY)

LAYOUTS: Final[dict[type[p.Pdu], wire.Layout]] = {
    p.BindTransmitter: _BIND,
    p.BindReceiver: _BIND,
    p.BindTransceiver: _BIND,
    p.BindTransmitterResp: _BIND_RESP,
    p.BindReceiverResp: _BIND_RESP,
    p.BindTransceiverResp: _BIND_RESP,
    p.Outbind: (Text("system_id", _OUR_SYSTEM_ID_OCTETS), Text("password", _OUR_PASSWORD_OCTETS)),
    p.Unbind: (),
    p.UnbindResp: (),
    p.EnquireLink: (),
    p.EnquireLinkResp: (),
    p.GenericNack: (),
    p.SubmitSm: _SHORT_MESSAGE,
    p.SubmitSmResp: (_MESSAGE_ID,),
    p.DeliverSm: _SHORT_MESSAGE,
    p.DeliverSmResp: (_MESSAGE_ID,),
    p.DataSm: (
        _SERVICE_TYPE,
        Octet("source_addr_ton"),
        Octet("source_addr_npi"),
        Text("source_addr", c.LONG_ADDRESS_OCTETS),
        Octet("dest_addr_ton"),
        Octet("dest_addr_npi"),
        Text("destination_addr", c.LONG_ADDRESS_OCTETS),
        Octet("esm_class"),
        Octet("registered_delivery"),
        Octet("data_coding"),
    ),
    p.DataSmResp: (_MESSAGE_ID,),
    p.SubmitMulti: (_SERVICE_TYPE, *_SOURCE, Destinations(), *_DELIVERY),
    p.SubmitMultiResp: (_MESSAGE_ID, FailedDestinations()),
    p.QuerySm: (_MESSAGE_ID, *_SOURCE),
    p.QuerySmResp: (
        _MESSAGE_ID,
        Text("final_date", c.TIME_OCTETS),
        Octet("message_state"),
        Octet("error_code"),
    ),
    p.CancelSm: (_SERVICE_TYPE, _MESSAGE_ID, *_SOURCE, *_DESTINATION),
    p.CancelSmResp: (),
    p.ReplaceSm: (
        _MESSAGE_ID,
        *_SOURCE,
        Text("schedule_delivery_time", c.TIME_OCTETS),
        Text("validity_period", c.TIME_OCTETS),
        Octet("registered_delivery"),
        Octet("sm_default_msg_id"),
        Content(),
    ),
    p.ReplaceSmResp: (),
    p.AlertNotification: (
        Octet("source_addr_ton"),
        Octet("source_addr_npi"),
        Text("source_addr", c.LONG_ADDRESS_OCTETS),
        Octet("esme_addr_ton"),
        Octet("esme_addr_npi"),
        Text("esme_addr", c.LONG_ADDRESS_OCTETS),
    ),
}

_BODYLESS_ON_ERROR: Final = frozenset(
    {
        c.BIND_RECEIVER_RESP,
        c.BIND_TRANSMITTER_RESP,
        c.BIND_TRANSCEIVER_RESP,
        c.SUBMIT_SM_RESP,
        c.SUBMIT_MULTI_RESP,
        c.QUERY_SM_RESP,
    }
)
"""Responses without a body if the status is an error: SMPP v3.4, 4.1.2, 4.4.2."""

BodyDecoder = Callable[[bytes, int, int], p.Pdu]
"""Takes a whole frame, its sequence number and its status."""


def decode(frame: bytes) -> p.Pdu:
    """Returns the PDU in exactly one frame. Raises `PduError` if the frame holds no PDU, or a malformed request."""
    if len(frame) < c.HEADER_OCTETS:
        raise PduError(f"{len(frame)} octets", CommandStatus.ESME_RINVCMDLEN, recoverable=False)
    length, command_id, status, sequence = HEADER.unpack_from(frame)
    if length != len(frame):
        raise PduError(
            f"command_length {length} of {len(frame)} octets",
            CommandStatus.ESME_RINVCMDLEN,
            recoverable=False,
        )
    decoder = DECODERS.get(command_id)
    if decoder is None:
        raise PduError("unknown command", CommandStatus.ESME_RINVCMDID, command_id=command_id, sequence=sequence)
    return decoder(frame, sequence, status)


def encode(pdu: p.Pdu) -> bytes:
    """Returns the whole frame. Raises `FieldError` if a value does not fit its field."""
    body = encode_body(pdu)
    try:
        return HEADER.pack(len(body) + c.HEADER_OCTETS, pdu.command_id, pdu.status, pdu.sequence) + body
    except struct.error as error:
        raise FieldError("header", "sequence or status does not fit 32 bits") from error


def encode_body(pdu: p.Pdu) -> bytes:
    """Encodes everything behind the header, TLVs included."""
    encoder = _ENCODERS.get(pdu.command_id)
    body = wire.write(LAYOUTS[type(pdu)], pdu) if encoder is None else encoder(pdu)
    if pdu.status and not pdu.tlvs and pdu.command_id in _BODYLESS_ON_ERROR:
        return b""
    return body + tlv.write(pdu.tlvs) if pdu.tlvs else body


def _decode_request(pdu_type: type[p.Pdu]) -> BodyDecoder:
    layout = LAYOUTS[pdu_type]

    def decode_body(frame: bytes, sequence: int, status: int) -> p.Pdu:
        try:
            values, position = wire.read(layout, frame)
            return pdu_type(sequence, status, tlv.read(frame, position), **values)
        except PduError as error:
            raise PduError(error.reason, error.status, command_id=pdu_type.command_id, sequence=sequence) from error

    return decode_body


def _decode_response(pdu_type: type[p.Pdu]) -> BodyDecoder:
    layout = LAYOUTS[pdu_type]

    def decode_body(frame: bytes, sequence: int, status: int) -> p.Pdu:
        values, position = wire.read_leniently(layout, frame)
        return pdu_type(sequence, status, tlv.read_leniently(frame, position), **values)

    return decode_body


def _decode_short_message(pdu_type: type[p.ShortMessage]) -> BodyDecoder:
    """The layout `_SHORT_MESSAGE`, unrolled: one decoding of the frame to text, then slices."""
    by_layout = _decode_request(pdu_type)

    def decode_body(frame: bytes, sequence: int, status: int) -> p.Pdu:
        text = frame.decode("latin-1")
        find = text.find
        # The ends of the five texts. A missing zero gives -1: the last check fails or an index runs out. The layout
        # then finds the exact error.
        a = find("\0", 16)
        b = find("\0", a + 3)
        z = find("\0", b + 3)
        s = find("\0", z + 4)
        e = find("\0", s + 1)
        if a < 0 or b < 0 or z < 0 or s < 0 or e < 0 or e + 6 > len(frame):
            return by_layout(frame, sequence, status)
        end = e + 6 + frame[e + 5]
        if end > len(frame):
            return by_layout(frame, sequence, status)
        return pdu_type(
            sequence,
            status,
            () if end == len(frame) else _request_tlvs(pdu_type.command_id, sequence, frame, end),
            text[16:a],
            frame[a + 1],
            frame[a + 2],
            text[a + 3 : b],
            frame[b + 1],
            frame[b + 2],
            text[b + 3 : z],
            frame[z + 1],
            frame[z + 2],
            frame[z + 3],
            text[z + 4 : s],
            text[s + 1 : e],
            frame[e + 1],
            frame[e + 2],
            frame[e + 3],
            frame[e + 4],
            frame[e + 6 : end],
        )

    return decode_body


def _request_tlvs(command_id: int, sequence: int, frame: bytes, position: int) -> tlv.Tlvs:
    try:
        return tlv.read(frame, position)
    except PduError as error:
        raise PduError(error.reason, error.status, command_id=command_id, sequence=sequence) from error


def split_message_id(frame: bytes) -> tuple[str, int]:
    """Returns the message_id at the start of a response's body, and the position of its TLVs. A closing zero is
    optional."""
    end = frame.find(0, 16)
    if end < 0:
        return frame[16:].decode("latin-1"), len(frame)
    return frame[16:end].decode("latin-1"), end + 1


def _decode_message_id(pdu_type: type[p.MessageIdResp]) -> BodyDecoder:
    def decode_body(frame: bytes, sequence: int, status: int) -> p.Pdu:
        message_id, position = split_message_id(frame)
        tlvs = () if position == len(frame) else tlv.read_leniently(frame, position)
        return pdu_type(sequence, status, tlvs, message_id)

    return decode_body


def _encode_short_message(pdu: p.Pdu) -> bytes:
    """The layout `_SHORT_MESSAGE`, unrolled. If a value does not fit, the layout finds which field it is."""
    message = cast("p.ShortMessage", pdu)
    content = message.short_message
    try:
        service_type = message.service_type.encode("latin-1")
        source = message.source_addr.encode("latin-1")
        destination = message.destination_addr.encode("latin-1")
        schedule = message.schedule_delivery_time.encode("latin-1")
        validity = message.validity_period.encode("latin-1")
        body = b"%b\0%c%c%b\0%c%c%b\0%c%c%c%b\0%b\0%c%c%c%c%c%b" % (
            service_type,
            message.source_addr_ton,
            message.source_addr_npi,
            source,
            message.dest_addr_ton,
            message.dest_addr_npi,
            destination,
            message.esm_class,
            message.protocol_id,
            message.priority_flag,
            schedule,
            validity,
            message.registered_delivery,
            message.replace_if_present_flag,
            message.data_coding,
            message.sm_default_msg_id,
            len(content),
            content,
        )
    except (UnicodeEncodeError, OverflowError):
        return wire.write(_SHORT_MESSAGE, pdu)
    if (
        len(service_type) >= c.SERVICE_TYPE_OCTETS
        or len(source) >= c.ADDRESS_OCTETS
        or len(destination) >= c.ADDRESS_OCTETS
        or len(schedule) >= c.TIME_OCTETS
        or len(validity) >= c.TIME_OCTETS
        or len(content) > c.MAX_SHORT_MESSAGE_OCTETS
        or 0 in service_type
        or 0 in source
        or 0 in destination
        or 0 in schedule
        or 0 in validity
    ):
        return wire.write(_SHORT_MESSAGE, pdu)
    return body


def _encode_message_id(pdu: p.Pdu) -> bytes:
    return wire.text_octets("message_id", cast("p.MessageIdResp", pdu).message_id, _OUR_MESSAGE_ID_OCTETS) + b"\0"


def _decoders() -> dict[int, BodyDecoder]:
    found = {}
    for command_id, pdu_type in p.PDU_TYPES.items():
        if issubclass(pdu_type, p.ShortMessage):
            found[command_id] = _decode_short_message(pdu_type)
        elif issubclass(pdu_type, p.MessageIdResp) and pdu_type is not p.SubmitMultiResp:
            found[command_id] = _decode_message_id(pdu_type)
        elif command_id & c.RESPONSE_BIT:
            found[command_id] = _decode_response(pdu_type)
        else:
            found[command_id] = _decode_request(pdu_type)
    return found


DECODERS: Final[dict[int, BodyDecoder]] = _decoders()
"""Decoders by command id. Decoders of requests raise `PduError`; decoders of responses never raise."""

_ENCODERS: Final[dict[int, Callable[[p.Pdu], bytes]]] = {
    c.SUBMIT_SM: _encode_short_message,
    c.DELIVER_SM: _encode_short_message,
    c.SUBMIT_SM_RESP: _encode_message_id,
    c.DELIVER_SM_RESP: _encode_message_id,
    c.DATA_SM_RESP: _encode_message_id,
}
