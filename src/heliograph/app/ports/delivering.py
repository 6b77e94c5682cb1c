"""What the store does for messages on their way: accepted, sent, received, told to their customers."""

from collections.abc import Sequence
from typing import Protocol

from heliograph.app.facts import EarlyReceipt, Facts, Outstanding, Queued
from heliograph.app.marks import Recovery
from heliograph.app.notices.notice import Notice


class Delivering(Protocol):
    """A part of `Store`."""

    # --- the hot path

    async def record(self, facts: Facts) -> None:
        """Makes all of `facts` true, or none; sets the verdict of each accept.

        A request that is refused (credit, suspension, reference) leaves no trace and does not fail the others.
        Requests are judged in order: two for the last credit, the first one gets it. Submissions, finals and
        callbacks that are recorded already, and queue rows that are gone, are passed over. A final whose message is
        Cancelled is passed over.

        Raises Unfit where a value of one of them cannot be written: then `app.commit.isolate` records the others.
        Whatever is raised, each accept is UNAVAILABLE.
        """

    # --- the queue: scheduled, deferred and overflowing messages

    async def claim_queued(
        self, connector: int, limit: int, now: int, node: int, accounts: Sequence[int] = ()
    ) -> list[Queued]:
        """Takes up to `limit` messages due by `now` for this node, oldest due first; scheduled ones become Sent. With
        `accounts` up to `limit` of each of these, and of no others; each one's are the oldest due first.

        A claim holds until `release` or until the row is dequeued. Nobody else gets a claimed message.
        """

    async def queued_accounts(self, connector: int, now: int) -> list[int]:
        """The accounts that have unclaimed messages due by `now`."""

    async def claim_expired(self, limit: int, now: int, node: int) -> list[Queued]:
        """Takes unclaimed messages whose validity ended by `now`, of any connector."""

    async def next_due(self) -> dict[int, int]:
        """The earliest due time of an unclaimed message, for each connector that has one."""

    async def release(self, node: int) -> int:
        """Gives up every claim of `node`; attempted rows stay marked. Returns how many there were."""

    # --- receipts

    async def find_outstanding(self, connector: int, operator_ids: Sequence[str]) -> list[Outstanding]:
        """The messages that await these receipts, out of those whose parts were recorded as `Awaiting`."""

    async def outstanding(self, key: int) -> Outstanding | None:
        """What the rows know of one message that has no final state yet; None if it has one, or is not there."""

    async def overdue(self, expired: int, beyond: int, limit: int) -> tuple[list[Outstanding], int | None]:
        """Looks at up to `limit` messages that await a receipt and are below the mark, by ascending key above `beyond`.

        Returns those whose validity ended before `expired`, and the key to go on from: None after the last one.
        """

    async def orphans(self, limit: int) -> list[EarlyReceipt]:
        """Receipts that match nothing, newest first."""

    async def forget(self, before: int, most: int, limit: int) -> int:
        """Deletes receipts that matched nothing and came before `before`, or are beyond the latest `most`, about. Looks
        at the oldest `limit`; returns how many it deleted."""

    # --- callbacks

    async def claim_callbacks(self, limit: int, now: int, node: int) -> list[Notice]:
        """Takes callbacks due by `now` for this node, oldest due first; held until recorded as done or moved."""

    async def next_callback_due(self) -> int | None:
        """The earliest due time of an unclaimed callback."""

    async def replay(self, account: int | None, key: int | None, now: int) -> int:
        """Owes ended callbacks (given up or gone) again: one message's, the account's, or all. Returns how many."""

    # --- after a crash

    async def recover(self, worker: int, node: int) -> Recovery:
        """What is owed above the marks. On an embedded store the claims of other nodes are given up first."""
