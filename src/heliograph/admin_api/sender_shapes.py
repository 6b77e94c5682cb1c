"""Shapes of requests and answers about sender registries."""

from collections.abc import Iterable
from typing import Annotated, Literal

from msgspec import Meta, Struct

from heliograph.admin_api.shapes import Accepts, Moment, Name
from heliograph.app.admin.senders import SenderView
from heliograph.domain.calendar import format_utc

SenderWord = Literal["pending", "approved", "refused"]


class SenderShape(Struct):
    """A sender ID in an account's registry."""

    account: Name
    sender: str
    state: SenderWord
    since: Moment
    note: str


class SendersShape(Struct):
    """Registered senders by account."""

    senders: list[SenderShape]


class NewSenders(Accepts):
    """Senders to register, or to give another state. Nothing is changed where one of them cannot be a sender."""

    senders: Annotated[list[str], Meta(min_length=1, description="Sender IDs, as requests name them in `from`.")]
    state: SenderWord = "pending"
    note: str = ""


class PutSenders(Struct):
    """The numbers of senders that are new, and that were there."""

    new: int
    changed: int


def senders(found: Iterable[SenderView]) -> SendersShape:
    return SendersShape(
        [SenderShape(each.account, each.sender, each.state.value, format_utc(each.since), each.note) for each in found]
    )
