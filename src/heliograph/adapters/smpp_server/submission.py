"""Reads submit_sm, data_sm and submit_multi into the fields of a request to send: SMPP v3.4, 4.4, 4.5 and 4.7.

service_type, protocol_id, replace_if_present_flag and standard TLVs without a use here are ignored, as section 3.3 of
the specification asks for. TLVs of 0x1400 and above go on to the operator.
"""

from collections.abc import Sequence
from typing import Any, Final

from heliograph.adapters.smpp_server.addresses import destination_of, sender_of, spelling_of
from heliograph.adapters.smpp_server.content import Refused, read_content
from heliograph.adapters.smpp_server.expected import ReceiptWish, expected_text
from heliograph.adapters.smpp_server.times import read_time
from heliograph.app.configuration import SmppTerms
from heliograph.app.sending.fields import Fields
from heliograph.app.sending.number import Number
from heliograph.app.sending.optional_fields import CODING as CODING_FIELD
from heliograph.app.sending.optional_fields import (
    LEAST_VALIDITY_S,
    MOST_PRIORITY,
    PRIORITY,
    PROGRESS,
    TLVS,
    UDH,
    VALIDITY,
)
from heliograph.domain.numbers.dialling import NationalNumbers
from heliograph.smpp import constants as c
from heliograph.smpp import pdu as p
from heliograph.smpp import tlv
from heliograph.smpp.constants import CommandStatus

FIRST_OPERATOR_TLV: Final = 0x1400
"""Tags from here on belong to operators (SMPP v3.4, 5.3.2)."""

USER_MESSAGE_REFERENCE: Final = "user_message_reference"
"""Value of an account's `reference` that means the TLV of this name."""

MOST_REFERENCE_OCTETS: Final = 8
"""Octets of user_message_reference that are read. It has two (SMPP v3.4, 5.3.2.17); some clients write four."""

_WISH: Final = 0x03
"""Bits of registered_delivery that ask for the final receipt (SMPP v3.4, 5.2.17)."""

Submit = p.SubmitSm | p.DataSm | p.SubmitMulti


class SubmissionReader:
    """Reads the submissions of an account's clients."""

    def __init__(self, terms: SmppTerms, longest_validity_ms: int) -> None:
        """`longest_validity_ms`: longest validity of a message; a longer validity is cut."""
        self._terms = terms
        self._national = NationalNumbers(terms.country)
        self._longest_ms = longest_validity_ms
        self._reference_tag = reference_tag(terms.reference)

    def read(self, pdu: Submit, destinations: Sequence[p.Address], now: int) -> Fields:
        """Returns the fields of a request to these destinations; `now` in ms. Raises Refused."""
        terms = self._terms
        content = read_content(pdu.data_coding, pdu.esm_class, pdu.content, pdu.tlvs, terms.alphabet)
        source = p.Address(pdu.source_addr_ton, pdu.source_addr_npi, pdu.source_addr)
        sender = sender_of(source)
        numbers = [self.destination(each) for each in destinations]
        given: dict[str, Any] = {}
        if content.udh:
            given[UDH] = content.udh
        if content.coding is not None:
            given[CODING_FIELD] = content.coding
        fields = Fields(list(dict.fromkeys(numbers)), sender, content.text, kind=content.kind)
        if not isinstance(pdu, p.DataSm):
            self._read_times(pdu, fields, given, now)
            if pdu.priority_flag > MOST_PRIORITY:
                problem = f"priority_flag is {pdu.priority_flag}; the highest is {MOST_PRIORITY}."
                raise Refused(CommandStatus.ESME_RINVPRTFLG, problem)
            if pdu.priority_flag:
                given[PRIORITY] = pdu.priority_flag
            if pdu.sm_default_msg_id:
                problem = "There are no predefined messages here; set sm_default_msg_id to 0."
                raise Refused(CommandStatus.ESME_RINVDFTMSGID, problem)
        wish = self._wish(pdu.registered_delivery)
        fields.wants_receipt = wish is not ReceiptWish.NONE
        if fields.wants_receipt and pdu.registered_delivery & c.RECEIPT_INTERMEDIATE:
            given[PROGRESS] = True
        passed = {
            f"{tag:#06x}": {"hex": value.hex()}
            for tag, value in pdu.tlvs
            if tag >= FIRST_OPERATOR_TLV and tag != self._reference_tag
        }
        if passed:
            given[TLVS] = passed
        if given:
            fields.given = given
        fields.reference = self._reference(pdu.tlvs)
        if fields.wants_receipt:
            written = list(zip(destinations, numbers, strict=True))
            fields.esme = expected_text(written, spelling_of(source, sender), terms.id_form, wish)
        return fields

    def destination(self, address: p.Address) -> str:
        """Returns an address as a request names it."""
        return destination_of(address, self._national)

    def _read_times(self, pdu: p.SubmitSm | p.SubmitMulti, fields: Fields, given: dict[str, Any], now: int) -> None:
        due = now
        if pdu.schedule_delivery_time:
            at = read_time(pdu.schedule_delivery_time, now)
            if at is None:
                problem = "schedule_delivery_time is no time; write YYMMDDhhmmsstnnp (SMPP v3.4, 7.1.1)."
                raise Refused(CommandStatus.ESME_RINVSCHED, problem)
            if at > now:
                due = at
                fields.time = Number(f"{at / 1_000:.3f}")
        if pdu.validity_period:
            ends = read_time(pdu.validity_period, now)
            if ends is None or ends - due < LEAST_VALIDITY_S * 1_000:
                problem = (
                    f"validity_period must be a time at least {LEAST_VALIDITY_S} seconds after the message is due."
                )
                raise Refused(CommandStatus.ESME_RINVEXPIRY, problem)
            given[VALIDITY] = min(ends - due, self._longest_ms) // 1_000

    def _wish(self, registered_delivery: int) -> ReceiptWish:
        wish = registered_delivery & _WISH
        if wish == ReceiptWish.NONE:
            return ReceiptWish.ALL if self._terms.receipts == "always" else ReceiptWish.NONE
        if wish > ReceiptWish.FAILURE:
            problem = "registered_delivery asks for receipts of success only; set 1 for all, or 2 for failures."
            raise Refused(CommandStatus.ESME_RINVREGDLVFLG, problem)
        return ReceiptWish(wish)

    def _reference(self, tlvs: tlv.Tlvs) -> str | None:
        """Raises Refused."""
        if self._reference_tag is None:
            return None
        value = tlv.find(tlvs, self._reference_tag)
        if value is None:
            return None
        if self._reference_tag == tlv.USER_MESSAGE_REFERENCE:
            if not 1 <= len(value) <= MOST_REFERENCE_OCTETS:
                problem = f"user_message_reference has {len(value)} octets; it is a number of two octets."
                raise Refused(CommandStatus.ESME_RINVOPTPARAMVAL, problem)
            return f"umr-{int.from_bytes(value, 'big')}"
        text = value.rstrip(b"\0")
        return text.decode("latin-1") if text.isascii() else text.hex()


def reference_tag(reference: str) -> int | None:
    """Returns the tag of the TLV that an account's `reference` names; None for none."""
    if not reference:
        return None
    return tlv.USER_MESSAGE_REFERENCE if reference == USER_MESSAGE_REFERENCE else int(reference, 0)
