"""The runner of the file: operations of the event loop, run by the writer's or a reader's thread."""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, assert_never, cast

from heliograph.adapters.store.shared.steps import RunMode, Steps
from heliograph.adapters.store.sqlite.driver import drive
from heliograph.adapters.store.sqlite.log import lengthen
from heliograph.adapters.store.sqlite.loop_commit import LoopConnection
from heliograph.adapters.store.sqlite.worker import FileConnection, Worker
from heliograph.app.ports import PastGuard

R = TypeVar("R")


class Threads:
    """Runs operations in three threads, each with its own connection, and on the loop's connection if the disk is
    quick."""

    def __init__(
        self, path: Path, busy_ms: int, calls: int, on_loop: LoopConnection | None, guard: PastGuard | None = None
    ) -> None:
        """Starts the threads. At most `calls` wait for each; a further call raises Unavailable."""
        self._path = path
        self.guard = guard
        self._busy_ms = busy_ms
        self.on_loop = on_loop
        self.writer = Worker("store-writer", FileConnection(path, busy_ms, read_only=False), calls)
        self.reader = Worker("store-reader", FileConnection(path, busy_ms, read_only=True), calls)
        # searches by people are slow: the gateway's own reads do not wait for them
        self.searcher = Worker("store-searcher", FileConnection(path, busy_ms, read_only=True), calls)

    async def run(self, mode: RunMode, operation: Callable[[], Steps[R]]) -> R:
        """Runs the operation in its thread. Raises Unavailable, and the exceptions of the operation."""
        if self.guard is not None:
            self.guard.check()
        match mode:
            case RunMode.WRITE | RunMode.BATCH | RunMode.CLAIM:
                return await self.writer.transact(drive, operation)
            case RunMode.READ:
                return await self.reader.transact(drive, operation)
            case RunMode.LOOKUP:
                return await self.reader.look(drive, operation)
            case RunMode.GLANCE:
                # on a fast disk this takes less time here than a handover to the thread
                if self.on_loop is not None:
                    done, result = self.on_loop.try_look(drive, operation)
                    if done:
                        return cast("R", result)
                return await self.reader.look(drive, operation)
            case RunMode.BROWSE:
                return await self.searcher.transact(drive, operation)
            case RunMode.LISTING:
                return await self.searcher.look(drive, operation)
            case RunMode.SCAN:
                return await asyncio.to_thread(self._scan, operation)
            case _:
                assert_never(mode)

    async def empty_log(self, work: Callable[[sqlite3.Connection], bool]) -> bool:
        """Runs `work`, which empties the log, in the writer's thread and outside of a transaction; then allocates the
        log again. Raises Unavailable."""
        if not await self.writer.look(work):
            return False
        await self.writer.transact(lengthen, self._path)
        return True

    def _scan(self, operation: Callable[[], Steps[R]]) -> R:
        """Runs for as long as a scan of all rows takes, on a connection of its own. Other calls do not wait for it."""
        connection = FileConnection(self._path, self._busy_ms, read_only=True)
        try:
            return connection.transact(drive, operation)
        finally:
            connection.close()

    async def close(self) -> None:
        """Finishes the calls made before, then stops the threads. Later calls raise Unavailable."""
        if self.on_loop is not None:
            self.on_loop.close()
            self.on_loop = None
        await self.searcher.close()
        await self.reader.close()
        await self.writer.close()
