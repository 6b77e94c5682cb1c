"""The queue: scheduled, deferred and overflowing messages."""

from collections.abc import Sequence
from typing import Protocol

from heliograph.app.facts import Queued


class Queue(Protocol):
    """Messages that are not in any node's memory. A claim holds until `release` or until the row is dequeued."""

    async def claim(
        self, connector: int, limit: int, now: int, node: int, accounts: Sequence[int] = ()
    ) -> list[Queued]:
        """Takes up to `limit` messages due by `now` for this node, oldest due first; scheduled ones become Sent. With
        `accounts` up to `limit` of each of these, and of no others; each one's are the oldest due first.

        Nobody else gets a claimed message.
        """

    async def claim_expired(self, limit: int, now: int, node: int) -> list[Queued]:
        """Takes unclaimed messages whose validity ended by `now`, of any connector."""

    async def accounts(self, connector: int, now: int) -> list[int]:
        """Returns the accounts that have unclaimed messages due by `now`."""

    async def next_due(self) -> dict[int, int]:
        """Returns the earliest due time of an unclaimed message, for each connector that has one."""

    async def resume(self, now: int, limit: int) -> int:
        """Makes up to `limit` messages due that are held since their account was suspended, of accounts that no longer
        are; returns how many. Reads nothing of those that still are."""

    async def release(self, node: int) -> int:
        """Gives up every claim of `node`, of messages and of notices; attempted rows stay marked. Returns how many
        there were."""
