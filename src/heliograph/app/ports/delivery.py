"""Delivery: commits of the hot path, and the slow tables of messages, receipts and notices."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from heliograph.app.facts import EarlyReceipt, Facts, Outstanding, Queued, UntriedRow
from heliograph.app.marks import Recovery
from heliograph.app.notice import Notice
from heliograph.app.records import CallbackView, Feedback
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.way import Way

HOLD_S: Final = 5.0
"""Seconds that requests wait for a store that does not answer: also the most that a commit with requests may take. No
customer should see a planned switchover of PostgreSQL, which takes 2 s, and 4 to 5.7 s on a busy machine. Customers'
timeouts must be longer."""


class Commits(Protocol):
    """Commits facts: all facts of a call in a transaction."""

    async def record(self, facts: Facts) -> None:
        """Commits all of `facts`, or none. Sets the verdict of each accept.

        A refused request (credit, suspension, reference) changes nothing and does not fail the others. Requests are
        judged in order: if two requests compete for the last credit, the first gets it.

        Facts that are already recorded (submissions, message ends, callbacks) and queue rows that are gone are skipped.
        An end for a Cancelled message is skipped. A store that nodes share marks such an end as `superseded` if another
        one stands.

        A store that nodes share leaves out messages from phones that another node was faster with, marks them as
        `contested`, and removes them from `facts`.

        Raises StoreRejected if a value of a fact cannot be written. `app.commit.isolate` then records the other facts.
        A store that does not answer may raise Unavailable after HOLD_S.

        After any exception, each accept is UNAVAILABLE, or IN_DOUBT if it may have been written. A later call that
        finds out sets the verdict of an accept that is still IN_DOUBT: ACCEPTED if other nodes or the customer have
        taken it up, otherwise it is undone and UNAVAILABLE.
        """

    async def recover(self, worker: int, node: int) -> Recovery:
        """Returns the unfinished work above the marks. On an embedded store, first gives up the claims of other
        nodes."""


class Queue(Protocol):
    """Messages that are not in any node's memory. A claim holds until `release` or until the row is dequeued."""

    async def claim(
        self, connector: int, limit: int, now: int, node: int, accounts: Sequence[int] = ()
    ) -> list[Queued]:
        """Claims up to `limit` messages due by `now` for this node, oldest due first. Scheduled messages become Sent.

        With `accounts`, claims up to `limit` of each of these accounts, and none of others. No other node gets a
        claimed message.

        If the answer to its commit is lost, a claim waits until the store is back, and returns the claimed messages.
        """

    async def claim_expired(self, limit: int, now: int, node: int) -> list[Queued]:
        """Claims unclaimed messages with a validity that ended by `now`, of any connector."""

    async def accounts(self, connector: int, now: int) -> list[int]:
        """Returns the accounts that have unclaimed messages due by `now`."""

    async def next_due(self) -> dict[int, int]:
        """Returns the earliest due time of an unclaimed message, for each connector with such a message."""

    async def untried(self, connector: int, limit: int, now: int) -> list[UntriedRow]:
        """Returns up to `limit` unclaimed messages due by `now` that no operator has tried, oldest due first."""

    async def move(self, keys: Sequence[int], connector: int, instead: int) -> int:
        """Gives messages that still wait for a connector, unclaimed and untried, to another. Returns how many."""

    async def resume(self, now: int, limit: int) -> int:
        """Makes up to `limit` messages due that waited for an account that is no longer suspended. Returns how many.
        Messages of accounts still suspended are not read.
        """

    async def release(self, node: int) -> int:
        """Gives up every claim of `node`, of messages and of notices; attempted rows stay marked. Returns how many
        there were."""


@dataclass(frozen=True, slots=True)
class Unreported:
    """A part, or several parts that the operator accepted as one, that has waited for its receipt since `taken`
    (ms).
    """

    key: int
    connector: int
    operator_id: str
    taken: int
    sender: str
    destination: str


@dataclass(frozen=True, slots=True)
class EndedPart:
    """A part that an operator took as `operator_id`, and that has ended in `state` by its receipt."""

    operator_id: str
    destination: str
    state: Delivery


