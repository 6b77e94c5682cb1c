"""Series: counts of events in each minute, hour, day, week and eight weeks, by account, connector, country and network.

Each event counts at its own time: a message accepted at 10:59 and delivered at 11:01 counts as accepted in one hour and
as delivered in the next. Times are milliseconds since the epoch, money is micro-credits.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import Final, NamedTuple

from heliograph.domain.sketch import Sketch, merge

MOST_REASONS: Final = 40
"""Most codes, and most reasons, that a cell counts separately. An operator may invent any number of codes."""

OTHER: Final = "other"
"""Code of the failures beyond MOST_REASONS."""


class Grain(IntEnum):
    """The width of a bucket of time; days are those of UTC."""

    MINUTE = 0
    HOUR = 1
    DAY = 2
    WEEK = 3
    EIGHT_WEEKS = 4
    """Weeks are for sums alone: a year has a twentieth of the cells that days have."""

    @property
    def ms(self) -> int:
        """The width in milliseconds."""
        return WIDTH_MS[self]

    def start(self, at: int) -> int:
        """Returns the beginning of the bucket with this time."""
        return at - at % WIDTH_MS[self]


WIDTH_MS: Final = (60_000, 3_600_000, 86_400_000, 7 * 86_400_000, 56 * 86_400_000)
"""Widths of the spans, by their numbers."""


class CellKey(NamedTuple):
    """The account, the connector, the country and the network of counts. `connector` is 0 and `country` empty for
    events without them, such as a refused request.
    """

    account: int
    connector: int
    country: str
    network: str = ""
    """MCCMNC of the messages' destinations, such as `26201`; empty if it is not known, and for messages from phones."""


class Cell:
    """Counts of a time bucket for an account, connector, country and network, or for several of them together.

    `accepted`, `submitted`, `delivered`, `failed`, `cancelled`: messages. `failed` has all other ends than delivered
    and cancelled; `failures` has them by state and code.

    `segments`: of accepted messages. `inbound`: messages from phones. `refused`: requests.

    `spend`: charges minus refunds.

    `resent`: messages that the operator took and did not deliver, so that another tried them.

    `confirmed`, `denied`: messages about which their customer contradicts the receipt: delivered, or not.

    `to_operator`: milliseconds from a message's due time until the operator accepted its first part. `to_receipt`: from
    then until it was reported as delivered.
    """

    __slots__ = (
        "accepted", "cancelled", "confirmed", "delivered", "denied", "failed", "failures", "inbound", "refusals",
        "refused", "resent", "segments", "spend", "submitted", "to_operator", "to_receipt",
    )  # fmt: skip

    def __init__(self, counts: Iterable[int] = ()) -> None:
        """`counts`: the values of COUNTS in order, or empty."""
        self.accepted = 0
        self.segments = 0
        self.submitted = 0
        self.delivered = 0
        self.failed = 0
        self.cancelled = 0
        self.inbound = 0
        self.refused = 0
        self.spend = 0
        self.resent = 0
        self.confirmed = 0
        self.denied = 0
        self.failures: dict[str, int] = {}
        self.refusals: dict[str, int] = {}
        self.to_operator: Sketch = {}
        self.to_receipt: Sketch = {}
        for name, count in zip(COUNTS, counts, strict=False):
            setattr(self, name, count)

    @property
    def counts(self) -> tuple[int, ...]:
        """The counts of COUNTS, in their order."""
        return (
            self.accepted, self.segments, self.submitted, self.delivered, self.failed, self.cancelled, self.inbound,
            self.refused, self.spend, self.resent, self.confirmed, self.denied,
        )  # fmt: skip

    @property
    def ended(self) -> int:
        """The number of messages that ended, without cancelled messages."""
        return self.delivered + self.failed

    @property
    def any_messages(self) -> bool:
        """True if it counts messages, not only refused requests."""
        counted = any(self.counts[: COUNTS.index("refused")])
        return counted or bool(self.failures or self.to_operator or self.to_receipt)

    def fail(self, code: str) -> None:
        """Counts a message that failed."""
        self.failed += 1
        count(self.failures, code, 1)

    def refuse(self, reason: str, number: int) -> None:
        """Counts requests that were refused."""
        self.refused += number
        count(self.refusals, reason, number)

    def add(self, other: "Cell") -> None:
        """Adds the counts of the other cell."""
        self.accepted += other.accepted
        self.segments += other.segments
        self.submitted += other.submitted
        self.delivered += other.delivered
        self.failed += other.failed
        self.cancelled += other.cancelled
        self.inbound += other.inbound
        self.refused += other.refused
        self.spend += other.spend
        self.resent += other.resent
        self.confirmed += other.confirmed
        self.denied += other.denied
        for code, number in other.failures.items():
            count(self.failures, code, number)
        for reason, number in other.refusals.items():
            count(self.refusals, reason, number)
        merge(self.to_operator, other.to_operator)
        merge(self.to_receipt, other.to_receipt)


COUNTS: Final = (
    "accepted", "segments", "submitted", "delivered", "failed", "cancelled", "inbound", "refused", "spend",
    "resent", "confirmed", "denied",
)  # fmt: skip
"""The plain counts of a cell, by name."""


def count(counts: dict[str, int], name: str, number: int) -> None:
    """Adds to a count; beyond MOST_REASONS of them to that of OTHER."""
    if name not in counts and len(counts) >= MOST_REASONS:
        name = OTHER
    counts[name] = counts.get(name, 0) + number
