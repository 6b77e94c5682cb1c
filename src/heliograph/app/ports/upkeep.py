"""Upkeep: housekeeping, counts, the proof of the ledger, and the retention of old messages."""

from collections.abc import Sequence
from typing import Protocol

from heliograph.app.kept_data import RetentionStep, RetentionSweep
from heliograph.app.records import BacklogCounts, RestorePoint, ToldWorry
from heliograph.domain.message.retention import Stage


class Upkeep(Protocol):
    """Keeps the store in order: housekeeping, counts for the gateway and its users, the proof of the ledger."""

    async def index_numbers(self, now: int, size: int) -> int:
        """Adds the next `size` messages to the search index of numbers, all or none. Returns how many.

        Messages of the last seconds may be left out; a search reads them from their rows.
        """

    async def tidy_lists(self) -> None:
        """Removes the rows that interrupted imports of prices and costs left. Usually there are none."""

    async def probe(self) -> None:
        """Writes a small durable value, to test the disk. Raises Unavailable if that fails."""

    async def hazards(self) -> list[str]:
        """Returns a sentence for each risk to durability that the gateway cannot remove. Usually empty."""

    async def backlog(self) -> dict[str, int]:
        """Counts for people and metrics: scheduled, queued, callbacks, callbacks_failed, orphans, awaiting."""

    async def counts(self, now: int) -> BacklogCounts:
        """Counts the backlog, each kind up to COUNTED."""

    async def ended_unknown(self, since: int) -> int:
        """Counts messages accepted from `since` on that ended as UNKNOWN, so that it is not known if they arrived.
        Reads all undelivered messages since then."""

    async def reach(self) -> RestorePoint:
        """Returns exact counts of all tables in a single snapshot. Reads whole tables."""

    async def damage(self) -> list[str]:
        """Reads all of the store, and returns a sentence for each page or index that is damaged; empty if there is none
        that the store can recognise."""

    async def audit(self) -> list[str]:
        """Verifies the ledger against the rows. Returns a sentence for each error; empty if there is none."""

    async def told_worries(self) -> list[ToldWorry]:
        """Returns the worries that people were told about and that are not over, by topic and subject."""

    async def keep_told(self, told: Sequence[ToldWorry]) -> None:
        """Keeps these instead of all earlier ones."""


class Retention(Protocol):
    """Redacts and deletes old messages. Messages with a pending send, receipt or notice stay as they are, and are
    noted. Money stays: the cost of deleted messages is added up, so that the audit of the ledger stays exact.
    """

    async def advance(self, sweep: RetentionSweep, limit: int) -> RetentionStep:
        """Continues the sweep with up to `limit` messages of the account, from the cursor of the last call. Applies the
        stage to the settled messages, and notes the others.
        """

    async def retry(self, account: int, stage: Stage, beyond: int, limit: int, quiet: int) -> RetentionStep:
        """Looks once more at messages that were noted for the stage, in the order of their keys, behind `beyond`.
        `quiet` is that of a sweep."""

    async def accounts_kept(self, stage: Stage) -> list[int]:
        """Returns the accounts that have messages noted for the stage."""

    async def forget_suppressed(self, account: int, before: int, limit: int) -> int:
        """Forgets numbers that were suppressed before a time, which stay suppressed; returns how many, up to
        `limit`."""

    async def forget_refused(self, account: int, before: int) -> int:
        """Deletes the account's refused requests that are kept and came before a time; returns how many. Also empties
        the reasons for refused rows of its sending lists."""

    async def drop_lists(self, account: int, before: int, limit: int) -> int:
        """Deletes up to `limit` of the account's sending lists, with a last report before a time and without messages
        that are kept; returns how many."""

    async def drop_balance_notices(self, account: int, before: int, limit: int) -> int:
        """Deletes up to `limit` notices of low balances that ended before a time; returns how many."""

    async def scrub(self) -> bool:
        """Overwrites deleted data on the disk, if the store can. Returns False if another process was in the way: retry
        later. A commit waits for it for a few milliseconds at most.
        """
