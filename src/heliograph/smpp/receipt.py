"""Delivery receipts as operators write them: SMPP v3.4, 5.2.12, 5.3.2 and Appendix B. For example

    id:0123456789 sub:001 dlvrd:001 submit date:2401312358 done date:2401312359 stat:DELIVRD err:000 text:Hello

esm_class marks a receipt. Some operators do not set it: `parse_unmarked` reads such receipts. Only the caller, which
knows the message ids, can then tell a receipt from a phone's text.

TLVs take precedence. The text fills in the rest. The specification leaves its format to each message centre, so the
reader accepts any order and case, missing fields, quotes, dates of any length, UCS-2, and hexadecimal.
"""

import re
from dataclasses import dataclass
from typing import Final

from heliograph.smpp import constants as c
from heliograph.smpp import tlv
from heliograph.smpp.constants import DataCoding, MessageState
from heliograph.smpp.pdu import DataSm, DeliverSm

_STATE_NAMES: Final = {
    "DELIVRD": ("DELIVRD", "DELIVERED", "DELIVERD", "DELIVRED", "DELIVER", "DELIVERY", "SUCCESS", "READ"),
    "EXPIRED": ("EXPIRED", "EXPIRD", "TIMEOUT"),
    "DELETED": ("DELETED", "CANCELED", "CANCELLED"),
    "UNDELIV": (
        "UNDELIV",
        "UNDELIVERED",
        "UNDELIVERABLE",
        "UNDELIVRD",
        "UNDELVRD",
        "UNDELVD",
        "FAILED",
        "FAIL",
        "FAILURE",
    ),
    "ACCEPTD": ("ACCEPTD", "ACCEPTED", "ACCEPT", "BUFFERED", "BUFFERD"),
    "UNKNOWN": ("UNKNOWN", "UNKNOWND"),
    "REJECTD": ("REJECTD", "REJECTED", "REJECT"),
    "ENROUTE": ("ENROUTE", "EN_ROUTE", "SCHEDULED"),
}
_STATES: Final = {alias: state for state, aliases in _STATE_NAMES.items() for alias in aliases}

_STATE_OF_NUMBER: Final[dict[int, str]] = {
    MessageState.SCHEDULED: "ENROUTE",
    MessageState.ENROUTE: "ENROUTE",
    MessageState.DELIVERED: "DELIVRD",
    MessageState.EXPIRED: "EXPIRED",
    MessageState.DELETED: "DELETED",
    MessageState.UNDELIVERABLE: "UNDELIV",
    MessageState.ACCEPTED: "ACCEPTD",
    MessageState.UNKNOWN: "UNKNOWN",
    MessageState.REJECTED: "REJECTD",
    MessageState.SKIPPED: "UNKNOWN",
}

_KEY_NAMES: Final = {
    "id": r"id|msg_?id|message[ _]?id",
    "sub": r"sub",
    "dlvrd": r"dlvrd|dlvr|delivered",
    "submit_date": r"submit[ _]?date|sub[ _]date",
    "done_date": r"done[ _]?date",
    "stat": r"stat|status|state",
    "err": r"err|error|err[ _]?code|error[ _]?code",
    "text": r"text|txt",
}
_FIELD: Final = re.compile(
    rf"""(?<![0-9a-z_])(?:{"|".join(f"(?P<{name}>{names})" for name, names in _KEY_NAMES.items())})
    \s{{0,4}}[:=]""",
    re.IGNORECASE | re.VERBOSE,
)
_APPENDIX_B: Final = re.compile(
    r"id:(?P<id>[\w-]+) sub:(?P<sub>\d+) dlvrd:(?P<dlvrd>\d+) submit date:(?P<submit_date>\d+)"
    r" done date:(?P<done_date>\d+) stat:(?P<stat>\w+) err:(?P<err>\w+) [tT]ext:(?P<text>[^\0]*)",
    re.ASCII,
)
"""The form of most message centres. It is read several times faster than other forms."""
_LEAST: Final = frozenset({"sub", "dlvrd", "submit_date", "done_date", "err"})
"""An unmarked text counts as a receipt only if it has an id, a state and at least one of these fields."""
_DATES: Final = frozenset({"submit_date", "done_date"})
_WORD: Final = re.compile(r"""["']([^"']*)["']|([^\s,;]+)""")
"""The first word of a value. `search` itself skips the white space before it. A pattern that does so takes a time that
grows with the square of the spaces: minutes for 64 KiB in a single PDU."""
_HEXADECIMAL: Final = re.compile(r"(?:[0-9A-Fa-f]{2}){16,}")
_TRIMMINGS: Final = " \t\r\n\0,;'\""


@dataclass(slots=True, repr=False)
class ReceiptContent:
    """The content of a receipt. The PDU has the addresses: a receipt comes *from* the message's recipient."""

    message_id: str
    """The operator's message id, from the TLV or otherwise from the text; empty if there is none."""
    other_id: str | None
    """The id of the text if it differs from the TLV's. Some operators write one in decimal and the other in
    hexadecimal, for example `255` and `FF`.
    """
    state: str
    """DELIVRD, EXPIRED, DELETED, UNDELIV, ACCEPTD, UNKNOWN, REJECTD or ENROUTE. An unknown word of the operator is
    kept, in capitals. Empty if the receipt has no state.
    """
    err: str | None
    """The operator's error code in its own notation. From a network_error_code TLV: its number with at least three
    digits, for example `011`."""
    intermediate: bool
    """An intermediate notification (esm_class bit 5): another receipt follows."""
    source_addr: str
    destination_addr: str
    submit_date: str | None
    done_date: str | None
    sub: str | None
    dlvrd: str | None
    text: str | None

    def __repr__(self) -> str:
        return f"<Receipt {self.message_id!r} {self.state} err={self.err}>"


