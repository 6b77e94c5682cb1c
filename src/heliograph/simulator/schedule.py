"""Timed tasks: a single heap and timer for all responses and receipts, instead of a timer for each message."""

import asyncio
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final

GRAIN_S: Final = 0.001
"""Tasks that fall due within this time run together."""

Task = Callable[[], None]


class Schedule:
    """Runs tasks at their times. Tasks of the same time run in the order in which they were added."""

    __slots__ = ("_after", "_heap", "_loop", "_next", "_running", "_timer", "_turn")

    def __init__(self, loop: asyncio.AbstractEventLoop, after: Task) -> None:
        """`after` is called once after each round of tasks."""
        self._loop = loop
        self._after = after
        self._heap: list[tuple[float, int, Task]] = []
        self._turn = 0
        self._timer: asyncio.TimerHandle | None = None
        self._next = 0.0
        self._running = False

    def __len__(self) -> int:
        return len(self._heap)

    def put(self, at: float, task: Task) -> None:
        """`at` is by the loop's clock, in seconds."""
        self._turn += 1
        heappush(self._heap, (at, self._turn, task))
        if self._running:
            return
        if self._timer is None:
            self._arm(at)
        elif at < self._next - GRAIN_S:
            self._timer.cancel()
            self._arm(at)

    def close(self) -> None:
        """Drops every task that has not run."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._heap.clear()

    def _arm(self, at: float) -> None:
        self._next = max(at, self._loop.time() + GRAIN_S)
        self._timer = self._loop.call_at(self._next, self._run)

    def _run(self) -> None:
        heap = self._heap
        now = self._loop.time()
        # Tasks added by a task wait for the next round, so that no round lasts for ever.
        turn = self._turn
        self._running = True
        try:
            while heap and heap[0][0] <= now and heap[0][1] <= turn:
                heappop(heap)[2]()
            self._after()
        finally:
            self._running = False
            self._timer = None
            if heap:
                self._arm(heap[0][0])
