"""What people search messages by, as both stores ask their rows for it."""

from heliograph.domain.message import State
from heliograph.domain.status import STATE_OF, MessageStatus

LATEST = (1 << 62, 1 << 62)
"""A place (time and key) after every message."""

_FINALS = {MessageStatus.UNDER_WAY: 0, MessageStatus.DELIVERED: 1, MessageStatus.UNDELIVERED: 2}

STANDINGS: dict[MessageStatus, tuple[State, int | None]] = {
    status: (state, _FINALS.get(status)) for status, state in STATE_OF.items()
}
"""What a status asks of the message's state, and of its final: 0 for none, 1 for DELIVRD, 2 for another."""
