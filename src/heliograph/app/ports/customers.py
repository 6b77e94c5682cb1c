"""Customers: their queries about their messages, and their changes of scheduled messages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from heliograph.app.facts import Accept, Message
from heliograph.app.records import MessageRecord
from heliograph.domain.limits.allowance import Allowance
from heliograph.domain.message.receipt import Delivery

__all__ = ["BatchSlice", "Customers", "ListQuery", "MessageRecord"]


@dataclass(slots=True)
class ListQuery:
    """A customer's list query. `start` and `end` are whole seconds in ms, both inclusive; None is open."""

    start: int | None = None
    end: int | None = None
    index: int = 0
    limit: int = 100
    pending: bool = False
    descending: bool = False


@dataclass(slots=True)
class BatchSlice:
    """Part of a batch: its messages in the order of the request, from `index` on."""

    key: int
    tail: int
    reference: str | None
    messages: list[Message]


class Customers(Protocol):
    """Reads customers' messages and balances, and changes messages that are scheduled."""

    async def balance(self, account: int) -> int: ...

    async def allowance(self, account: int) -> Allowance:
        """Returns the account's limits and their use, waiting messages included. Zeros and no limits for an unknown
        account.
        """

    async def message(self, account: int, key: int, tail: int) -> Message | None: ...

    async def tail(self, account: int, key: int) -> int | None:
        """Returns the tail of the account's message or batch with this key, for clients with ids of keys alone."""

    async def batch(self, account: int, key: int, tail: int, index: int, limit: int) -> BatchSlice | None: ...

    async def replayed(self, account: int, reference: str) -> tuple[bytes, Accept] | None:
        """Returns the fingerprint and the first result of the request that used the reference, or None if there is
        none. The result is as `record` returns it on REPLAYED, with that verdict.
        """

    async def messages(self, account: int, query: ListQuery) -> list[Message]:
        """Returns Sent and Failed messages (Scheduled too if `pending`), by time and key, but never Cancelled
        messages."""

    async def admit_list(self, account: int, now: int, interval: int, unanswered: int | None = None) -> int:
        """Returns 0 and remembers this list query if the account's last admitted query is at least `interval` ms old.
        Otherwise returns the ms still to wait.

        The rule holds across processes if their clocks differ by less than `interval`. The query admitted at
        `unanswered` does not count.
        """

    async def trace(self, account: int, key: int, tail: int) -> MessageRecord | None:
        """Returns all rows of a message, or None if there is no such message."""

    async def deliveries(self, keys: Sequence[int]) -> dict[int, tuple[Delivery | None, str, int]]:
        """Returns the ends of messages by key: state, the operator's error code, time (ms). The state of a held message
        is None. Other open messages, and cancelled messages, are left out.
        """

    async def cancel(self, account: int, key: int, tail: int, now: int) -> list[Message]:
        """Cancels a scheduled message, or all messages of a batch that are still scheduled, and refunds each. Returns
        them.

        Raises NotScheduled if no message can be cancelled (sent, cancelled, or due by `now`). Raises Missing if there
        is no such message or batch. Exactly one of cancel, reschedule and claim wins.
        """

    async def reschedule(self, account: int, key: int, tail: int, time: int, expires: int, now: int) -> list[Message]:
        """Moves a scheduled message, or all messages of a batch that are still scheduled, to `time`. Returns them with
        the new time.

        Raises as `cancel` does.
        """
