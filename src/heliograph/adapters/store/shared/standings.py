"""Conditions on rows that a search by status has, for both stores."""

from heliograph.domain.message import State
from heliograph.domain.status import STATE_OF, MessageStatus

LATEST = (1 << 62, 1 << 62)
"""A place (time and key) after every message."""

_FINALS = {MessageStatus.UNDER_WAY: 0, MessageStatus.DELIVERED: 1, MessageStatus.UNDELIVERED: 2}

STANDINGS: dict[MessageStatus, tuple[State, int | None]] = {
    status: (state, _FINALS.get(status)) for status, state in STATE_OF.items()
}
"""By status: the state of its messages, and the number of the condition on the final: 0 none, 1 DELIVRD, 2 another."""
