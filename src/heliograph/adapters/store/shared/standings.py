"""What people search messages by, as both stores ask their rows for it."""

from heliograph.app.admin.oversight import MessageStatus
from heliograph.domain.message import State

LATEST = (1 << 62, 1 << 62)
"""A place (time and key) after every message."""

STANDINGS: dict[MessageStatus, tuple[State, int | None]] = {
    MessageStatus.SCHEDULED: (State.SCHEDULED, None),
    MessageStatus.CANCELLED: (State.CANCELLED, None),
    MessageStatus.FAILED: (State.FAILED, None),
    MessageStatus.UNDER_WAY: (State.SENT, 0),
    MessageStatus.DELIVERED: (State.SENT, 1),
    MessageStatus.UNDELIVERED: (State.SENT, 2),
}
"""What a standing asks of the message's state, and of its final: 0 for none, 1 for DELIVRD, 2 for another."""
