"""Unknown outcomes: parts that an operator may have without having said so."""

from dataclasses import dataclass, field

from heliograph.app.dispatch.lane_item import LaneItem

MOST_UNKNOWN = 5_000
"""Messages that are remembered, the latest; receipts of the copies of older ones match nothing."""

REPEAT_AFTER_MS = 60_000
"""Milliseconds that a receipt that matches nothing is taken for an early one before it may count as that of a first
copy; longer than an answer is waited for."""


@dataclass(slots=True, eq=False)
class UnknownOutcome:
    """A message with parts that were written recently and have no answer.

    `item` is there until all its parts have an answer; `queued` says that it waits in the queue, and in no lane.
    `copies` counts the copies that the operator may have beyond those it answered for: as many receipts may match
    nothing.
    """

    connector: int
    destination: str
    item: LaneItem | None = None
    queued: bool = False
    until: int = 0
    """Time in ms from which the message may be sent again; 0 if it is not held for a late answer or a receipt."""
    copies: int = 0
    answered: dict[int, str | None] = field(default_factory=dict)
    """Parts with an answer: the operator's id, or None for a part that it does not have."""
    late: dict[int, str] = field(default_factory=dict)
    """Ids of late answers to the first copies of parts whose next copy is on its way."""

    @property
    def uncertain(self) -> list[int]:
        """Numbers of the parts whose outcome is unknown and that are not under way again."""
        item = self.item
        if item is None or item.to_send is None:
            return []
        return sorted(item.withheld.union(item.doubtful.intersection(item.to_send)))


class UnknownOutcomes:
    """Messages of all lanes with parts of unknown outcome, found by key and by number."""

    __slots__ = ("_by_key", "_by_number")

    def __init__(self) -> None:
        self._by_key: dict[int, UnknownOutcome] = {}
        self._by_number: dict[tuple[int, str], list[int]] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    def of(self, key: int, connector: int) -> UnknownOutcome | None:
        """Returns the unknown outcomes of a message at this connector, None if there are none."""
        unknown = self._by_key.get(key)
        return unknown if unknown is not None and unknown.connector == connector else None

    def note(self, item: LaneItem, connector: int, copies: int) -> UnknownOutcome:
        """Notes that `copies` more parts of the item were written and have no answer. Beyond MOST_UNKNOWN messages,
        forgets the oldest."""
        key = item.message.key
        unknown = self.of(key, connector)
        if unknown is None:
            self.forget(key)
            unknown = self._by_key[key] = UnknownOutcome(connector, item.message.destination)
            self._by_number.setdefault((connector, unknown.destination), []).append(key)
            if len(self._by_key) > MOST_UNKNOWN:
                self.forget(next(iter(self._by_key)))
        unknown.item, unknown.queued = item, False
        unknown.copies += copies
        return unknown

    def at(self, connector: int, number: str) -> list[UnknownOutcome]:
        """Returns the messages to a number, as a receipt writes it."""
        keys = self._by_number.get((connector, number)) or self._by_number.get((connector, number.lstrip("+0")), [])
        return [self._by_key[key] for key in keys]

    def forget(self, key: int) -> None:
        """Forgets a message. Idempotent."""
        unknown = self._by_key.pop(key, None)
        if unknown is None:
            return
        unknown.item = None
        name = (unknown.connector, unknown.destination)
        self._by_number[name].remove(key)
        if not self._by_number[name]:
            del self._by_number[name]
