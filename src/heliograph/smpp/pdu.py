"""The PDUs of SMPP v3.4, section 4, as plain values with the specification's field names and order.

Text fields are `str` (Latin-1 on the wire, so that any octet of a peer survives). Message contents are `bytes`. Times
are the 16-character strings of 7.1.1, for example `240131235959000+`. The constructors take `sequence`, `status` and
`tlvs`, then the body. The `repr` of a PDU shows no secret, no number and no text.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from heliograph.smpp import constants as c
from heliograph.smpp import tlv
from heliograph.smpp.constants import CommandStatus, command_name
from heliograph.smpp.tlv import Tlvs


class Address(NamedTuple):
    """Type of number, numbering plan and digits (or letters) of a party: SMPP v3.4, 5.2.5 to 5.2.9."""

    ton: int
    npi: int
    number: str


class DistributionList(NamedTuple):
    """A list of recipients kept by the message centre: SMPP v3.4, 4.5.1.2."""

    name: str


class FailedDestination(NamedTuple):
    """A recipient of submit_multi that was not taken, and why: SMPP v3.4, 4.5.3."""

    ton: int
    npi: int
    number: str
    status: int


@dataclass(slots=True, repr=False)
class Pdu:
    """Header (SMPP v3.4, 3.2) and optional parameters."""

    command_id: ClassVar[int]

    sequence: int = 0
    status: int = 0
    tlvs: Tlvs = ()

    def __repr__(self) -> str:
        return f"<{command_name(self.command_id)} {self.sequence} {CommandStatus.name_of(self.status)}>"


@dataclass(slots=True, repr=False)
class BindRequest(Pdu):
    """A request to bind: the fields that its three kinds share (SMPP v3.4, 4.1)."""

    system_id: str = ""
    password: str = ""
    system_type: str = ""
    interface_version: int = c.INTERFACE_VERSION_34
    addr_ton: int = 0
    addr_npi: int = 0
    address_range: str = ""


@dataclass(slots=True, repr=False)
class BindTransmitter(BindRequest):
    command_id = c.BIND_TRANSMITTER


@dataclass(slots=True, repr=False)
class BindReceiver(BindRequest):
    command_id = c.BIND_RECEIVER


@dataclass(slots=True, repr=False)
class BindTransceiver(BindRequest):
    command_id = c.BIND_TRANSCEIVER


@dataclass(slots=True, repr=False)
class BindResp(Pdu):
    """`system_id` is the message centre's. Many omit it, some even its closing zero."""

    system_id: str = ""


@dataclass(slots=True, repr=False)
class BindTransmitterResp(BindResp):
    command_id = c.BIND_TRANSMITTER_RESP


@dataclass(slots=True, repr=False)
class BindReceiverResp(BindResp):
    command_id = c.BIND_RECEIVER_RESP


@dataclass(slots=True, repr=False)
class BindTransceiverResp(BindResp):
    command_id = c.BIND_TRANSCEIVER_RESP


@dataclass(slots=True, repr=False)
class Outbind(Pdu):
    """The message centre asks an ESME that listens to bind as receiver: SMPP v3.4, 4.1.7."""

    command_id = c.OUTBIND

    system_id: str = ""
    password: str = ""


@dataclass(slots=True, repr=False)
class Unbind(Pdu):
    command_id = c.UNBIND


@dataclass(slots=True, repr=False)
class UnbindResp(Pdu):
    command_id = c.UNBIND_RESP


@dataclass(slots=True, repr=False)
class EnquireLink(Pdu):
    command_id = c.ENQUIRE_LINK


@dataclass(slots=True, repr=False)
class EnquireLinkResp(Pdu):
    command_id = c.ENQUIRE_LINK_RESP


@dataclass(slots=True, repr=False)
class GenericNack(Pdu):
    """Answer to octets that could not be read as a request: SMPP v3.4, 4.3.1."""

    command_id = c.GENERIC_NACK


@dataclass(slots=True, repr=False)
class ShortMessage(Pdu):
    """submit_sm and deliver_sm, which share their layout: SMPP v3.4, 4.4.1 and 4.6.1."""

    service_type: str = ""
    source_addr_ton: int = 0
    source_addr_npi: int = 0
    source_addr: str = ""
    dest_addr_ton: int = 0
    dest_addr_npi: int = 0
    destination_addr: str = ""
    esm_class: int = 0
    protocol_id: int = 0
    priority_flag: int = 0
    schedule_delivery_time: str = ""
    validity_period: str = ""
    registered_delivery: int = 0
    replace_if_present_flag: int = 0
    data_coding: int = 0
    sm_default_msg_id: int = 0
    short_message: bytes = b""

    @property
    def content(self) -> bytes:
        """The octets of the message, from short_message or message_payload."""
        return self.short_message or tlv.find(self.tlvs, tlv.MESSAGE_PAYLOAD) or b""


@dataclass(slots=True, repr=False)
class SubmitSm(ShortMessage):
    command_id = c.SUBMIT_SM


@dataclass(slots=True, repr=False)
class DeliverSm(ShortMessage):
    command_id = c.DELIVER_SM


@dataclass(slots=True, repr=False)
class MessageIdResp(Pdu):
    """The responses with a message id. It may be empty if the status is an error."""

    message_id: str = ""


@dataclass(slots=True, repr=False)
class SubmitSmResp(MessageIdResp):
    command_id = c.SUBMIT_SM_RESP


