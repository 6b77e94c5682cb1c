"""Retention: what is old loses its text and its number, and goes."""

from typing import Protocol

from heliograph.app.kept_data import RetentionStep, RetentionSweep
from heliograph.domain.message.retention import Stage


class Retention(Protocol):
    """Redacts and drops old messages. Those for which something is still to be sent, awaited or told are left as they
    are, and remembered. Money stays: what dropped messages cost is added up, so that the audit of the books is exact.
    """

    async def advance(self, sweep: RetentionSweep, limit: int) -> RetentionStep:
        """Looks at the account's next messages of the sweep, up to `limit`, from where the last call came to; does to
        the settled ones what the stage says, and notes the others."""

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
        """Overwrites what was deleted where it is still on the disk and the store can do so; returns False where
        somebody was in the way, and it is to be tried again. A commit waits for it for some milliseconds at most."""
