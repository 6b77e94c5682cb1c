"""The queue: scheduled, deferred and overflowing messages."""

from collections.abc import Sequence
from typing import Protocol

from heliograph.app.facts import Queued


class Queue(Protocol):
    """Messages that are not in any node's memory. A claim holds until `release` or until the row is dequeued."""

    async def claim(
        self, connector: int, limit: int, now: int, node: int, accounts: Sequence[int] = ()
    ) -> list[Queued]:
        """Claims up to `limit` messages due by `now` for this node, oldest due first. Scheduled messages become Sent.

        With `accounts`, claims up to `limit` of each of these accounts, and none of others. No other node gets a
        claimed message.
        """

    async def claim_expired(self, limit: int, now: int, node: int) -> list[Queued]:
        """Claims unclaimed messages with a validity that ended by `now`, of any connector."""

    async def accounts(self, connector: int, now: int) -> list[int]:
        """Returns the accounts that have unclaimed messages due by `now`."""

    async def next_due(self) -> dict[int, int]:
        """Returns the earliest due time of an unclaimed message, for each connector with such a message."""

    async def resume(self, now: int, limit: int) -> int:
        """Makes up to `limit` messages due that waited for an account that is no longer suspended. Returns how many.
        Messages of accounts still suspended are not read.
        """

    async def release(self, node: int) -> int:
        """Gives up every claim of `node`, of messages and of notices; attempted rows stay marked. Returns how many
        there were."""
