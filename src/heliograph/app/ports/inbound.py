"""Inbound messages: repeats, parts that wait for others, and what people ask."""

from collections.abc import Sequence
from typing import Protocol

from heliograph.app.facts import InboundPart, PartSet
from heliograph.app.records import InboundQuery, InboundRecord
from heliograph.domain.numbers import InboundNumber

REPEAT_MS = 600_000
"""Time (ms) for which a message that was never answered is known again."""

SLOW_ANSWER_MS = 5_000
"""Age (ms) from which a message that another node has not answered counts as never answered: otherwise it would
be settled (`app.inbound.reception.SETTLED_MS`)."""


class Inbound(Protocol):
    """Messages from phones, and the numbers that they are sent to."""

    async def repeated(
        self, connector: int, digests: Sequence[int], now: int, node: int
    ) -> list[tuple[int, int, bool]]:
        """Returns digests and keys of messages of the last `REPEAT_MS` that equal one of these and may never have been
        answered, oldest first; and of each whether that is certain.

        It is where the link is known to be gone, or where another node has not settled the answer for
        `SLOW_ANSWER_MS`. Of those that this node has links of only the certain ones are returned.
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
