"""Messages of an accepted request that fail at once, since their recipients opted out."""

from collections.abc import Iterable

from heliograph.app.facts import Accept, Message
from heliograph.domain.message.state import State


def fail_at_once(message: Message) -> None:
    """Makes the message fail at no cost."""
    message.state, message.price, message.queued = State.FAILED, 0, False


def withhold(accept: Accept, numbers: Iterable[int]) -> None:
    """Makes these messages (from 0) of an accepted request fail, as they are stored."""
    for number in numbers:
        message = accept.messages[number]
        accept.total -= message.price
        fail_at_once(message)
