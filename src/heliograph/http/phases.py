"""Phases of a connection, by what it waits for, and how long a client may take in each."""

from typing import Final

from heliograph.http import limits

IDLE: Final = 0
"""For a request."""
HEAD: Final = 1
"""For the rest of a head."""
BODY: Final = 2
"""For the rest of a body."""
ANSWER: Final = 3
"""For our answer."""
LEAVING: Final = 4
"""For the client's end after our last answer."""


def patience(phase: int) -> float:
    """Returns the seconds that a client may take for what it is to do in this phase; we may take any time to answer."""
    if phase == IDLE:
        return limits.IDLE_TIMEOUT_S
    if phase == HEAD:
        return limits.HEAD_TIMEOUT_S
    if phase == BODY:
        return limits.BODY_TIMEOUT_S
    return limits.LEAVE_TIMEOUT_S if phase == LEAVING else float("inf")
