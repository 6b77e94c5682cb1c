"""Ends tasks and processes."""

import asyncio
from typing import Any

CANCEL_AGAIN_S = 0.1
"""Seconds until a task that was cancelled, and goes on, is cancelled again."""

DEEPEST = 12
"""Most coroutines of a task in a description, from the outermost on."""


async def end(task: asyncio.Task[None]) -> None:
    """Cancels a task until it has ended. `asyncio.wait_for` of Python 3.11 loses a cancellation that comes together
    with its result; a task in a loop would then never end.
    """
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=CANCEL_AGAIN_S)
    if not task.cancelled():
        task.exception()  # it has been logged


def whereabouts(task: asyncio.Task[Any]) -> str:
    """Describes where a task waits: its coroutines, the outermost first. Compiled coroutines are missing."""
    places: list[str] = []
    coroutine: Any = task.get_coro()
    while coroutine is not None and len(places) < DEEPEST:
        frame = getattr(coroutine, "cr_frame", None)
        if frame is not None:
            places.append(f"{frame.f_code.co_name}:{frame.f_lineno}")
        coroutine = getattr(coroutine, "cr_await", None)
    return " > ".join(places)
