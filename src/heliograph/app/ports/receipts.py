"""Receipts: pending receipts, and receipts that match no message."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from heliograph.app.facts import EarlyReceipt, Outstanding


@dataclass(frozen=True, slots=True)
class Unreported:
    """A part, or several parts that the operator accepted as one, that has waited for its receipt since `taken`
    (ms).
    """

    key: int
    connector: int
    operator_id: str
    taken: int
    sender: str
    destination: str


class Receipts(Protocol):
    """Messages that await a receipt, and receipts that await a message."""

    async def find(self, connector: int, operator_ids: Sequence[str]) -> list[Outstanding]:
        """Returns the messages that wait for these receipts and have parts recorded as `Awaiting`."""

    async def outstanding(self, key: int) -> Outstanding | None:
        """Returns all rows of a message without a final state; None if it has a final state, or does not exist."""

    async def overdue(self, expired: int, beyond: int, limit: int) -> tuple[list[Outstanding], int | None]:
        """Reads up to `limit` messages that wait for a receipt, by ascending key after `beyond`, up to the mark.

        Returns the messages with a validity that ended before `expired`, and the key to continue from: None after the
        last message.
        """

    async def unreported(self, before: int, beyond: int, limit: int) -> tuple[list[Unreported], int | None]:
        """Reads up to `limit` messages that wait for a receipt and were accepted before `before` (ms), by ascending key
        after `beyond`.

        Returns their parts without a receipt, by key, and the key to continue from: None after the last message.
        """

    async def orphans(self, limit: int) -> list[EarlyReceipt]:
        """Returns receipts that match nothing, newest first."""

    async def forget(self, before: int, most: int, limit: int) -> int:
        """Deletes receipts that matched nothing and came before `before`, or are beyond the latest `most`, about. Looks
        at the oldest `limit`; returns how many it deleted."""
