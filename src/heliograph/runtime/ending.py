"""Ends tasks and processes."""

import asyncio
from typing import Any

CANCEL_AGAIN_S = 0.1
"""Seconds until a task that was cancelled, and goes on, is cancelled again."""

DEEPEST = 12
"""Coroutines of a task, from the outermost on, that are told of."""


async def end(task: asyncio.Task[None]) -> None:
    """Cancels a task until it has ended, however: `asyncio.wait_for` of Python 3.11 loses a cancellation that comes in
    the moment in which what it waits for is there, and a task that goes round and round would never end."""
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=CANCEL_AGAIN_S)
    if not task.cancelled():
        task.exception()  # it has been told of


def whereabouts(task: asyncio.Task[Any]) -> str:
    """Says where a task stands: what its coroutines wait for, the outermost first. Compiled ones do not tell."""
    places: list[str] = []
    coroutine: Any = task.get_coro()
    while coroutine is not None and len(places) < DEEPEST:
        frame = getattr(coroutine, "cr_frame", None)
        if frame is not None:
            places.append(f"{frame.f_code.co_name}:{frame.f_lineno}")
        coroutine = getattr(coroutine, "cr_await", None)
    return " > ".join(places)
