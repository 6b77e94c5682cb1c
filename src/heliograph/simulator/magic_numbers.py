"""Destination numbers whose last four digits choose the result of their messages.

Customers can see each kind of receipt and each fault without any knob.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from heliograph.smpp.constants import CommandStatus, MessageState


class AnswerFault(StrEnum):
    """A fault instead of the ordinary answer."""

    NONE = "none"
    WITHHELD = "withheld"
    """The message is taken, and there is no answer."""
    BODYLESS = "bodyless"
    """The message is accepted; the response is a header alone."""
    CUT = "cut"
    """The message is not taken, and the link is cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The course of a message to a magic number."""

    what: str
    state: MessageState = MessageState.DELIVERED
    err: int = 0
    status: int = 0
    fault: AnswerFault = AnswerFault.NONE
    once: bool = False
    """True if `status` or `fault` meets the first submit only. The next submit to the same number succeeds."""
    receipt: bool = True
    early: bool = False
    double: bool = False
    accepted_first: bool = False
    """True if a receipt ACCEPTD precedes the final receipt."""
    other_notation: bool = False
    delay_ms: float | None = None
    """Time from the answer to the receipt, instead of receipt_delay_ms."""
    reply: str = ""
    """Text that the phone answers with after the receipt."""


DIGITS: Final = 4

_LONG: Final = "Thank you for asking, and here is more than one message holds. " * 6

SCENARIOS: Final[dict[str, Scenario]] = {
    "9001": Scenario(what="UNDELIV, err 001", state=MessageState.UNDELIVERABLE, err=1),
    "9002": Scenario(what="EXPIRED, err 002", state=MessageState.EXPIRED, err=2),
    "9003": Scenario(what="REJECTD, err 003", state=MessageState.REJECTED, err=3),
    "9004": Scenario(what="DELETED, err 004", state=MessageState.DELETED, err=4),
    "9005": Scenario(what="UNKNOWN, err 005", state=MessageState.UNKNOWN, err=5),
    "9006": Scenario(what="no receipt, ever", receipt=False),
    "9007": Scenario(what="refused with ESME_RINVDSTADR", status=CommandStatus.ESME_RINVDSTADR),
    "9008": Scenario(
        what="first ESME_RTHROTTLED; sent again: DELIVRD", status=CommandStatus.ESME_RTHROTTLED, once=True
    ),
    "9009": Scenario(what="never answered, yet DELIVRD", fault=AnswerFault.WITHHELD),
    "9010": Scenario(what="DELIVRD, the receipt before the answer", early=True),
    "9011": Scenario(what="DELIVRD, twice", double=True),
    "9012": Scenario(what="ACCEPTD, then DELIVRD", accepted_first=True),
    "9013": Scenario(what="DELIVRD after 5 s", delay_ms=5_000.0),
    "9014": Scenario(what="first ESME_RMSGQFUL; sent again: DELIVRD", status=CommandStatus.ESME_RMSGQFUL, once=True),
    "9015": Scenario(
        what="first the link is cut instead of an answer; sent again: DELIVRD", fault=AnswerFault.CUT, once=True
    ),
    "9016": Scenario(what="DELIVRD, the answer without a body, hence without an id", fault=AnswerFault.BODYLESS),
    "9017": Scenario(
        what="DELIVRD, the receipt's id in hexadecimal (decimal where answers have that)", other_notation=True
    ),
    "9021": Scenario(what="DELIVRD, then the phone writes back: STOP", reply="STOP"),
    "9022": Scenario(what="DELIVRD, then the phone writes back: HELP", reply="HELP"),
    "9023": Scenario(what="DELIVRD, then the phone writes back: START", reply="START"),
    "9024": Scenario(what="DELIVRD, then the phone writes back: Yes, please.", reply="Yes, please."),
    "9025": Scenario(what="DELIVRD, then the phone writes back, in three parts", reply=_LONG),
}
"""Scenarios by the last four digits of the destination. Every other number: DELIVRD, err 000."""

ORDINARY: Final = Scenario(what="DELIVRD, err 000")


def scenario_for(destination: str) -> Scenario:
    return SCENARIOS.get(destination[-DIGITS:], ORDINARY)
