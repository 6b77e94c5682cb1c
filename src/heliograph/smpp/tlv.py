"""Optional parameters (TLV): SMPP v3.4, 5.3, and from congestion_state on SMPP v5.0, 4.8.4.

A PDU carries its TLVs as a tuple of `(tag, value)` pairs in wire order, with raw octets as values. So unknown and
repeated tags survive, and a PDU without TLVs costs no memory. `find_*` and `make` translate the values.
"""

import struct
from enum import StrEnum
from typing import Final, NamedTuple

from heliograph.smpp.constants import MAX_TLV_OCTETS, CommandStatus
from heliograph.smpp.error import FieldError, PduError

Tlvs = tuple[tuple[int, bytes], ...]
Value = int | str | bytes

_HEAD: Final = struct.Struct(">HH")


class ValueForm(StrEnum):
    """The form of the octets of a value."""

    INTEGER = "integer"
    TEXT = "C-octet string"
    OCTETS = "octet string"


class Definition(NamedTuple):
    """A row of the table of tags: `octets` is the exact size of an integer, the largest size of others."""

    name: str
    kind: ValueForm
    octets: int


DEST_ADDR_SUBUNIT: Final = 0x0005
DEST_NETWORK_TYPE: Final = 0x0006
DEST_BEARER_TYPE: Final = 0x0007
DEST_TELEMATICS_ID: Final = 0x0008
SOURCE_ADDR_SUBUNIT: Final = 0x000D
SOURCE_NETWORK_TYPE: Final = 0x000E
SOURCE_BEARER_TYPE: Final = 0x000F
SOURCE_TELEMATICS_ID: Final = 0x0010
QOS_TIME_TO_LIVE: Final = 0x0017
PAYLOAD_TYPE: Final = 0x0019
ADDITIONAL_STATUS_INFO_TEXT: Final = 0x001D
RECEIPTED_MESSAGE_ID: Final = 0x001E
MS_MSG_WAIT_FACILITIES: Final = 0x0030
PRIVACY_INDICATOR: Final = 0x0201
SOURCE_SUBADDRESS: Final = 0x0202
DEST_SUBADDRESS: Final = 0x0203
USER_MESSAGE_REFERENCE: Final = 0x0204
USER_RESPONSE_CODE: Final = 0x0205
SOURCE_PORT: Final = 0x020A
DESTINATION_PORT: Final = 0x020B
SAR_MSG_REF_NUM: Final = 0x020C
LANGUAGE_INDICATOR: Final = 0x020D
SAR_TOTAL_SEGMENTS: Final = 0x020E
SAR_SEGMENT_SEQNUM: Final = 0x020F
SC_INTERFACE_VERSION: Final = 0x0210
CALLBACK_NUM_PRES_IND: Final = 0x0302
CALLBACK_NUM_ATAG: Final = 0x0303
NUMBER_OF_MESSAGES: Final = 0x0304
CALLBACK_NUM: Final = 0x0381
DPF_RESULT: Final = 0x0420
SET_DPF: Final = 0x0421
MS_AVAILABILITY_STATUS: Final = 0x0422
NETWORK_ERROR_CODE: Final = 0x0423
MESSAGE_PAYLOAD: Final = 0x0424
DELIVERY_FAILURE_REASON: Final = 0x0425
MORE_MESSAGES_TO_SEND: Final = 0x0426
MESSAGE_STATE: Final = 0x0427
CONGESTION_STATE: Final = 0x0428
USSD_SERVICE_OP: Final = 0x0501
BILLING_IDENTIFICATION: Final = 0x060B
SOURCE_NETWORK_ID: Final = 0x060D
DEST_NETWORK_ID: Final = 0x060E
SOURCE_NODE_ID: Final = 0x060F
DEST_NODE_ID: Final = 0x0610
DEST_ADDR_NP_RESOLUTION: Final = 0x0611
DEST_ADDR_NP_INFORMATION: Final = 0x0612
DEST_ADDR_NP_COUNTRY: Final = 0x0613
DISPLAY_TIME: Final = 0x1201
SMS_SIGNAL: Final = 0x1203
MS_VALIDITY: Final = 0x1204
ALERT_ON_MESSAGE_DELIVERY: Final = 0x130C
ITS_REPLY_TYPE: Final = 0x1380
ITS_SESSION_INFO: Final = 0x1383


