"""Checks of the whole gateway: its store, its books, what waits for too long or has failed."""

from collections.abc import Iterable
from dataclasses import dataclass

from heliograph.app.configuration import Account
from heliograph.app.facts import EarlyReceipt
from heliograph.app.ports import Clock, ConnectorReport, Store
from heliograph.app.records import BacklogCounts, RestorePoint


@dataclass(slots=True)
class Leftovers:
    """Work that may have waited for too long, or ended without success."""

    backlog: BacklogCounts
    due: dict[int, int]
    """Due time of the oldest queued message, by connector id."""
    links: list[ConnectorReport]
    """Last words of every node on its connectors."""
    unknown: int
    """Messages that ended as UNKNOWN."""


class Diagnose:
    """Changes nothing but the row that `probe` writes. Methods raise the store's Unavailable."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    @property
    def now(self) -> int:
        """Milliseconds since the epoch by the gateway's clock."""
        return self._clock.now()

    async def probe(self) -> list[str]:
        """Writes something durable; returns a sentence for each hazard to durability that the store cannot help."""
        await self._store.upkeep.probe()
        return await self._store.upkeep.hazards()

    async def book_faults(self) -> list[str]:
        """Proves the books from the rows; returns a sentence for each fault."""
        return await self._store.upkeep.audit()

    async def newest_entry(self, accounts: Iterable[Account]) -> int:
        """Returns the time of the newest account or ledger entry, 0 if there is none."""
        newest = 0
        for account in accounts:
            entries = await self._store.accounts.ledger(account.id, 1)
            newest = max([newest, account.created, *(entry.at for entry in entries)])
        return newest

    async def leftovers(self, unknown_ms: int) -> Leftovers:
        """Counts UNKNOWN messages if they were accepted in the last `unknown_ms` milliseconds."""
        store, now = self._store, self.now
        return Leftovers(
            await store.upkeep.counts(now),
            await store.queue.next_due(),
            await store.network.link_states(),
            await store.upkeep.ended_unknown(now - unknown_ms),
        )

    async def orphans(self, limit: int) -> list[EarlyReceipt]:
        """Returns receipts that match no message, newest first."""
        return await self._store.receipts.orphans(limit)

    async def restore_point(self) -> RestorePoint:
        """Returns how far the rows reach, all of one moment. Reads whole tables."""
        return await self._store.upkeep.reach()