def is_receipt(esm_class: int) -> bool:
    """Whether a deliver_sm or data_sm with this esm_class is a receipt, final or intermediate."""
    return esm_class & (c.ESM_RECEIPT | c.ESM_INTERMEDIATE) != 0


def parse_receipt(pdu: DeliverSm | DataSm) -> ReceiptContent | None:
    """Returns the receipt in `pdu`, or None if esm_class does not mark a receipt."""
    return _parse(pdu) if is_receipt(pdu.esm_class) else None


def parse_unmarked(pdu: DeliverSm | DataSm) -> ReceiptContent | None:
    """Returns the receipt in a `pdu` that is not marked as a receipt, or None.

    It must have an id and a known state. Both come from TLVs, or from a text that begins with a field of Appendix B and
    has a third such field.
    """
    if is_receipt(pdu.esm_class) or pdu.esm_class & c.ESM_UDHI:
        return None
    stated = pdu.tlvs and tlv.find(pdu.tlvs, tlv.MESSAGE_STATE) and tlv.find(pdu.tlvs, tlv.RECEIPTED_MESSAGE_ID)
    if not stated and not _reads_like_one(pdu):
        return None
    receipt = _parse(pdu)
    return receipt if receipt.message_id and receipt.state in _STATE_NAMES else None


def _reads_like_one(pdu: DeliverSm | DataSm) -> bool:
    text = _decoded(pdu.content, pdu.esm_class, pdu.data_coding).lstrip(_TRIMMINGS)
    if _FIELD.match(text) is None:
        return False
    fields = _split(text)
    return bool(fields.get("id") and fields.get("stat")) and not _LEAST.isdisjoint(fields)


def _parse(pdu: DeliverSm | DataSm) -> ReceiptContent:
    text_id, sub, dlvrd, submit_date, done_date, stat, err, text = _fields_of(pdu)
    state, message_id, error = None, None, None
    if pdu.tlvs:
        values = dict(reversed(pdu.tlvs))  # the first of several with the same tag counts
        if tlv_id := values.get(tlv.RECEIPTED_MESSAGE_ID):  # many peers leave out the closing zero
            message_id = tlv_id.partition(b"\0")[0].decode("latin-1").strip(_TRIMMINGS)
        if number := values.get(tlv.MESSAGE_STATE):
            state = _STATE_OF_NUMBER.get(int.from_bytes(number, "big"))
        if network_error := values.get(tlv.NETWORK_ERROR_CODE):
            error = _network_error(network_error, err)
    return ReceiptContent(
        message_id or text_id or "",
        (text_id or None) if message_id and text_id != message_id else None,
        state or _state_of_text(stat or ""),
        error or err or None,
        pdu.esm_class & c.ESM_INTERMEDIATE != 0,
        pdu.source_addr,
        pdu.destination_addr,
        submit_date or None,
        done_date or None,
        sub or None,
        dlvrd or None,
        text,
    )


def _fields_of(pdu: DeliverSm | DataSm) -> tuple[str | None, ...]:
    """Returns the values in the text, in the order of `_KEY_NAMES`; None for an absent field."""
    text = _decoded(pdu.content, pdu.esm_class, pdu.data_coding)
    if (usual := _APPENDIX_B.fullmatch(text)) is not None:
        return usual.groups()
    fields = _split(text)
    if not fields and _HEXADECIMAL.fullmatch(text.strip()):
        fields = _split(bytes.fromhex(text.strip()).decode("latin-1"))
    return tuple(map(fields.get, _KEY_NAMES))


def _decoded(content: bytes, esm_class: int, data_coding: int) -> str:
    """Returns the text of the receipt. Its keys are ASCII in every alphabet except UCS-2."""
    # Some message centres copy the esm_class of the message, header bit and all, to a receipt without a header.
    if esm_class & c.ESM_UDHI and content and content[0] < 0x20 and content[0] + 1 < len(content):
        content = content[content[0] + 1 :]
    if 0 in content[:2] or data_coding == DataCoding.UCS2:
        little = content[1:2] == b"\0"
        return content.decode("utf-16-le" if little else "utf-16-be", "replace")
    return content.decode("latin-1")


def _split(text: str) -> dict[str, str]:
    """Returns the fields by their names. The first of each counts, so that `text` at the end cannot override the
    others."""
    marks = list(_FIELD.finditer(text))
    fields: dict[str, str] = {}
    for position, mark in enumerate(marks):
        name = mark.lastgroup or ""
        if name in fields:
            continue
        end = marks[position + 1].start() if position + 1 < len(marks) else len(text)
        if name == "text":
            fields[name] = text[mark.end() :].strip("\0")
        elif name in _DATES:
            fields[name] = text[mark.end() : end].strip(_TRIMMINGS)
        else:
            # The text after the first word belongs to an unknown field.
            words = _WORD.search(text, mark.end(), end)
            fields[name] = (words[1] or words[2] or "").strip(_TRIMMINGS) if words else ""
    return fields


def _state_of_text(word: str) -> str:
    word = word.upper()
    if word.isascii() and word.isdigit():
        return _STATE_OF_NUMBER.get(int(word[:4]), word)
    return _STATES.get(word, word)


def _network_error(value: bytes, text: str | None) -> str | None:
    """Returns the number in network_error_code (5.3.2.31: one octet of network type, two octets of code).

    Returns None if the value is malformed, or if it is 0 while the text has an error code.
    """
    if len(value) != 3:
        return None
    code = int.from_bytes(value[1:], "big")
    return f"{code:03d}" if code or not text else None
