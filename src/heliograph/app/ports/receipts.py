"""Receipts: those that are awaited, and those that match no message."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from heliograph.app.facts import EarlyReceipt, Outstanding


@dataclass(frozen=True, slots=True)
class Unreported:
    """A part, or several that the operator took as one, that awaits its receipt since `taken` (ms)."""

    key: int
    connector: int
    operator_id: str
    taken: int
    sender: str
    destination: str


class Receipts(Protocol):
    """Messages that await a receipt, and receipts that await a message."""

    async def find(self, connector: int, operator_ids: Sequence[str]) -> list[Outstanding]:
        """Returns the messages that await these receipts, of those whose parts were recorded as `Awaiting`."""

    async def outstanding(self, key: int) -> Outstanding | None:
        """Returns what the rows know of one message without a final state; None if it has one, or is not there."""

    async def overdue(self, expired: int, beyond: int, limit: int) -> tuple[list[Outstanding], int | None]:
        """Looks at up to `limit` messages that await a receipt and are below the mark, by ascending key above `beyond`.

        Returns those whose validity ended before `expired`, and the key to go on from: None after the last one.
        """

    async def unreported(self, before: int, beyond: int, limit: int) -> tuple[list[Unreported], int | None]:
        """Looks at up to `limit` messages that await a receipt, accepted before `before` (ms), by ascending key above
        `beyond`.

        Returns what awaits its receipt, by key, and the key to go on from: None after the last one.
        """

    async def orphans(self, limit: int) -> list[EarlyReceipt]:
        """Returns receipts that match nothing, newest first."""

    async def forget(self, before: int, most: int, limit: int) -> int:
        """Deletes receipts that matched nothing and came before `before`, or are beyond the latest `most`, about. Looks
        at the oldest `limit`; returns how many it deleted."""
