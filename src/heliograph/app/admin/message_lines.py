"""Messages to phones and from phones as lines of one list, the newest first."""

from collections.abc import Iterable
from dataclasses import dataclass

from heliograph.app.records import Hit, InboundRecord
from heliograph.domain.message import ids

END = 1 << 62
"""A key, and a time, after all."""


@dataclass(slots=True)
class MessageLine:
    """One message by its key: `sent` to a phone, or `received` from one."""

    key: int
    sent: Hit | None = None
    received: InboundRecord | None = None

    @property
    def at(self) -> int:
        """Time at which it was accepted, or came."""
        return ids.time_of(self.key) if self.received is None else self.received.message.at


def merged(
    sent: Iterable[Hit], received: Iterable[InboundRecord], back_to: int, limit: int
) -> tuple[list[MessageLine], int | None]:
    """Returns a page of up to `limit` lines, and the key below which the next one begins, None at the end. `back_to` is
    the key back to which both sides were looked at, 0 where that is all: what is older is left to the next page."""
    lines = [MessageLine(hit.message.key, sent=hit) for hit in sent]
    lines += [MessageLine(each.message.key, received=each) for each in received]
    lines = sorted((line for line in lines if line.key >= back_to), key=lambda line: -line.key)
    if len(lines) > limit:
        lines = lines[:limit]
        back_to = lines[-1].key
    return lines, back_to or None
