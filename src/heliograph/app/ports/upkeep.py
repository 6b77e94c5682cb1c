"""Upkeep: housekeeping, counts, and the proof of the books."""

from typing import Protocol

from heliograph.app.records import BacklogCounts, RestorePoint


class Upkeep(Protocol):
    """Keeps the store in order: housekeeping, counts for the gateway and its users, the proof of the books."""

    async def index_numbers(self, now: int, size: int) -> int:
        """Adds the next `size` messages to the search index of numbers, all or none. Returns how many.

        Messages of the last seconds may be left out; a search finds them all the same.
        """

    async def probe(self) -> None:
        """Writes something small and durable; raises Unavailable if that cannot be done."""

    async def hazards(self) -> list[str]:
        """Returns a sentence for each risk to durability that the gateway cannot remove. Usually empty."""

    async def backlog(self) -> dict[str, int]:
        """Counts for people and metrics: scheduled, queued, callbacks, callbacks_failed, orphans, awaiting."""

    async def counts(self, now: int) -> BacklogCounts:
        """Counts the backlog, each kind up to COUNTED."""

    async def ended_unknown(self, since: int) -> int:
        """Counts messages accepted from `since` on that ended as UNKNOWN: whether they arrived is not known. Reads all
        undelivered messages since then.
        """

    async def reach(self) -> RestorePoint:
        """Returns the point that the store has reached: exact counts of a single moment. Reads whole tables."""

    async def audit(self) -> list[str]:
        """Verifies the ledger against the rows. Returns a sentence for each error; empty if all is well."""
