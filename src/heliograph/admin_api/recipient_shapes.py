"""Shapes of a recipient's data, and of its erasure."""

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct

from heliograph.admin_api.drawn import item_of
from heliograph.admin_api.shapes import Accepts, HistoryEvent, MessageShape, Moment
from heliograph.app.resources.inbound import INBOUND

Number = Annotated[str, Meta(description="The phone: 7 to 15 digits with country code.", examples=["491701234567"])]

if TYPE_CHECKING:
    Inbound = dict[str, Any]
else:
    Inbound = item_of(INBOUND)


class RecipientOrder(Accepts):
    """A phone whose data are wanted."""

    number: Number
    account: Annotated[str, Meta(description="Only what this account has; left out for all.")] = ""


class ErasureOrder(RecipientOrder, kw_only=True):
    """A phone to erase."""

    dry_run: Annotated[bool, Meta(description="Only tells what would be done.")] = False


class ErasureLineShape(Struct):
    """One kind of thing that has the number."""

    what: str
    found: int
    erased: int
    cancelled: Annotated[int, Meta(description="Of those erased: waited, and were cancelled and refunded.")]
    left: Annotated[int, Meta(description="Something is pending for them: erased once nothing is.")]
    note: str


class KeptShape(Struct):
    """Something that keeps a trace, and why."""

    what: str
    why: str


class ErasureShape(Struct):
    """The report of an erasure."""

    number: Annotated[str, Meta(description="First and last digits.")]
    dry_run: bool
    lines: list[ErasureLineShape]
    kept: list[KeptShape]


class ExportedMessage(MessageShape):
    """A message to the phone, with its text and all that became of it."""

    content: str
    callback_url: str
    history: list[HistoryEvent]


class OptedOut(Struct):
    """An account that must not send to the phone."""

    account: str
    since: Moment
    source: str


class UnmatchedReceiptShape(Struct):
    """A receipt for the phone that matches no message."""

    connector: str
    operator_id: str
    delivery: str
    err: str
    time: Moment


class RecipientShape(Struct):
    """Everything that is kept of a phone, the newest messages first."""

    number: str
    time: Annotated[Moment, Meta(description="When it was looked for.")]
    complete: Annotated[bool, Meta(description="False where there are more than 10,000 messages of a kind.")]
    messages: list[ExportedMessage]
    inbound: list[Inbound]
    suppressions: list[OptedOut]
    unmatched_receipts: list[UnmatchedReceiptShape]
    waiting_parts: Annotated[int, Meta(description="Parts of messages from it that wait for others.")]
