"""What people search messages by, as both stores ask their rows for it."""

from heliograph.app.admin.oversight import Standing
from heliograph.domain.message import State

LATEST = (1 << 62, 1 << 62)
"""A place (time and key) after every message."""

STANDINGS: dict[Standing, tuple[State, int | None]] = {
    Standing.SCHEDULED: (State.SCHEDULED, None),
    Standing.CANCELLED: (State.CANCELLED, None),
    Standing.FAILED: (State.FAILED, None),
    Standing.UNDER_WAY: (State.SENT, 0),
    Standing.DELIVERED: (State.SENT, 1),
    Standing.UNDELIVERED: (State.SENT, 2),
}
"""What a standing asks of the message's state, and of its final: 0 for none, 1 for DELIVRD, 2 for another."""
