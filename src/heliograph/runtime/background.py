"""A task that goes on beside the others until it is stopped."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

Work = Callable[[], Coroutine[Any, Any, None]]


def every(seconds: float, work: Work) -> Work:
    """Returns work that waits so long and then does `work`, again and again."""

    async def go_on() -> None:
        while True:
            await asyncio.sleep(seconds)
            await work()

    return go_on


class Background:
    """Runs `work` as a task with its own name."""

    def __init__(self, name: str, work: Work) -> None:
        """Does nothing yet; `start` begins."""
        self._name = name
        self._work = work
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._work(), name=self._name)

    async def stop(self) -> None:
        """Cancels the task, if it was started, and waits for its end."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
