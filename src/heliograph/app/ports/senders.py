"""Registries of sender IDs: an account that has any may use approved ones only."""

from collections.abc import Sequence
from typing import Protocol

from heliograph.app.configuration import RegisteredSender


class Senders(Protocol):
    """Changes the registered senders of accounts. Each change adds one to the revision of `Network`, whose tables
    include them.
    """

    async def put(self, senders: Sequence[RegisteredSender]) -> int:
        """Adds these senders, or sets their state and note, all or none. Returns how many are new. Raises Missing for
        an unknown account.
        """

    async def remove(self, account: int, sender: str) -> None:
        """Raises Missing where the account's registry lacks the sender."""