@dataclass(slots=True, repr=False)
class DeliverSmResp(MessageIdResp):
    """`message_id` is unused here (SMPP v3.4, 4.6.2) and stays empty."""

    command_id = c.DELIVER_SM_RESP


@dataclass(slots=True, repr=False)
class DataSm(Pdu):
    """SMPP v3.4, 4.7.1. The content travels in message_payload."""

    command_id = c.DATA_SM

    service_type: str = ""
    source_addr_ton: int = 0
    source_addr_npi: int = 0
    source_addr: str = ""
    dest_addr_ton: int = 0
    dest_addr_npi: int = 0
    destination_addr: str = ""
    esm_class: int = 0
    registered_delivery: int = 0
    data_coding: int = 0

    @property
    def content(self) -> bytes:
        """The octets of message_payload."""
        return tlv.find(self.tlvs, tlv.MESSAGE_PAYLOAD) or b""


@dataclass(slots=True, repr=False)
class DataSmResp(MessageIdResp):
    command_id = c.DATA_SM_RESP


@dataclass(slots=True, repr=False)
class SubmitMulti(Pdu):
    """SMPP v3.4, 4.5.1."""

    command_id = c.SUBMIT_MULTI

    service_type: str = ""
    source_addr_ton: int = 0
    source_addr_npi: int = 0
    source_addr: str = ""
    destinations: tuple[Address | DistributionList, ...] = ()
    esm_class: int = 0
    protocol_id: int = 0
    priority_flag: int = 0
    schedule_delivery_time: str = ""
    validity_period: str = ""
    registered_delivery: int = 0
    replace_if_present_flag: int = 0
    data_coding: int = 0
    sm_default_msg_id: int = 0
    short_message: bytes = b""

    @property
    def content(self) -> bytes:
        """The octets of the message, from short_message or message_payload."""
        return self.short_message or tlv.find(self.tlvs, tlv.MESSAGE_PAYLOAD) or b""


@dataclass(slots=True, repr=False)
class SubmitMultiResp(MessageIdResp):
    """SMPP v3.4, 4.5.2: the recipients not listed as failed were taken."""

    command_id = c.SUBMIT_MULTI_RESP

    unsuccess_sme: tuple[FailedDestination, ...] = ()


@dataclass(slots=True, repr=False)
class QuerySm(Pdu):
    """SMPP v3.4, 4.8.1. The source address must equal the address that the message was submitted with."""

    command_id = c.QUERY_SM

    message_id: str = ""
    source_addr_ton: int = 0
    source_addr_npi: int = 0
    source_addr: str = ""


@dataclass(slots=True, repr=False)
class QuerySmResp(Pdu):
    """SMPP v3.4, 4.8.2. `final_date` is empty as long as the message has no final state."""

    command_id = c.QUERY_SM_RESP

    message_id: str = ""
    final_date: str = ""
    message_state: int = 0
    error_code: int = 0


@dataclass(slots=True, repr=False)
class CancelSm(Pdu):
    """SMPP v3.4, 4.9.1: cancels a message by its id, or all messages between two addresses."""

    command_id = c.CANCEL_SM

    service_type: str = ""
    message_id: str = ""
    source_addr_ton: int = 0
    source_addr_npi: int = 0
    source_addr: str = ""
    dest_addr_ton: int = 0
    dest_addr_npi: int = 0
    destination_addr: str = ""


@dataclass(slots=True, repr=False)
class CancelSmResp(Pdu):
    command_id = c.CANCEL_SM_RESP


@dataclass(slots=True, repr=False)
class ReplaceSm(Pdu):
    """SMPP v3.4, 4.10.1."""

    command_id = c.REPLACE_SM

    message_id: str = ""
    source_addr_ton: int = 0
    source_addr_npi: int = 0
    source_addr: str = ""
    schedule_delivery_time: str = ""
    validity_period: str = ""
    registered_delivery: int = 0
    sm_default_msg_id: int = 0
    short_message: bytes = b""


@dataclass(slots=True, repr=False)
class ReplaceSmResp(Pdu):
    command_id = c.REPLACE_SM_RESP


@dataclass(slots=True, repr=False)
class AlertNotification(Pdu):
    """A subscriber who was away is reachable again: SMPP v3.4, 4.12.1. It has no answer."""

    command_id = c.ALERT_NOTIFICATION

    source_addr_ton: int = 0
    source_addr_npi: int = 0
    source_addr: str = ""
    esme_addr_ton: int = 0
    esme_addr_npi: int = 0
    esme_addr: str = ""


PDU_TYPES: dict[int, type[Pdu]] = {
    pdu_type.command_id: pdu_type
    for pdu_type in (
        BindTransmitter,
        BindTransmitterResp,
        BindReceiver,
        BindReceiverResp,
        BindTransceiver,
        BindTransceiverResp,
        Outbind,
        Unbind,
        UnbindResp,
        EnquireLink,
        EnquireLinkResp,
        GenericNack,
        SubmitSm,
        SubmitSmResp,
        DeliverSm,
        DeliverSmResp,
        DataSm,
        DataSmResp,
        SubmitMulti,
        SubmitMultiResp,
        QuerySm,
        QuerySmResp,
        CancelSm,
        CancelSmResp,
        ReplaceSm,
        ReplaceSmResp,
        AlertNotification,
    )
}
"""Every PDU type by its command id."""
