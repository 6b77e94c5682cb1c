"""Inbound messages: repeats, parts that wait for others, what people ask, and what customers pull."""

from collections.abc import Sequence
from typing import Protocol

from heliograph.app.facts import InboundMessage, InboundPart, PartSet
from heliograph.app.records import InboundQuery, InboundRecord
from heliograph.domain.numbers.number_rules import InboundNumber

REPEAT_MS = 600_000
"""Time (ms) for which a message that was never answered is known again."""

SLOW_ANSWER_MS = 5_000
"""Age (ms) from which a message that another node has not answered counts as never answered: otherwise it would
be settled (`app.inbound.reception.SETTLED_MS`)."""


PAGE_OCTETS = 2_000_000
"""Octets of the messages of one page; it ends early, after the message that goes beyond."""


class Inbound(Protocol):
    """Messages from phones, and the numbers that they are sent to."""

    async def repeated(
        self, connector: int, digests: Sequence[int], now: int, node: int
    ) -> list[tuple[int, int, bool]]:
        """Returns digests and keys of messages of the last `REPEAT_MS` that equal one of these and may never have been
        answered, oldest first; and of each whether that is certain.

        It is where the link is known to be gone, or where another node has not settled the answer for
        `SLOW_ANSWER_MS`. Of those that this node has links of only the certain ones are returned. What
        another node is committing is waited for.
        """

    async def gather(self, sets: Sequence[PartSet], node: int) -> list[list[InboundPart]]:
        """Claims the parts of those sets that are complete, for this node to join; ordered by number."""

    async def ready(self, before: int, limit: int, node: int) -> list[list[InboundPart]]:
        """Claims up to `limit` sets that are complete, or whose first part came before `before`."""

    async def forget(self, before: int, limit: int) -> int:
        """Deletes up to `limit` joined parts, and as many notes of unanswered messages, of before `before`. Returns how
        many."""

    async def find(self, query: InboundQuery) -> list[InboundRecord]:
        """Returns messages, newest first."""

    async def show(self, key: int, tail: int) -> InboundRecord | None: ...

    async def route(self, key: int, tail: int, account: int, now: int) -> InboundRecord:
        """Gives an unrouted message to an account, and owes it the notice if it takes any. Raises Missing for a message
        that is not there or has an owner."""

    async def add_number(self, number: InboundNumber) -> InboundNumber:
        """Raises Missing for an unknown account or connector, Exists for the same number, keyword and connector."""

    async def remove_number(self, number: int) -> None:
        """Raises Missing."""


class Pulls(Protocol):
    """Inbound messages as their owners pull them: in the order in which they became an account's own.

    A message becomes its owner's when it is committed, or when it is routed later. In this order nothing ever turns up
    before what somebody may have read, whichever nodes committed it: an account's messages are placed one behind the
    other, under a lock.
    """

    async def page(self, account: int, after: int, limit: int) -> list[InboundMessage]:
        """Returns up to `limit` messages of the account behind the one with the key `after`, fewer where they go beyond
        `PAGE_OCTETS`. Behind a key that none of its messages has: a message is never placed before its key, so what
        had this key is not missed."""

    async def find(self, account: int, key: int, tail: int) -> InboundMessage | None:
        """Returns a message of the account."""

    async def newest(self, accounts: Sequence[int]) -> dict[int, int]:
        """Returns a number for each of these accounts that grows when it has another message."""
