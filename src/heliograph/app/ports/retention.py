"""Retention: old messages lose text and number, and are deleted later."""

from typing import Protocol

from heliograph.app.kept_data import RetentionStep, RetentionSweep
from heliograph.domain.message.retention import Stage


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
        """Deletes the account's refused requests that are kept and came before a time; returns how many."""

    async def scrub(self) -> bool:
        """Overwrites deleted data on the disk, if the store can. Returns False if another process was in the way: retry
        later. A commit waits for it for a few milliseconds at most.
        """
