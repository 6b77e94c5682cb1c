"""Tasks: background work, the cancellation of a task, and a description of where a task waits."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

CANCEL_AGAIN_S = 0.1
"""Seconds until a task that was cancelled, and goes on, is cancelled again."""

DEEPEST = 12
"""Most coroutines of a task in a description, from the outermost on."""

Work = Callable[[], Coroutine[Any, Any, None]]

Watch = Callable[[asyncio.Task[None]], None]
"""Takes a task that must not end by an error, such as `Engine.watch`."""


def every(seconds: float, work: Work) -> Work:
    """Returns a coroutine function that repeats: wait for these seconds, then do `work`.

    If it is cancelled, `work` that has begun comes to its end first. Otherwise a write at the end would repeat its call
    of the store, which may be done although the caller was cancelled.
    """

    async def go_on() -> None:
        while True:
            await asyncio.sleep(seconds)
            begun = asyncio.ensure_future(work())
            try:
                await asyncio.shield(begun)
            except asyncio.CancelledError:
                await asyncio.wait([begun])
                raise

    return go_on


class Background:
    """Runs `work` as a task with its own name."""

    def __init__(self, name: str, work: Work) -> None:
        """The task does nothing until `start`."""
        self._name = name
        self._work = work
        self._task: asyncio.Task[None] | None = None

    def start(self, watch: Watch) -> None:
        """Nothing else notices an error that ends the task."""
        self._task = asyncio.create_task(self._work(), name=self._name)
        watch(self._task)

    async def stop(self) -> None:
        """Cancels the task, if it was started, and waits for its end."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])


async def end(task: asyncio.Task[Any]) -> None:
    """Cancels a task until it has ended. `asyncio.wait_for` of Python 3.11 loses a cancellation that arrives together
    with its result. A task in a loop would then never end."""
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=CANCEL_AGAIN_S)
    if not task.cancelled():
        task.exception()  # it has been logged


def whereabouts(task: asyncio.Task[Any]) -> str:
    """Describes where a task waits: its coroutines, the outermost first, for example `run:88 > record:71`. Compiled
    coroutines are missing."""
    frames: list[str] = []
    coroutine: Any = task.get_coro()
    while coroutine is not None and len(frames) < DEEPEST:
        frame = getattr(coroutine, "cr_frame", None)
        if frame is not None:
            frames.append(f"{frame.f_code.co_name}:{frame.f_lineno}")
        coroutine = getattr(coroutine, "cr_await", None)
    return " > ".join(frames)
