"""Notices that are owed, in the table of those that could not be delivered at once."""

from collections.abc import Sequence
from typing import Protocol

from heliograph.app.notice import Notice
from heliograph.app.records import CallbackView


class Notices(Protocol):
    """Notices owed to accounts, and those that ended undelivered."""

    async def claim(self, limit: int, now: int, node: int, accounts: Sequence[int] = ()) -> list[Notice]:
        """Takes up to `limit` notices due by `now` for this node, oldest due first; held until recorded as done or
        moved. With `accounts` up to `limit` of each of these, and of no others; each one's are the oldest due first."""

    async def accounts(self, beyond: int, limit: int) -> list[tuple[int, int]]:
        """Returns accounts with ids above `beyond` that have unclaimed notices, ascending, each with the time when its
        first is due; at most `limit`."""

    async def next_due(self) -> int | None:
        """Returns the earliest due time of an unclaimed notice."""

    async def replay(self, account: int | None, key: int | None, now: int) -> int:
        """Owes ended notices (given up or gone) again: one message's, the account's, or all. Returns how many."""

    async def owed(self, limit: int, after: tuple[int, int] | None = None) -> list[CallbackView]:
        """Returns those that no node has claimed, by `due` and key, beyond `after`."""

    async def ended(self, limit: int, before: int | None = None) -> list[CallbackView]:
        """Returns those given up or gone, newest message first, of keys below `before`."""

    async def drop(self, keys: Sequence[int], now: int) -> int:
        """Ends owed notices that no node has claimed, as given up; returns how many."""
