"""Sending lists: messages that the console sends together, such as a campaign.

The process that sends a list hands its rows in one by one, and reports once a second. An administrator's order is the
`state` of the list's row: the process reads it with its report, obeys, and writes it to `heard`. So an order reaches
each node, and also comes from a command.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from heliograph.app.configuration import Exists
from heliograph.domain.message.status import MessageStatus

LIST_PREFIX: Final = "sending-list-"
"""Begins the references of the messages of lists."""


def references_of(id: int) -> str:
    """Returns the beginning of the references of a list's messages. Row 7 of list 3 has `sending-list-3-7`."""
    return f"{LIST_PREFIX}{id}-"


class ListState(StrEnum):
    """State of a list: as administrators want it, or as its process obeys it."""

    SENDING = "sending"
    PAUSED = "paused"
    CANCELLED = "cancelled"


@dataclass(slots=True)
class SendingList:
    """A list without its rows."""

    id: int
    account: int
    name: str
    """The administrators' name for it, for example `Spring sale`."""
    actor: str
    """The sender in the audit log, for example `user:ada`."""
    created: int
    rows: int
    """The number of its rows."""
    state: ListState = ListState.SENDING
    heard: ListState = ListState.SENDING
    """The state that its process obeyed last."""
    handed_in: int = 0
    """Rows that were accepted or refused."""
    refused: int = 0
    reported: int = 0
    """Time of the last report of its process (ms)."""
    ended: int | None = None
    """Time (ms) at which the last row was handed in, or the rest was given up."""
    problem: str = ""
    """Reason of the first refused row."""


class AlreadySent(Exists):
    """A list of the same form was added before."""

    def __init__(self, id: int) -> None:
        super().__init__(f"the form has sent the list {id}")
        self.id = id


@dataclass(frozen=True, slots=True)
class StatusCount:
    """Messages of a list with the same status."""

    messages: int = 0
    price: int = 0
    """Micro-credits charged for them."""

    def plus(self, messages: int, price: int) -> "StatusCount":
        return StatusCount(self.messages + messages, self.price + price)


class SendingLists(Protocol):
    """Keeps the lists, and counts their messages."""

    async def add(self, sending: SendingList, form: str = "") -> int:
        """Adds a list. Returns its id, which is above that of each earlier list.

        `form` is a random name of the form that it was sent with, or "". Raises AlreadySent, and adds nothing, if there
        is a list of this form already: a form that comes twice would be charged twice.
        """

    async def page(self, before: int, account: int | None, limit: int) -> Sequence[SendingList]:
        """Returns the lists with ids below `before`, newest first; of an account, or of all."""

    async def find(self, id: int) -> SendingList | None: ...

    async def report(self, sending: SendingList) -> ListState | None:
        """Writes the progress of a list and the state that was obeyed. Returns the state that is wanted now, or None
        without such a list."""

    async def change(self, id: int, state: ListState) -> None:
        """Sets the state that is wanted. Raises Missing, also for a cancelled list and another state."""

    async def counts(self, account: int, id: int) -> Mapping[MessageStatus, StatusCount]:
        """Counts the messages of a list by status."""
