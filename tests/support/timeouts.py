"""Offers the timeouts of tests, long enough for slow and busy machines. A shorter timeout proves no more."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

Found = TypeVar("Found")

PATIENCE_S = 60.0
"""Seconds to wait for a condition, an answer, a page."""

COMMAND_S = 120.0
"""Seconds to wait for a program that starts, does its work and ends."""

REST = 2.0
"""Length of the pause between two looks at a condition, as a multiple of the time that the look took. At most a third
of the time goes into looks: the processor time of a command or a page is missing where the condition is worked at."""

_SHORTEST_PAUSE_S = 0.01


async def until(look: Callable[[], Awaitable[Found | None]], what: str, seconds: float = PATIENCE_S) -> Found:
    """Awaits `look` again and again until its result is true, and returns that. Fails the test after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        began = time.monotonic()
        if found := await look():
            return found
        if (now := time.monotonic()) > deadline:
            raise AssertionError(f"after {seconds:g} s still not: {what}")
        await asyncio.sleep(max(_SHORTEST_PAUSE_S, REST * (now - began)))
