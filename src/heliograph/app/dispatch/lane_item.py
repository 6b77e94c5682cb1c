"""A message in a lane: which of its parts wait, which are under way, and how it is cut."""

from dataclasses import dataclass
from typing import Final

from heliograph.app.facts import Accept, Message, Queued
from heliograph.app.ports import Deferred, Refused, Unknown

NONE_TRIED: Final[frozenset[int]] = frozenset()

NO_PARTS: Final[frozenset[int]] = frozenset()


@dataclass(slots=True)
class Refusal:
    """An answer to a part after which another operator may try its message."""

    outcome: Refused | Deferred | Unknown
    waited: int = -1
    """Milliseconds from the due time to the write; see `facts.Submission`."""
    took: int = -1
    """Milliseconds from the write to the answer."""


class LaneItem:
    """A message in a lane. Each part without an answer waits (`to_send`), is `paused`, or is marked, ready or in
    flight."""

    __slots__ = (
        "accept",
        "counted",
        "doubtful",
        "is_reply",
        "message",
        "open",
        "paused",
        "preliminary",
        "reference",
        "refusals",
        "resent",
        "row",
        "taken",
        "to_send",
        "tried",
        "tries",
        "whole",
    )  # fmt: skip

    def __init__(self, message: Message, accept: Accept | None = None) -> None:
        self.message = message
        self.accept = accept
        """Request that brought the message, until that is committed."""
        self.to_send: list[int] | None = None
        """Numbers of the parts that wait to be sent; None: all of them, since no part was ever sent."""
        self.reference = 0
        """Concatenation reference, 1 to 255; 0 until the message is cut, and for a short message."""
        self.open = message.segments
        """Number of parts without an answer."""
        self.taken = 0
        """Number of parts that the operator has, or may have but that are never sent again."""
        self.doubtful: frozenset[int] = NO_PARTS
        """Parts with an unknown outcome that are sent again."""
        self.paused: frozenset[int] = NO_PARTS
        """Parts of `doubtful` that first wait for a late answer or a receipt."""
        self.row = False
        """Whether the queue has a row for the message."""
        self.counted = False
        """Whether the message counts among its account's in the fast lane."""
        self.tries = 0
        """Answers that never came."""
        self.whole = False
        """Whether a long message is sent as a single part, number 0."""
        self.tried: frozenset[int] = NONE_TRIED
        """Connectors with operators that refused the message, so that another may try it."""
        self.preliminary = False
        """Whether the connector of its acceptance is looked at again, since none has tried it."""
        self.resent = False
        """Whether an operator took the message before and did not deliver it, or may have it: it is not refunded."""
        self.refusals: dict[int, Refusal] | None = None
        """Answers to parts after which another operator may try the message, once no part of it is under way."""

        self.is_reply = False
        """Whether it is the gateway's own answer to a phone, so that suppressions do not apply."""

    @classmethod
    def of_queue(cls, queued: Queued, *, row: bool = True) -> "LaneItem":
        """Makes the item of a message that was read from its row: only its parts without an answer are sent."""
        item = cls(queued.message)
        item.row = row
        item.taken = len(queued.taken)
        if not queued.untried:
            item.to_send = [n for n in range(queued.message.segments) if n not in queued.answered]
            item.open = len(item.to_send)
        item.tried, item.resent, item.preliminary = queued.tried, queued.resent, queued.preliminary
        item.is_reply = queued.is_reply
        if queued.attempted:
            item.doubtful = frozenset(item.waiting)
        return item

    @property
    def untried(self) -> bool:
        """Whether certainly no operator was sent a part, and none refused it."""
        return self.to_send is None

    @property
    def waiting(self) -> list[int]:
        """Numbers of the waiting parts, from 0, for example `[0, 2]`."""
        if self.to_send is not None:
            return self.to_send
        return [0] if self.open == 1 else list(range(self.open))

    def covers(self, segment: int) -> tuple[int, ...]:
        """Returns the numbers of the charged segments that a part carries. For example, a long message that is sent
        whole gives `(0, 1, 2)`."""
        return tuple(range(self.message.segments)) if self.whole else (segment,)

    def shape(self, whole: bool) -> None:
        """Joins the parts of a message into a single part, or splits it again; only while all of them wait."""
        total = self.message.segments
        if whole == self.whole or total == 1 or len(self.waiting) < (1 if self.whole else total):
            return
        self.whole = whole
        self.open = 1 if whole else total
        if self.to_send is not None:
            self.to_send = list(range(self.open))
        if self.doubtful:
            self.doubtful = frozenset(range(self.open))

    @property
    def away(self) -> int:
        """Counts the parts that are marked, ready or in flight."""
        return 0 if self.to_send is None else self.open - len(self.to_send) - len(self.paused)

    @property
    def attempted(self) -> bool:
        """Whether a part without an answer may have reached the operator."""
        return bool(self.doubtful) or self.away > 0

    @property
    def unsent(self) -> bool:
        """Whether certainly no part has reached the operator."""
        return self.taken == 0 and not self.attempted
