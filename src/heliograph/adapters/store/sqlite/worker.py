"""Connections to the file, and threads that run the event loop's calls on them."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import Full, Queue
from typing import Concatenate, ParamSpec, TypeVar

from heliograph.adapters.store.sqlite.connection import connect, is_outage, is_passing, primary_code, reason_of
from heliograph.app.ports import Unavailable

P = ParamSpec("P")
R = TypeVar("R")

_BUSY_PAUSE = 0.005
"""Seconds between two tries if SQLite does not wait by itself."""


class FileConnection:
    """A connection to the file that is opened anew after a fault. Used by a single thread."""

    def __init__(self, path: Path, busy_ms: int, *, read_only: bool) -> None:
        self._path = path
        self._busy_ms = busy_ms
        self._read_only = read_only
        self._begin = "BEGIN" if read_only else "BEGIN IMMEDIATE"
        self._db: sqlite3.Connection | None = None
        self.committing_s = 0.0
        """Total seconds of commits; readers may set it to 0."""

    def transact(self, work: Callable[Concatenate[sqlite3.Connection, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs `work` in a transaction, and returns when it is durable. If this raises, nothing was done.

        Raises Unavailable when the file cannot be read or written now; any other exception is `work`'s own.
        """
        try:
            db = self._open()
            self._start(db)
            result = work(db, *args, **kwargs)
            started = time.perf_counter()
            db.execute("COMMIT")
            self.committing_s += time.perf_counter() - started
        except BaseException as fault:
            self._give_up(fault)
            raise
        return result

    def look(self, work: Callable[Concatenate[sqlite3.Connection, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs `work`, a single statement that reads. It needs no transaction to see a single state of the file.

        Each statement releases the interpreter's lock and waits for it again; a transaction would triple that. Raises
        as `transact` does.
        """
        try:
            return work(self._open(), *args, **kwargs)
        except BaseException as fault:
            self._give_up(fault)
            raise

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            self._db = connect(self._path, self._busy_ms, read_only=self._read_only)
        return self._db

    def _start(self, db: sqlite3.Connection) -> None:
        deadline = time.monotonic() + self._busy_ms / 1000
        while True:
            try:
                db.execute(self._begin)
            except sqlite3.OperationalError as fault:
                if primary_code(fault) != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                    raise
                time.sleep(_BUSY_PAUSE)
            else:
                return

    def _give_up(self, fault: BaseException) -> None:
        """Rolls back, and closes the connection if it may be at fault. Raises Unavailable if the file is at fault."""
        try:
            if self._db is not None and self._db.in_transaction:
                self._db.execute("ROLLBACK")
        except sqlite3.Error:
            self.close()
        if is_outage(fault):
            if not (isinstance(fault, sqlite3.Error) and is_passing(fault)):
                self.close()
            raise Unavailable(f"the store cannot be used: {reason_of(fault)}") from fault


class Worker:
    """Runs calls in turn in a thread, so that the event loop never waits for them."""

    def __init__(self, name: str, connection: FileConnection, limit: int) -> None:
        """Starts the thread. At most `limit` calls wait; a further call raises Unavailable."""
        self._connection = connection
        self._calls: Queue[Callable[[], None] | None] = Queue(limit)
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    async def transact(
        self, work: Callable[Concatenate[sqlite3.Connection, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Runs `FileConnection.transact` in the thread."""
        return await self.call(lambda connection: connection.transact(work, *args, **kwargs))

    async def look(self, work: Callable[Concatenate[sqlite3.Connection, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs `FileConnection.look` in the thread."""
        return await self.call(lambda connection: connection.look(work, *args, **kwargs))

    async def call(self, work: Callable[[FileConnection], R]) -> R:
        """Runs `work` in the thread. Raises Unavailable if too many calls wait already."""
        if self._closed:
            raise Unavailable("the store is closed")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[R] = loop.create_future()

        def run() -> None:
            try:
                result = work(self._connection)
            except BaseException as fault:  # noqa: BLE001 - the caller gets it
                _resolve(loop, future, None, fault)
            else:
                _resolve(loop, future, result, None)

        try:
            self._calls.put_nowait(run)
        except Full:
            raise Unavailable("too many calls wait for the store") from None
        return await future

    async def close(self) -> None:
        """Runs the waiting calls, then ends the thread and closes the connection. Harmless when repeated."""
        if not self._closed:
            self._closed = True
            await asyncio.to_thread(self._calls.put, None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            call()
            del call
        self._connection.close()


def _resolve(
    loop: asyncio.AbstractEventLoop, future: "asyncio.Future[R]", result: R | None, fault: BaseException | None
) -> None:
    def settle() -> None:
        if future.done():
            return
        if fault is not None:
            future.set_exception(fault)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    try:
        loop.call_soon_threadsafe(settle)
    except RuntimeError:
        # the loop is closed, and no caller waits
        return
