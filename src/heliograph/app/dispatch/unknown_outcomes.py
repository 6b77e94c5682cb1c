"""Unknown outcomes: parts that were written and not answered, so that the operator may have them or not."""

from dataclasses import dataclass, field

from heliograph.app.dispatch.lane_item import LaneItem

MOST_UNKNOWN = 5_000
"""Messages that are remembered, the latest. Receipts for copies of older messages match nothing."""

MOST_PAUSES = 200_000
"""Messages beyond these of which only the end of the pause is remembered, about 20 MB. Without it, each would be paused
again when it is claimed, and make another message forgotten. With more than MOST_UNKNOWN, none would ever be sent."""

REPEAT_AFTER_MS = 60_000
"""Milliseconds for which an unmatched receipt counts as early. Later it may count as the receipt of a first copy. Must
exceed the time for which an answer is awaited."""


@dataclass(slots=True, eq=False)
class UnknownOutcome:
    """A message with parts that were written recently and have no answer."""

    connector: int
    destination: str
    item: LaneItem | None = None
    """The message in its lane, until all its parts have an answer."""
    queued: bool = False
    """Whether the message waits in the queue's rows, and in no lane."""
    until: int = 0
    """Time (ms) from which the message may be sent again; 0 if it is not paused for a late answer or a receipt."""
    copies: int = 0
    """Copies that the operator may have beyond the answered ones. As many receipts may match nothing."""
    answered: dict[int, str | None] = field(default_factory=dict)
    """Parts with an answer: the operator's id, or None for a part that it does not have."""
    late: dict[int, str] = field(default_factory=dict)
    """Ids of late answers to first copies, by part, while the next copy is in flight."""

    @property
    def uncertain(self) -> list[int]:
        """Numbers of the parts with an unknown outcome that are not in flight again."""
        item = self.item
        if item is None or item.to_send is None:
            return []
        return sorted(item.paused.union(item.doubtful.intersection(item.to_send)))


class UnknownOutcomes:
    """Finds messages with parts of unknown outcome, of all lanes, by key and by number."""

    __slots__ = ("_by_number", "by_key", "pauses")

    def __init__(self) -> None:
        self.by_key: dict[int, UnknownOutcome] = {}
        self.pauses: dict[int, int] = {}
        """Ends (ms) of the pauses of forgotten messages in the queue's rows, by key."""
        self._by_number: dict[tuple[int, str], list[int]] = {}

    def of(self, key: int, connector: int) -> UnknownOutcome | None:
        """Returns the unknown outcomes of a message at this connector, or None."""
        unknown = self.by_key.get(key)
        return unknown if unknown is not None and unknown.connector == connector else None

    def note(self, item: LaneItem, connector: int, copies: int) -> UnknownOutcome:
        """Notes that `copies` more parts of the item were written and have no answer. Beyond MOST_UNKNOWN messages,
        forgets the oldest."""
        key = item.message.key
        unknown = self.of(key, connector)
        if unknown is None:
            self.forget(key)
            unknown = self.by_key[key] = UnknownOutcome(connector, item.message.destination)
            self._by_number.setdefault((connector, unknown.destination), []).append(key)
            if len(self.by_key) > MOST_UNKNOWN:
                self._forget_oldest()
        unknown.item, unknown.queued = item, False
        unknown.copies += copies
        return unknown

    def at(self, connector: int, number: str) -> list[UnknownOutcome]:
        """Returns the messages to a number, as a receipt writes it."""
        keys = self._by_number.get((connector, number)) or self._by_number.get((connector, number.lstrip("+0")), [])
        return [self.by_key[key] for key in keys]

    def pause_end(self, key: int, connector: int) -> int | None:
        """Returns the end (ms) of the pause of a message that was claimed again: 0 if it was not paused, None if it is
        not known."""
        unknown = self.of(key, connector)
        return self.pauses.pop(key, None) if unknown is None else unknown.until

    def _forget_oldest(self) -> None:
        key, oldest = next(iter(self.by_key.items()))
        self.forget(key)
        if oldest.queued:
            self.pauses[key] = oldest.until
            if len(self.pauses) > MOST_PAUSES:
                del self.pauses[next(iter(self.pauses))]

    def forget(self, key: int) -> None:
        """Forgets a message. Idempotent."""
        self.pauses.pop(key, None)
        unknown = self.by_key.pop(key, None)
        if unknown is None:
            return
        unknown.item = None
        name = (unknown.connector, unknown.destination)
        self._by_number[name].remove(key)
        if not self._by_number[name]:
            del self._by_number[name]
