"""The backlog: the waiting messages of the queue as administrators see and change them.

Most messages wait in rows of the queue. Some wait in the memory of a node's lane, with a row that the node has claimed
or without a row. `change` reaches rows that no node has claimed. An order reaches the memory: each node carries it out
once, and answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from heliograph.app.facts import Message
from heliograph.domain.limits.gate import OF_ADMINISTRATOR
from heliograph.domain.numbers.country import country_of


class QueueAction(StrEnum):
    """An administrator's action on waiting messages."""

    MOVE = "move"
    """To another connector."""
    HOLD = "hold"
    """Until an administrator releases them."""
    RELEASE = "release"
    CANCEL = "cancel"
    """And refund them."""


@dataclass(frozen=True, slots=True)
class QueueFilter:
    """The messages that an action is meant for."""

    until: int
    """Latest time (ms) of the message: messages that are scheduled for later are not meant."""
    before: int
    """Only messages with keys below: accepted before the action."""
    connector: int | None = None
    account: int | None = None
    country: str = ""
    """For example `DE`; empty for all."""
    network: str = ""
    """MCCMNC, for example `26201`; empty for all."""
    references: str = ""
    """The beginning of their references, for example `sending-list-3-`; empty for all."""

    def fits(
        self, connector: int, account: int, destination: str, network: str, time: int, key: int, reference: str
    ) -> bool:
        return (
            key < self.before
            and time <= self.until
            and self.connector in (None, connector)
            and self.account in (None, account)
            and (not self.country or country_of(destination) == self.country)
            and self.network in ("", network)
            and reference.startswith(self.references)
        )


@dataclass(slots=True)
class QueueOrder:
    """An action for the messages in the memory of nodes."""

    action: QueueAction
    wanted: QueueFilter
    connector: int = 0
    """The new connector of MOVE."""
    id: int = 0

    def means(self, connector: int, message: Message) -> bool:
        """Returns whether the order is for a message that waits for this connector."""
        if self.action is QueueAction.MOVE and connector == self.connector:
            return False
        return self.wanted.fits(
            connector,
            message.account,
            message.destination,
            message.network,
            message.time,
            message.key,
            message.reference or "",
        )


@dataclass(frozen=True, slots=True)
class OrderAnswer:
    """A node's answer to an order."""

    messages: int
    """Messages that it changed."""
    spared: int
    """Messages without a row of the queue that it left alone, because a part may have left."""


@dataclass(frozen=True, slots=True)
class WaitingGroup:
    """Waiting messages of an account over a connector, to numbers of a network with the same first digits."""

    connector: int
    account: int
    head: str
    """The first digits, which determine the country, for example `4917`."""
    network: str
    messages: int
    held: int
    """Messages of these that are held, for any reason."""
    on_hold: int
    """Messages of these that an administrator holds."""
    oldest: int
    """Time (ms) since which the first of them waits."""
    price: int
    """Micro-credits charged for them."""


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """A message in the queue."""

    key: int
    tail: int
    connector: int
    account: int
    destination: str
    network: str
    time: int
    price: int
    held: str | None
    is_claimed: bool
    """Whether it is in the memory of a node."""
    attempted: bool
    """Whether a part may have left."""
    reference: str = ""

    @property
    def on_hold(self) -> bool:
        """Whether an administrator holds it."""
        return self.held is not None and self.held.startswith(OF_ADMINISTRATOR)


class Backlog(Protocol):
    """Shows and changes waiting messages, in stretches of the queue by key, so that no transaction is long."""

    async def groups(self, after: int, until: int, limit: int) -> tuple[list[WaitingGroup], int | None]:
        """Groups the messages up to the time `until` among the next `limit` rows with keys above `after`. Returns the
        key to continue from: None after the last row."""

    async def rows(self, after: int, limit: int) -> list[WaitingRow]:
        """Returns the next `limit` rows with keys above `after`, by key."""

    async def change(self, action: QueueAction, keys: Sequence[int], now: int, connector: int = 0) -> int:
        """Applies an action to the rows of these keys that no node has claimed, and of which no part may have left.
        Returns how many. MOVE makes them wait for `connector`."""

    async def order(self, order: QueueOrder, now: int) -> int:
        """Places an order. Returns its id."""

    async def orders(self, after: int) -> list[QueueOrder]:
        """Returns the orders with ids above `after`, oldest first. Orders are kept for a week."""

    async def answer(self, order: int, node: int, answer: OrderAnswer) -> None:
        """Keeps a node's answer to an order."""

    async def answers(self, order: int) -> dict[int, OrderAnswer]:
        """Returns the answers to an order by node."""
