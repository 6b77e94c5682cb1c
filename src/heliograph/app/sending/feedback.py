"""Feedback: customers say whether messages arrived, which counts above the receipts of operators.

A customer knows for certain when its user types in the code of a message. The last word about a message counts. It
changes nothing for the customer: state, receipt and charge stay.
"""

from typing import Final, Protocol

from heliograph.app.facts import Message
from heliograph.app.ports import Clock, Receipts
from heliograph.app.sending.browse import BOOLEAN_WORDS
from heliograph.app.sending.directory import AccountView
from heliograph.app.sending.fields import shown
from heliograph.app.sending.reschedule import no_such_message
from heliograph.domain.error import CONFLICT, Fault, invalid, missing
from heliograph.domain.message import ids

DELIVERED: Final = "delivered"
"""The field of a request."""


class Corrections(Protocol):
    """Counts the messages about which their customer contradicts the receipt."""

    def corrected(self, message: Message, at: int, confirmed: int, denied: int) -> None:
        """Counts a message of `message.connector`; -1 if its customer contradicts the receipt no more."""


class FeedbackList:
    """Keeps the words of customers."""

    def __init__(self, receipts: Receipts, clock: Clock, corrections: Corrections) -> None:
        self._receipts = receipts
        self._clock = clock
        self._corrections = corrections

    async def keep(self, view: AccountView, text: str, given: object) -> None:
        """Keeps whether the message with the id `text` was delivered. Raises Fault (400, 404, 409)."""
        delivered, parsed, now = _truth(given), ids.parse(text), self._clock.now()
        found = None if parsed is None else await self._receipts.confirm(view.account.id, *parsed, delivered, now)
        if found is None:
            raise no_such_message()
        if not found.taken:
            raise Fault(CONFLICT, "No operator has taken the message, so it cannot have been delivered.")
        if found.was != found.now:
            self._corrections.corrected(
                found.message, now,
                (found.now is True) - (found.was is True), (found.now is False) - (found.was is False),
            )  # fmt: skip


def _truth(given: object) -> bool:
    if given is None or given == "":
        raise missing(DELIVERED)
    if isinstance(given, bool):
        return given
    found = BOOLEAN_WORDS.get(str(given).lower()) if isinstance(given, str | int) else None
    if found is None:
        raise invalid(DELIVERED, f"The delivered is true or false, not {shown(given)}.")
    return found
