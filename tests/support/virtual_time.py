"""An event loop with virtual time, which passes only while no callback is ready. An hour takes as long as its events.

Code must not wait for the real world: for a thread or a socket.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

from tests.support.store import START

T = TypeVar("T")


class _Selector(selectors.SelectSelector):
    """Instead of waiting it lets time pass."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("nothing will ever happen any more")
        if timeout > 0:
            self.now += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now


class VirtualClock:
    """`app.ports.Clock` of the running loop. `ahead` is by how many ms the wall clock is wrong."""

    def __init__(self, start: int = START) -> None:
        self._start = start
        self.ahead = 0

    def now(self) -> int:
        return self._start + self.ahead + int(self.monotonic() * 1000)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs it in a world of its own time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
