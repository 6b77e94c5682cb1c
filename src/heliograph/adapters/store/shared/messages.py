"""Messages by their keys, for the operations of several ports."""

from collections.abc import Iterable

from heliograph.adapters.store.shared.rows import message_of
from heliograph.adapters.store.shared.steps import Q, Steps
from heliograph.app.facts import Message


def messages_of(keys: Iterable[int], *, queued: bool = False) -> Steps[list[Message]]:
    """Returns the messages of these keys, in that order. Missing messages are left out."""
    wanted = list(keys)
    if not wanted:
        return []
    rows = yield Q.messages(keys=wanted)
    found = {row[15]: row for row in rows}
    return [message_of(found[key], queued=queued) for key in wanted if key in found]
