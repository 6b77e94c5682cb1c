"""Message status: a word for state and delivery, by which users search."""

from enum import StrEnum
from typing import assert_never

from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import State


class MessageStatus(StrEnum):
    """Status of a message."""

    SCHEDULED = "scheduled"
    PENDING = "pending"
    """Accepted, but an operator does not have all parts yet: it waits for its connector, or for its turn."""
    HELD = "held"
    """Accepted, and held: by the pumping guard, by an administrator, or because its account is suspended."""
    SUBMITTED = "submitted"
    """Accepted by an operator, without a receipt so far. It stays so if no receipt was asked for."""
    DELIVERED = "delivered"
    UNDELIVERED = "undelivered"
    """Left the gateway, and ended in another final state than DELIVRD."""
    FAILED = "failed"
    """Refunded, because it never left the gateway."""
    CANCELLED = "cancelled"


def status_of(state: int, delivery: Delivery | None, *, submitted: bool, held: bool = False) -> MessageStatus:
    """Returns the status of a message in this state. `delivery`: its final state, if it has one. `submitted`: operators
    accepted all of its parts. `held`: its row of the queue is held.
    """
    if held:
        return MessageStatus.HELD
    match known := State(state):
        case State.SCHEDULED:
            return MessageStatus.SCHEDULED
        case State.CANCELLED:
            return MessageStatus.CANCELLED
        case State.FAILED:
            return MessageStatus.FAILED
        case State.SENT:
            if delivery is None:
                return MessageStatus.SUBMITTED if submitted else MessageStatus.PENDING
            return MessageStatus.DELIVERED if delivery is Delivery.DELIVRD else MessageStatus.UNDELIVERED
        case _:
            assert_never(known)


STATE_OF: dict[MessageStatus, State] = {
    status_of(state, delivery, submitted=submitted): state
    for state in State
    for delivery in (None, *Delivery)
    for submitted in (False, True)
}
"""States by the status of their messages. Held messages are in any state that waits."""
