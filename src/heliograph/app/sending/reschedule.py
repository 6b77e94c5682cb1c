"""Rescheduling and cancelling of messages that have not been sent."""

from dataclasses import dataclass
from typing import NoReturn

from heliograph.app.configuration import Missing
from heliograph.app.facts import Message
from heliograph.app.ports import Customers, NotScheduled
from heliograph.app.ports.accounts import SUBMISSION_PREFIX
from heliograph.app.sending.compose import Composer
from heliograph.app.sending.directory import AccountView
from heliograph.domain.error import CONFLICT, NOT_FOUND, Fault, missing


@dataclass(slots=True)
class Rescheduled:
    """A message with its new time, or the messages of a batch that could still be moved, and the requested id."""

    key: int
    tail: int
    batch: bool
    reference: str | None
    messages: list[Message]

    @property
    def total(self) -> int:
        """Micro-credits charged for `messages`."""
        return sum(message.price for message in self.messages)


class Rescheduling:
    """Moves and cancels scheduled messages."""

    def __init__(self, customers: Customers, composer: Composer) -> None:
        self._customers = customers
        self._composer = composer

    def new_time(self, view: AccountView, time: str | None, now: int) -> int:
        """Returns the `time` of a request to reschedule, in ms. Raises Fault."""
        if time is None:
            raise missing("time")
        return self._composer.scheduled_time(view, time, now)

    async def reschedule(self, view: AccountView, key: int, tail: int, time: int, now: int) -> Rescheduled:
        """Moves a message, or all messages of a batch that are still scheduled. Raises Fault (404, 409)."""
        account = view.account.id
        try:
            expires = time + await self._validity(account, key, tail)
            messages = await self._customers.reschedule(account, key, tail, time, expires, now)
        except (Missing, NotScheduled) as refusal:
            _refuse(refusal, "rescheduled")
        first = messages[0]
        if first.key == key:
            return Rescheduled(key, tail, False, first.reference, messages)
        batch = await self._customers.batch(account, key, tail, 0, 1)
        shown = None if batch is None or (batch.reference or "").startswith(SUBMISSION_PREFIX) else batch.reference
        return Rescheduled(key, tail, True, shown, messages)

    async def _validity(self, account: int, key: int, tail: int) -> int:
        """Returns how many ms a message stays valid after its time. All messages of a batch have the same validity."""
        message = await self._customers.message(account, key, tail)
        if message is None:
            batch = await self._customers.batch(account, key, tail, 0, 1)
            if batch is None or not batch.messages:
                raise Missing
            message = batch.messages[0]
        return message.expires - message.time

    async def cancel(self, view: AccountView, key: int, tail: int, now: int) -> None:
        """Cancels and refunds a message, or the messages of a batch that are still scheduled. Raises Fault (404,
        409).
        """
        try:
            await self._customers.cancel(view.account.id, key, tail, now)
        except (Missing, NotScheduled) as refusal:
            _refuse(refusal, "cancelled")


def no_such_message() -> Fault:
    return Fault(NOT_FOUND, "There is no such message in this account.")


def _refuse(refusal: Missing | NotScheduled, deed: str) -> NoReturn:
    if isinstance(refusal, Missing):
        raise no_such_message() from None
    problem = f"The message is sent, cancelled or due; only a scheduled message can be {deed}."
    raise Fault(CONFLICT, problem) from None
