"""The lull between two commits: what others send can wait, so that those who were just answered are heard first."""

import asyncio
from collections.abc import Callable

LULL_S = 0.008
"""Seconds that a lull lasts at most. As a rule the next commit ends it sooner, a quarter as long after the last one."""


class Lull:
    """While a store writes a commit that it was sent, the loop has little to do: customers wait for their answers. When
    they have them, all send again at once. What operators say before the next commit is on its way would only delay it:
    so it waits until then, and is looked at while the store writes.

    Belongs to one loop.
    """

    __slots__ = ("_timer", "_waiting")

    def __init__(self) -> None:
        self._waiting: list[Callable[[], None]] = []
        self._timer: asyncio.TimerHandle | None = None

    @property
    def on(self) -> bool:
        """Whether what can wait is to wait."""
        return self._timer is not None

    def begin(self) -> None:
        """From now on what can wait is to wait."""
        if not self.on:
            self._timer = asyncio.get_running_loop().call_later(LULL_S, self.end)

    def end(self) -> None:
        """What waited goes on, in the loop's next turn."""
        if self._timer is None:
            return
        self._timer.cancel()
        self._timer = None
        waiting, self._waiting = self._waiting, []
        call_soon = asyncio.get_running_loop().call_soon
        for go_on in waiting:
            call_soon(go_on)

    def call_soon(self, go_on: Callable[[], None]) -> None:
        """Calls it in the loop's next turn, or in the one after the lull."""
        if self.on:
            self._waiting.append(go_on)
        else:
            asyncio.get_running_loop().call_soon(go_on)
