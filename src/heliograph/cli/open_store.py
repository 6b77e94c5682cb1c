"""The store of this machine, opened for a command. Its event loop runs only during a use case."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from heliograph.app.resources.desk import Desk
from heliograph.composition import commands
from heliograph.config import Settings

Answer = TypeVar("Answer")


class OpenStore:
    """A desk on the store of this machine."""

    def __init__(self, settings: Settings) -> None:
        """Opens the store. Raises Unavailable, and OSError."""
        self._runner = asyncio.Runner()
        self._open = commands.open_desk(settings)
        try:
            self._desk = self._runner.run(self._open.__aenter__())
        except BaseException:
            self._runner.close()
            raise

    def run(self, work: Callable[[Desk], Awaitable[Answer]]) -> Answer:
        async def running() -> Answer:
            return await work(self._desk)

        return self._runner.run(running())

    def close(self) -> None:
        try:
            self._runner.run(self._open.__aexit__(None, None, None))
        finally:
            self._runner.close()
