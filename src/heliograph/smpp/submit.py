"""Fast encoding of submit_sm and deliver_sm bodies: SMPP v3.4, 4.4.1 and 4.6.1.

Messages of a customer differ in recipient and content only. `BodyTemplate` checks and encodes all other fields once.
Each body then takes one formatting operation.
"""

from heliograph.smpp import constants as c
from heliograph.smpp import tlv
from heliograph.smpp.error import FieldError
from heliograph.smpp.tlv import Tlvs
from heliograph.smpp.wire import text_octets


class BodyTemplate:
    """All fields of a submit_sm or deliver_sm body except recipient, content and TLVs.

    Immutable, so it may be shared and cached.
    """

    __slots__ = ("_head", "_middle")

    def __init__(
        self,
        *,
        source_addr: str = "",
        source_addr_ton: int = 0,
        source_addr_npi: int = 0,
        dest_addr_ton: int = c.Ton.INTERNATIONAL,
        dest_addr_npi: int = c.Npi.E164,
        service_type: str = "",
        esm_class: int = 0,
        protocol_id: int = 0,
        priority_flag: int = 0,
        schedule_delivery_time: str = "",
        validity_period: str = "",
        registered_delivery: int = 0,
        replace_if_present_flag: int = 0,
        data_coding: int = 0,
        sm_default_msg_id: int = 0,
    ) -> None:
        """Raises `FieldError` if a value does not fit. Times are the strings of SMPP v3.4, 7.1.1, for example
        `000007000000000R` for a week.
        """
        try:
            self._head = b"%b\0%c%c%b\0%c%c" % (
                text_octets("service_type", service_type, c.SERVICE_TYPE_OCTETS),
                source_addr_ton,
                source_addr_npi,
                text_octets("source_addr", source_addr, c.ADDRESS_OCTETS),
                dest_addr_ton,
                dest_addr_npi,
            )
            self._middle = b"\0%c%c%c%b\0%b\0%c%c%c%c" % (
                esm_class,
                protocol_id,
                priority_flag,
                text_octets("schedule_delivery_time", schedule_delivery_time, c.TIME_OCTETS),
                text_octets("validity_period", validity_period, c.TIME_OCTETS),
                registered_delivery,
                replace_if_present_flag,
                data_coding,
                sm_default_msg_id,
            )
        except OverflowError as error:
            raise FieldError("template", "a number does not fit one octet") from error

    def body(self, destination_addr: str, short_message: bytes, tlvs: Tlvs = ()) -> bytes:
        """Returns the body for a recipient. Raises `FieldError` for an address over 20 octets or content over 254."""
        length = len(short_message)
        if length > c.MAX_SHORT_MESSAGE_OCTETS:
            raise FieldError("short_message", f"longer than {c.MAX_SHORT_MESSAGE_OCTETS} octets")
        number = text_octets("destination_addr", destination_addr, c.ADDRESS_OCTETS)
        body = b"%b%b%b%c%b" % (self._head, number, self._middle, length, short_message)
        return body + tlv.write(tlvs) if tlvs else body

    def payload_body(self, destination_addr: str, payload: bytes, tlvs: Tlvs = ()) -> bytes:
        """The same with the content in message_payload (at most 65,535 octets) and sm_length 0."""
        return self.body(destination_addr, b"", ((tlv.MESSAGE_PAYLOAD, payload), *tlvs))
