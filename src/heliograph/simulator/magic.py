"""Destination numbers that choose what becomes of their messages: the last four digits say it.

So customers can see each kind of receipt, and each kind of trouble, without any knob.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from heliograph.smpp.constants import CommandStatus, MessageState


class Trouble(StrEnum):
    """What happens instead of the answer."""

    NONE = "none"
    WITHHELD = "withheld"
    """The message is taken, and there is no answer."""
    BODYLESS = "bodyless"
    """The message is taken, and the answer is a header alone."""
    CUT = "cut"
    """The message is not taken, and the link is cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What becomes of a message to a magic number."""

    what: str
    state: MessageState = MessageState.DELIVERED
    err: int = 0
    status: int = 0
    trouble: Trouble = Trouble.NONE
    once: bool = False
    """`status` or `trouble` meets the first submit only; the next one to the same number fares well."""
    receipt: bool = True
    early: bool = False
    double: bool = False
    accepted_first: bool = False
    """A receipt ACCEPTD goes ahead of the final one."""
    other_notation: bool = False
    delay_ms: float | None = None
    """From the answer to the receipt, instead of receipt_delay_ms."""


DIGITS: Final = 4

FATES: Final[dict[str, Fate]] = {
    "9001": Fate(what="UNDELIV, err 001", state=MessageState.UNDELIVERABLE, err=1),
    "9002": Fate(what="EXPIRED, err 002", state=MessageState.EXPIRED, err=2),
    "9003": Fate(what="REJECTD, err 003", state=MessageState.REJECTED, err=3),
    "9004": Fate(what="DELETED, err 004", state=MessageState.DELETED, err=4),
    "9005": Fate(what="UNKNOWN, err 005", state=MessageState.UNKNOWN, err=5),
    "9006": Fate(what="no receipt, ever", receipt=False),
    "9007": Fate(what="refused with ESME_RINVDSTADR", status=CommandStatus.ESME_RINVDSTADR),
    "9008": Fate(what="first ESME_RTHROTTLED; sent again: DELIVRD", status=CommandStatus.ESME_RTHROTTLED, once=True),
    "9009": Fate(what="never answered, yet DELIVRD", trouble=Trouble.WITHHELD),
    "9010": Fate(what="DELIVRD, the receipt before the answer", early=True),
    "9011": Fate(what="DELIVRD, twice", double=True),
    "9012": Fate(what="ACCEPTD, then DELIVRD", accepted_first=True),
    "9013": Fate(what="DELIVRD after 5 s", delay_ms=5_000.0),
    "9014": Fate(what="first ESME_RMSGQFUL; sent again: DELIVRD", status=CommandStatus.ESME_RMSGQFUL, once=True),
    "9015": Fate(
        what="first the link is cut instead of an answer; sent again: DELIVRD", trouble=Trouble.CUT, once=True
    ),
    "9016": Fate(what="DELIVRD, the answer without a body, hence without an id", trouble=Trouble.BODYLESS),
    "9017": Fate(
        what="DELIVRD, the receipt's id in hexadecimal (decimal where answers have that)", other_notation=True
    ),
}
"""By the last four digits of the destination. Every other number: DELIVRD, err 000."""

ORDINARY: Final = Fate(what="DELIVRD, err 000")


def fate_of(destination: str) -> Fate:
    return FATES.get(destination[-DIGITS:], ORDINARY)
