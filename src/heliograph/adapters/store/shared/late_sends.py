"""Messages that an operator takes so late that their block may be closed already (`block_content`)."""

from collections.abc import Sequence
from typing import Final

from heliograph.app.facts import Submission
from heliograph.domain.message.ids import first_key_at

LATE_MS: Final = 10_000
"""Milliseconds: less than the age of the messages of a block (`upkeep.SETTLED_MS`), as a commit may be late."""


def late_sends(submissions: Sequence[Submission]) -> list[tuple[int, int]]:
    """Returns key and connector of messages, such as scheduled ones, whose block may lack the connector."""
    if not submissions:
        return []
    below = first_key_at(submissions[-1].at - LATE_MS)
    return [(each.key, each.connector) for each in submissions if each.key < below and not each.segment]