def _integer(name: str, octets: int = 1) -> Definition:
    return Definition(name, ValueForm.INTEGER, octets)


def _text(name: str, octets: int) -> Definition:
    return Definition(name, ValueForm.TEXT, octets)


def _octets(name: str, octets: int) -> Definition:
    return Definition(name, ValueForm.OCTETS, octets)


DEFINITIONS: Final[dict[int, Definition]] = {
    DEST_ADDR_SUBUNIT: _integer("dest_addr_subunit"),
    DEST_NETWORK_TYPE: _integer("dest_network_type"),
    DEST_BEARER_TYPE: _integer("dest_bearer_type"),
    DEST_TELEMATICS_ID: _integer("dest_telematics_id", 2),
    SOURCE_ADDR_SUBUNIT: _integer("source_addr_subunit"),
    SOURCE_NETWORK_TYPE: _integer("source_network_type"),
    SOURCE_BEARER_TYPE: _integer("source_bearer_type"),
    SOURCE_TELEMATICS_ID: _integer("source_telematics_id"),
    QOS_TIME_TO_LIVE: _integer("qos_time_to_live", 4),
    PAYLOAD_TYPE: _integer("payload_type"),
    ADDITIONAL_STATUS_INFO_TEXT: _text("additional_status_info_text", 256),
    RECEIPTED_MESSAGE_ID: _text("receipted_message_id", 65),
    MS_MSG_WAIT_FACILITIES: _integer("ms_msg_wait_facilities"),
    PRIVACY_INDICATOR: _integer("privacy_indicator"),
    SOURCE_SUBADDRESS: _octets("source_subaddress", 23),
    DEST_SUBADDRESS: _octets("dest_subaddress", 23),
    USER_MESSAGE_REFERENCE: _integer("user_message_reference", 2),
    USER_RESPONSE_CODE: _integer("user_response_code"),
    SOURCE_PORT: _integer("source_port", 2),
    DESTINATION_PORT: _integer("destination_port", 2),
    SAR_MSG_REF_NUM: _integer("sar_msg_ref_num", 2),
    LANGUAGE_INDICATOR: _integer("language_indicator"),
    SAR_TOTAL_SEGMENTS: _integer("sar_total_segments"),
    SAR_SEGMENT_SEQNUM: _integer("sar_segment_seqnum"),
    SC_INTERFACE_VERSION: _integer("sc_interface_version"),
    CALLBACK_NUM_PRES_IND: _integer("callback_num_pres_ind"),
    CALLBACK_NUM_ATAG: _octets("callback_num_atag", 65),
    NUMBER_OF_MESSAGES: _integer("number_of_messages"),
    CALLBACK_NUM: _octets("callback_num", 19),
    DPF_RESULT: _integer("dpf_result"),
    SET_DPF: _integer("set_dpf"),
    MS_AVAILABILITY_STATUS: _integer("ms_availability_status"),
    NETWORK_ERROR_CODE: _octets("network_error_code", 3),
    MESSAGE_PAYLOAD: _octets("message_payload", MAX_TLV_OCTETS),
    DELIVERY_FAILURE_REASON: _integer("delivery_failure_reason"),
    MORE_MESSAGES_TO_SEND: _integer("more_messages_to_send"),
    MESSAGE_STATE: _integer("message_state"),
    CONGESTION_STATE: _integer("congestion_state"),
    USSD_SERVICE_OP: _integer("ussd_service_op"),
    BILLING_IDENTIFICATION: _octets("billing_identification", 1024),
    SOURCE_NETWORK_ID: _text("source_network_id", 65),
    DEST_NETWORK_ID: _text("dest_network_id", 65),
    SOURCE_NODE_ID: _octets("source_node_id", 6),
    DEST_NODE_ID: _octets("dest_node_id", 6),
    DEST_ADDR_NP_RESOLUTION: _integer("dest_addr_np_resolution"),
    DEST_ADDR_NP_INFORMATION: _octets("dest_addr_np_information", 10),
    DEST_ADDR_NP_COUNTRY: _integer("dest_addr_np_country", 4),
    DISPLAY_TIME: _integer("display_time"),
    SMS_SIGNAL: _integer("sms_signal", 2),
    MS_VALIDITY: _integer("ms_validity"),
    ALERT_ON_MESSAGE_DELIVERY: _octets("alert_on_message_delivery", 1),
    ITS_REPLY_TYPE: _integer("its_reply_type"),
    ITS_SESSION_INFO: _octets("its_session_info", 2),
}


