"""Inbound messages: repeats, parts that wait for the others, searches, and the customers' pull interface."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from heliograph.app.facts import InboundMessage, InboundPart, PartSet
from heliograph.app.records import InboundQuery, InboundRecord
from heliograph.domain.numbers.number_rules import InboundNumber

REPEAT_MS = 600_000
"""Time (ms) for which repeats of a message that was never answered are recognised."""

SLOW_ANSWER_MS = 5_000
"""Age (ms) from which a message that another node has not answered counts as never answered: otherwise it would
be settled (`app.inbound.repeats.SETTLED_MS`)."""

ANSWERED_KEPT_MS = 60_000
"""Milliseconds for which nodes that share a store keep the note of an answered message. A node may write a copy that it
looked up before, as late as its lease allows; that is a few seconds, and clocks differ by up to 20 s."""

PAGE_OCTETS = 2_000_000
"""Octets of the messages of a page. A page ends early, after the message that exceeds this limit."""


@dataclass(slots=True)
class FoundCopies:
    """The result of a look-up of earlier copies."""

    copies: list[tuple[int, int, bool]]
    """Digest and key of each copy, oldest first, and whether it has certainly lost its answer."""
    last_note: int = 0
    """The number of the newest note when the look-up began; 0 in a store without other nodes. An equal message of
    another node with a later note contests the messages that were looked up (`InboundMessage.contested`)."""


class Inbound(Protocol):
    """Messages from phones, and the numbers that they are sent to."""

    async def repeated(self, connector: int, digests: Sequence[int], now: int, node: int) -> FoundCopies:
        """Finds the messages of the last `REPEAT_MS` that equal one of these and may not have been answered.

        A lost answer is certain if the link is known to be gone, or if another node has not confirmed the answer for
        `SLOW_ANSWER_MS`. For links of this node, only certain cases are returned. Waits for commits of other nodes that
        are under way.
        """

    async def gather(self, sets: Sequence[PartSet], node: int) -> list[list[InboundPart]]:
        """Claims the parts of complete sets, so that this node may join them. Parts are ordered by number."""

    async def ready(self, before: int, limit: int, node: int) -> list[list[InboundPart]]:
        """Claims up to `limit` sets that are complete, or that have a part older than `before`."""

    async def forget(self, before: int, answered: int, limit: int) -> int:
        """Deletes up to `limit` joined parts and as many notes of unanswered messages, all from before `before`; and
        notes of answered messages from before `answered`. Returns how many."""

    async def find(self, query: InboundQuery) -> list[InboundRecord]:
        """Returns messages, newest first."""

    async def show(self, key: int, tail: int) -> InboundRecord | None: ...

    async def route(self, key: int, tail: int, account: int, now: int) -> InboundRecord:
        """Gives an unrouted message to an account, and owes it the notice if the account takes any. Raises Missing if
        there is no such message, or if it has an owner."""

    async def add_number(self, number: InboundNumber) -> InboundNumber:
        """Raises Missing for an unknown account or connector, Exists for the same number, keyword and connector."""

    async def remove_number(self, number: int) -> None:
        """Raises Missing."""


class Pulls(Protocol):
    """Inbound messages as customers pull them, in the order in which they became the account's own.

    A message becomes the account's own when it is committed, or when it is routed later. A customer who has read up to
    a message never misses a message before it, on any node: a lock puts an account's messages in a single order.
    """

    async def page(self, account: int, after: int, limit: int) -> list[InboundMessage]:
        """Returns up to `limit` messages of the account after the message `after`, fewer if they exceed `PAGE_OCTETS`.

        If no message has the key `after`, the page starts with the messages behind that key. No message is placed
        before its own key, so none is missed.
        """

    async def find(self, account: int, key: int, tail: int) -> InboundMessage | None:
        """Returns a message of the account."""

    async def newest(self, accounts: Sequence[int]) -> dict[int, int]:
        """Returns a number for each of these accounts. The number grows when the account gets another message."""
