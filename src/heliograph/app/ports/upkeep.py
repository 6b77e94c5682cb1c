"""Upkeep: housekeeping, counts, and the proof of the books."""

from typing import Protocol

from heliograph.app.records import BacklogCounts, RestorePoint


class Upkeep(Protocol):
    """Keeps the store in order: housekeeping, counts for the gateway and its users, the proof of the books."""

    async def index_numbers(self, now: int, size: int) -> int:
        """Makes the next `size` messages quick to find by their number, all or none; returns how many it took.

        Those of the last seconds may be left out, and so may fewer than `size`: a search finds them all the same.
        """

    async def probe(self) -> None:
        """Writes something small and durable; raises Unavailable if that cannot be done."""

    async def hazards(self) -> list[str]:
        """Returns what breaks the store's promise and cannot be helped from here, a sentence each; nothing as a
        rule."""

    async def backlog(self) -> dict[str, int]:
        """Counts for people and metrics: scheduled, queued, callbacks, callbacks_failed, orphans, awaiting."""

    async def counts(self, now: int) -> BacklogCounts:
        """Counts what waits, each up to COUNTED."""

    async def ended_unknown(self, since: int) -> int:
        """Counts messages that were accepted from `since` on and ended as UNKNOWN: nobody knows whether they arrived.
        Reads all that were not delivered since."""

    async def reach(self) -> RestorePoint:
        """Returns the point that the store has reached: exact counts, all of one moment. Reads whole tables."""

    async def audit(self) -> list[str]:
        """Proves the books from the rows: one sentence for each thing that is wrong; none if all is well."""
