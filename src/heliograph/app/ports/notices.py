"""Pending notices: the table of notices that could not be delivered at once."""

from collections.abc import Sequence
from typing import Protocol

from heliograph.app.notice import Notice
from heliograph.app.records import CallbackView
from heliograph.domain.message.way import Way


class Notices(Protocol):
    """Notices for accounts that are still pending, or that ended without delivery."""

    async def claim(self, limit: int, now: int, node: int, accounts: Sequence[int] = ()) -> list[Notice]:
        """Claims up to `limit` notices due by `now` for this node, oldest due first. They stay claimed until they are
        recorded as done or moved.

        With `accounts`, claims up to `limit` of each of these accounts, and none of others.
        """

    async def claim_parked(self, way: Way, limit: int, node: int, accounts: Sequence[int]) -> list[Notice]:
        """Takes up to `limit` parked notices of each of these accounts by one way for this node, oldest first."""

    async def accounts(self, beyond: int, limit: int) -> list[tuple[int, int]]:
        """Returns accounts with ids above `beyond` that have unclaimed notices, ascending, each with the time when its
        first is due; at most `limit`."""

    async def next_due(self) -> int | None:
        """Returns the earliest due time of an unclaimed notice."""

    async def replay(self, account: int | None, key: int | None, now: int) -> int:
        """Makes failed notices pending again: of a message, of the account, or all. Returns how many."""

    async def owed(self, limit: int, after: tuple[int, int] | None = None) -> list[CallbackView]:
        """Returns pending notices that no node has claimed, by `due` and key, after `after`."""

    async def ended(self, limit: int, before: int | None = None) -> list[CallbackView]:
        """Returns failed notices with keys below `before`, newest message first."""

    async def drop(self, keys: Sequence[int], now: int) -> int:
        """Ends owed notices that no node has claimed, as given up; returns how many."""
