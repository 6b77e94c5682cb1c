"""Parts that an operator may have without having said so, and what comes to light about them later."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heliograph.app.dispatch.lane_item import Item

MOST_DOUBTS = 5_000
"""Messages whose doubts are remembered, the latest; receipts of the copies of older ones match nothing."""

REPEAT_AFTER_MS = 60_000
"""How long a receipt that matches nothing is taken for an early one before it may count as that of a first copy. It
is longer than an answer is waited for."""

WAIT_S = 3_600.0
"""How long a connector with the policy `wait` leaves a part alone, unless its option says otherwise."""


def unknown_wait_ms(options: Mapping[str, Any]) -> int:
    """How long, by a connector's options, a part without an answer is not sent again; 0 for the policy `resend`."""
    if str(options.get("unknown", "")).lower() != "wait":
        return 0
    seconds = options.get("unknown_wait_s", WAIT_S)
    return max(1, int(seconds * 1000)) if isinstance(seconds, int | float) else int(WAIT_S * 1000)


@dataclass(slots=True, eq=False)
class Doubt:
    """One message of which something was written and not answered for, of late.

    `item` is there until all its parts have an answer; `queued` says that it waits in the queue, and in no lane.
    `copies` counts what the operator may have, over what it answered for: so many receipts may match nothing.
    """

    connector: int
    destination: str
    item: Item | None = None
    queued: bool = False
    until: int = 0
    """When it may be sent again, in ms; 0 where it does not wait for word."""
    copies: int = 0
    answered: dict[int, str | None] = field(default_factory=dict)
    """Parts with an answer: the operator's id, or None for what it does not have."""
    late: dict[int, str] = field(default_factory=dict)
    """Ids of late answers to the first copies of parts whose next copy is on its way."""

    @property
    def uncertain(self) -> list[int]:
        """The parts that were written, and are not on their way again."""
        item = self.item
        if item is None or item.to_send is None:
            return []
        return sorted(item.withheld.union(item.doubtful.intersection(item.to_send)))


class Doubts:
    """The doubts of the messages of all lanes, by key and by number."""

    __slots__ = ("_by_key", "_by_number")

    def __init__(self) -> None:
        self._by_key: dict[int, Doubt] = {}
        self._by_number: dict[tuple[int, str], list[int]] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    def of(self, key: int, connector: int) -> Doubt | None:
        """The doubt about a message's parts at this connector."""
        doubt = self._by_key.get(key)
        return doubt if doubt is not None and doubt.connector == connector else None

    def note(self, item: Item, connector: int, copies: int) -> Doubt:
        """So many more parts of the item were written and not answered for."""
        key = item.message.key
        doubt = self.of(key, connector)
        if doubt is None:
            self.forget(key)
            doubt = self._by_key[key] = Doubt(connector, item.message.destination)
            self._by_number.setdefault((connector, doubt.destination), []).append(key)
            if len(self._by_key) > MOST_DOUBTS:
                self.forget(next(iter(self._by_key)))
        doubt.item, doubt.queued = item, False
        doubt.copies += copies
        return doubt

    def at(self, connector: int, number: str) -> list[Doubt]:
        """The doubts about messages to a number, as a receipt writes it."""
        keys = self._by_number.get((connector, number)) or self._by_number.get((connector, number.lstrip("+0")), [])
        return [self._by_key[key] for key in keys]

    def forget(self, key: int) -> None:
        """Harmless when there is none."""
        doubt = self._by_key.pop(key, None)
        if doubt is None:
            return
        doubt.item = None
        name = (doubt.connector, doubt.destination)
        self._by_number[name].remove(key)
        if not self._by_number[name]:
            del self._by_number[name]
