"""Shapes of requests and answers about what the pumping guard holds."""

from collections.abc import Iterable
from typing import Annotated

from msgspec import Meta, Struct

from heliograph.admin_api.shapes import Accepts, Credits, Moment, Name
from heliograph.app.admin.guard import COUNTED, HoldView
from heliograph.domain.calendar import format_utc
from heliograph.domain.money.amounts import format_credits


class HoldShape(Struct):
    """An account's traffic to a prefix that is held."""

    account: Name
    prefix: str
    since: Moment
    why: str
    messages: Annotated[int, Meta(description=f"Messages that wait in it; counted up to {COUNTED}.")]
    price: Annotated[Credits, Meta(description="What these were charged.")]


class HoldsShape(Struct):
    """All holds, by account and prefix."""

    holds: list[HoldShape]


class HeldRange(Accepts):
    """The hold to end or to refund."""

    account: Name
    prefix: str


class HeldNumber(Struct):
    """The number of messages that were released, or cancelled and refunded."""

    messages: int


def holds(found: Iterable[HoldView]) -> HoldsShape:
    return HoldsShape(
        [
            HoldShape(
                each.account, each.prefix, format_utc(each.since), each.why, each.messages, format_credits(each.price)
            )
            for each in found
        ]
    )
