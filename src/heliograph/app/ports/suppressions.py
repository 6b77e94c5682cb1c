"""Suppressions: phones that an account must not send to."""

from collections.abc import Sequence
from typing import Protocol

from heliograph.domain.message.suppression import Suppression


class Suppressions(Protocol):
    """Reads and changes the suppressions of accounts.

    A suppression holds from its commit on, on every node. `Commits.record` accepts no message to the number, and
    `Queue.claim` marks waiting messages as suppressed. `Commits.record` also writes opt-outs that phones ask for.
    """

    async def suppress(self, account: int, numbers: Sequence[str], source: str, now: int) -> int:
        """Suppresses the numbers, in one transaction. Returns how many are new. Waiting messages to them are cancelled
        and refunded. Raises Missing for an unknown account.
        """

    async def lift(self, account: int, number: str) -> None:
        """Raises Missing where the number is not suppressed."""

    async def find(self, account: int, number: str) -> Suppression | None:
        """Returns the suppression of a number, whether or not the number itself was erased."""

    async def page(self, account: int, after: str, limit: int) -> list[Suppression]:
        """Returns suppressions of known numbers, ordered by number, from the first after `after` on."""

    async def made_since(self, since: int) -> list[tuple[int, str, int]]:
        """Returns the accounts, the numbers and the times of suppressions of a time (ms) and later."""