def name_of(tag: int) -> str:
    """Returns the name of a tag, for example `congestion_state` for 0x0428. An unknown tag is written in hexadecimal,
    for example `0x1400`.
    """
    definition = DEFINITIONS.get(tag)
    return definition.name if definition else f"0x{tag:04x}"


def read(frame: bytes, position: int) -> Tlvs:
    """All TLVs from `position` to the end of the frame; a broken stream raises `PduError`."""
    if position == len(frame):
        return ()
    tlvs, position = _read_whole(frame, position)
    if position != len(frame):
        raise PduError(f"{len(frame) - position} octets at the end are no TLV", CommandStatus.ESME_RINVOPTPARSTREAM)
    return tlvs


def read_leniently(frame: bytes, position: int) -> Tlvs:
    """Returns the complete TLVs from `position` on. An incomplete TLV at the end is ignored."""
    return _read_whole(frame, position)[0]


def _read_whole(frame: bytes, position: int) -> tuple[Tlvs, int]:
    found = []
    end = len(frame)
    while position + 4 <= end:
        tag, length = _HEAD.unpack_from(frame, position)
        after = position + 4 + length
        if after > end:
            break
        found.append((tag, frame[position + 4 : after]))
        position = after
    return tuple(found), position


def write(tlvs: Tlvs) -> bytes:
    """The octets of the TLVs in the order given."""
    try:
        return b"".join([_HEAD.pack(tag, len(value)) + value for tag, value in tlvs])
    except struct.error as error:
        raise FieldError("tlvs", "a tag or a value does not fit 16 bits") from error


def make(tag: int, value: Value) -> tuple[int, bytes]:
    """Returns a TLV made from a number, a text or octets, by the table. Octets are used unchanged for any tag."""
    if isinstance(value, bytes):
        return tag, value
    definition = DEFINITIONS.get(tag)
    if isinstance(value, str):
        try:
            return tag, value.encode("latin-1") + b"\0"
        except UnicodeEncodeError as error:
            raise FieldError(name_of(tag), "not Latin-1") from error
    if definition is None or definition.kind is not ValueForm.INTEGER:
        raise FieldError(name_of(tag), "not an integer parameter")
    try:
        return tag, value.to_bytes(definition.octets, "big")
    except OverflowError as error:
        raise FieldError(name_of(tag), f"not a number of {definition.octets} octets") from error


def find(tlvs: Tlvs, tag: int) -> bytes | None:
    """The first value of `tag`, raw."""
    for candidate, value in tlvs:
        if candidate == tag:
            return value
    return None


def find_integer(tlvs: Tlvs, tag: int) -> int | None:
    """Returns the first value of `tag` as an unsigned number of any size. Returns None if it is empty or absent."""
    value = find(tlvs, tag)
    return int.from_bytes(value, "big") if value else None


def described(tlvs: Tlvs) -> dict[str, Value]:
    """Names and typed values, for people; unknown tags and integers of a wrong size stay octets."""
    found: dict[str, Value] = {}
    for tag, value in tlvs:
        definition = DEFINITIONS.get(tag)
        if definition is None or definition.kind is ValueForm.OCTETS:
            found[name_of(tag)] = value
        elif definition.kind is ValueForm.TEXT:
            found[definition.name] = value.partition(b"\0")[0].decode("latin-1")
        else:
            sized = len(value) == definition.octets
            found[definition.name] = int.from_bytes(value, "big") if sized else value
    return found
