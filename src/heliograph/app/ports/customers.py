"""Customers: what they ask about their messages, and change of those that are scheduled."""

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
        """Returns the account's limits and what is used of them, what waits counted; none for an unknown account."""

    async def message(self, account: int, key: int, tail: int) -> Message | None: ...

    async def batch(self, account: int, key: int, tail: int, index: int, limit: int) -> BatchSlice | None: ...

    async def replayed(self, account: int, reference: str) -> tuple[bytes, Accept] | None:
        """Returns the fingerprint and the first result of the request that used the reference (as `record` gives it on
        REPLAYED, with that verdict); None if none did."""

    async def messages(self, account: int, query: ListQuery) -> list[Message]:
        """Returns Sent and Failed messages (Scheduled too if `pending`), by time and key. Cancelled ones never."""

    async def admit_list(self, account: int, now: int, interval: int, unanswered: int | None = None) -> int:
        """Returns 0 if `interval` ms have passed since the last admitted list query of the account, and remembers this
        one; else the ms still to wait. Holds across processes, whose clocks may differ by less than that. If that
        query was the one admitted at `unanswered`, it does not count."""

    async def trace(self, account: int, key: int, tail: int) -> MessageRecord | None:
        """Returns everything that the rows know of one message; None if there is no such message."""

    async def deliveries(self, keys: Sequence[int]) -> dict[int, tuple[Delivery, str, int]]:
        """Returns how messages ended, by key: state, the operator's error code, time (ms). Those that have not, and
        those that were cancelled, are left out."""

    async def cancel(self, account: int, key: int, tail: int, now: int) -> list[Message]:
        """Cancels a scheduled message, or all still scheduled ones of a batch, and refunds each; returns them.

        Raises NotScheduled if there is none to cancel (sent, cancelled, or due by `now`), Missing if there is no
        such message or batch. Exactly one of cancel, reschedule and claim wins.
        """

    async def reschedule(self, account: int, key: int, tail: int, time: int, expires: int, now: int) -> list[Message]:
        """Moves a scheduled message, or all still scheduled ones of a batch, to `time`; returns them as they now are.

        Raises as `cancel` does.
        """
