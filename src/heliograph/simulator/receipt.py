"""The text of receipts: SMPP v3.4, Appendix B, and the variants that operators send."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from heliograph.simulator.behaviour import Behaviour, ReceiptAddresses, ReceiptPlace, ReceiptWording
from heliograph.simulator.deliveries import DeliverRequest
from heliograph.simulator.message import TakenSubmit
from heliograph.simulator.reactions import PlannedReceipt
from heliograph.smpp import codec, tlv
from heliograph.smpp import constants as c
from heliograph.smpp.constants import DataCoding, MessageState
from heliograph.smpp.pdu import DeliverSm

NAMES: Final = {
    MessageState.ENROUTE: "ENROUTE",
    MessageState.DELIVERED: "DELIVRD",
    MessageState.EXPIRED: "EXPIRED",
    MessageState.DELETED: "DELETED",
    MessageState.UNDELIVERABLE: "UNDELIV",
    MessageState.ACCEPTED: "ACCEPTD",
    MessageState.UNKNOWN: "UNKNOWN",
    MessageState.REJECTED: "REJECTD",
}
_OWN_WORDS: Final = NAMES | {
    MessageState.DELIVERED: "DELIVERED",
    MessageState.UNDELIVERABLE: "FAILED",
    MessageState.DELETED: "CANCELLED",
    MessageState.EXPIRED: "TIMEOUT",
}
_GSM_NETWORK: Final = 3
_QUOTED_OCTETS: Final = 20


@dataclass(slots=True, eq=False, kw_only=True)
class ReceiptDelivery(DeliverRequest):
    """A receipt to be sent. Its home is the link on which the message came."""

    submission: TakenSubmit
    report: PlannedReceipt

    def describe(self) -> tuple[str, dict[str, object]]:
        return "receipt", {
            "message_id": self.report.notation.write(self.submission.number),
            "state": NAMES[self.report.state],
            "err": f"{self.report.err:03d}",
            "source_addr": self.submission.destination_addr,
            "destination_addr": self.submission.source_addr,
        }


def receipt_body(submission: TakenSubmit, report: PlannedReceipt, behaviour: Behaviour, done_s: float) -> bytes:
    """Encodes the body of the deliver_sm. `done_s` is the time of the final state, since 1970."""
    form = behaviour.receipt_form
    source, destination = _addresses(submission, behaviour.receipt_addresses)
    tlvs: tlv.Tlvs = ()
    if form is not ReceiptPlace.TEXT:
        tlvs = (
            (tlv.RECEIPTED_MESSAGE_ID, report.tlv_notation.write(submission.number).encode() + b"\0"),
            (tlv.MESSAGE_STATE, bytes((report.state,))),
        )
        if form is ReceiptPlace.TLV and report.err:
            tlvs += ((tlv.NETWORK_ERROR_CODE, bytes((_GSM_NETWORK, *report.err.to_bytes(2, "big")))),)
    content = b"" if form is ReceiptPlace.TLV else receipt_text(submission, report, done_s, behaviour.receipt_err)
    return codec.encode_body(
        DeliverSm(
            tlvs=tlvs,
            source_addr_ton=source[0],
            source_addr_npi=source[1],
            source_addr=source[2],
            dest_addr_ton=destination[0],
            dest_addr_npi=destination[1],
            destination_addr=destination[2],
            esm_class=c.ESM_INTERMEDIATE if report.state is MessageState.ENROUTE else behaviour.receipt_esm_class,
            data_coding=DataCoding.UCS2 if report.dialect is ReceiptWording.UCS2 else DataCoding.DEFAULT,
            short_message=content,
        )
    )


_Address = tuple[int, int, str]
"""Type of number, numbering plan, and the address itself."""


def _addresses(submission: TakenSubmit, manner: ReceiptAddresses) -> tuple[_Address, _Address]:
    """Returns the receipt's source and destination."""
    most = c.ADDRESS_OCTETS - 1
    sender = submission.source_addr_ton, submission.source_addr_npi, submission.source_addr[:most]
    number = submission.destination_addr[:most]
    recipient = submission.dest_addr_ton, submission.dest_addr_npi, number
    match manner:
        case ReceiptAddresses.UNSWAPPED:
            return sender, recipient
        case ReceiptAddresses.MASKED:
            return (*recipient[:2], number[:-4] + "*" * len(number[-4:])), sender
        case ReceiptAddresses.EMPTY:
            return (0, 0, ""), (0, 0, "")
        case _:
            return recipient, sender


def receipt_text(submission: TakenSubmit, report: PlannedReceipt, done_s: float, own_err: str = "") -> bytes:
    """Writes the text of a receipt: Appendix B in the operator's variant. `own_err` replaces the error code of an
    undelivered message.
    """
    err = own_err if own_err and report.err else f"{report.err:03d}"
    dialect = report.dialect
    states = _OWN_WORDS if dialect is ReceiptWording.FAILED else NAMES
    seconds = dialect is ReceiptWording.LONG_DATES
    name = report.notation.write(submission.number)
    state = states[report.state]
    submitted, done = _date(int(submission.at_s), seconds), _date(int(done_s), seconds)
    delivered = 1 if report.state is MessageState.DELIVERED else 0
    # The text can be quoted octet by octet if it has no header and no other alphabet.
    codings = (DataCoding.DEFAULT, DataCoding.FLASH)
    is_readable = not submission.esm_class & c.ESM_UDHI and submission.data_coding in codings
    quoted = submission.content[:_QUOTED_OCTETS] if is_readable else b""
    match dialect:
        case ReceiptWording.SHORT:
            return f"id:{name} stat:{state} done date:{done}".encode()
        case ReceiptWording.NO_ERR:
            head = f"id:{name} sub:001 dlvrd:00{delivered} submit date:{submitted} done date:{done} stat:{state} text:"
        case ReceiptWording.REORDERED:
            head = (
                f"stat:{state} err:{err} id:{name} done date:{done} submit date:{submitted}"
                f" sub:001 dlvrd:00{delivered} text:"
            )
        case _:
            if dialect is ReceiptWording.QUOTED:
                name = f'"{name}"'
            head = (
                f"id:{name} sub:001 dlvrd:00{delivered} submit date:{submitted} done date:{done}"
                f" stat:{state} err:{err} text:"
            )
    if dialect is ReceiptWording.LOWER:
        head = head.lower().replace(name.lower(), name, 1)
    if dialect is ReceiptWording.UCS2:
        # 254 octets are 127 characters, and Appendix B without the text fills them
        return head.removesuffix(" text:").encode("utf-16-be")
    return head.encode() + quoted


@lru_cache(maxsize=256)
def _date(at_s: int, seconds: bool) -> str:
    """YYMMDDhhmm[ss] in UTC."""
    return datetime.fromtimestamp(at_s, UTC).strftime("%y%m%d%H%M%S" if seconds else "%y%m%d%H%M")