class Receipts(Protocol):
    """Messages that await a receipt, and receipts that await a message."""

    async def find(self, connector: int, operator_ids: Sequence[str]) -> list[Outstanding]:
        """Returns the messages that wait for these receipts and have parts recorded as `Awaiting`."""

    async def outstanding(self, key: int) -> Outstanding | None:
        """Returns all rows of a message without a final state; None if it has a final state, or does not exist."""

    async def overdue(self, expired: int, beyond: int, limit: int) -> tuple[list[Outstanding], list[int], int | None]:
        """Reads up to `limit` messages that wait for a receipt, by ascending key after `beyond`, up to the mark.

        Returns the messages with a validity that ended before `expired`, the keys of such messages that have a final
        state, and the key to continue from: None after the last message.
        """

    async def forget_awaited(self, keys: Sequence[int]) -> None:
        """Stops waiting for receipts of messages that have a final state. Such a wait is left where the late answer to
        a copy of a part became durable after the end that another node gave the message."""

    async def unreported(self, before: int, beyond: int, limit: int) -> tuple[list[Unreported], int | None]:
        """Reads up to `limit` messages that wait for a receipt and were accepted before `before` (ms), by ascending key
        after `beyond`.

        Returns their parts without a receipt, by key, and the key to continue from: None after the last message.
        """

    async def ended(self, connector: int, operator_ids: Sequence[str], since: int, before: int) -> list[EndedPart]:
        """Returns the ended parts with these ids, of messages accepted from `since` until `before` (ms). Reads all
        parts of that time, because the ids of ended parts have no index."""

    async def confirm(self, account: int, key: int, tail: int, delivered: bool, now: int) -> Feedback | None:
        """Keeps whether the customer says that a message was delivered, in place of an earlier word. Returns None if
        there is no such message. A message that no operator took gets no word."""

    async def orphans(self, limit: int, skip: int = 0) -> list[EarlyReceipt]:
        """Returns receipts that match nothing, newest first, without the newest `skip`."""

    async def forget(self, before: int, most: int, limit: int) -> int:
        """Deletes receipts that matched nothing and came before `before`, or are beyond about the latest `most`. Looks
        at the oldest `limit`. Returns how many it deleted."""


class Notices(Protocol):
    """Notices for accounts that are still pending, or that ended without delivery."""

    async def claim(self, limit: int, now: int, node: int, accounts: Sequence[int] = ()) -> list[Notice]:
        """Claims up to `limit` notices due by `now` for this node, oldest due first. They stay claimed until they are
        recorded as done or moved.

        With `accounts`, claims up to `limit` of each of these accounts, and none of others.
        """

    async def claim_parked(self, way: Way, limit: int, node: int, accounts: Sequence[int]) -> list[Notice]:
        """Claims up to `limit` parked notices by this way of each of these accounts for this node, oldest first."""

    async def oldest_parked(self, way: Way, accounts: Sequence[int]) -> int | None:
        """Returns when the oldest parked notice by this way of these accounts was first owed (ms), or None."""

    async def accounts(self, beyond: int, limit: int) -> list[tuple[int, int]]:
        """Returns accounts with ids above `beyond` that have unclaimed notices, ascending, each with the time when its
        first is due; at most `limit`."""

    async def next_due(self) -> int | None:
        """Returns the earliest due time of an unclaimed notice."""

    async def replay(self, keys: Sequence[int], now: int) -> int:
        """Makes failed notices pending again, unless their message was redacted; returns how many."""

    async def failing(self, often: int, many: int, limit: int) -> list[tuple[str, int]]:
        """Returns the names of accounts with a pending webhook that failed `often` times, or with `many` that failed.
        Each has the number of its failed ones, up to `many`. At most `limit` accounts, the oldest first."""

    async def owed(
        self, limit: int, after: tuple[int, int] | None = None, account: int | None = None
    ) -> list[CallbackView]:
        """Returns pending notices that no node has claimed, by `due` and key, after `after`. With `account` only its
        notices."""

    async def ended(self, limit: int, before: int | None = None) -> list[CallbackView]:
        """Returns failed notices with keys below `before`, newest message first."""

    async def drop(self, keys: Sequence[int], now: int) -> int:
        """Ends owed notices that no node has claimed, as given up; returns how many."""
