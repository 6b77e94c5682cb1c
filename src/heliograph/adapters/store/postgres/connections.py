"""Connections, and transactions on them that come to a known end."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from math import inf
from typing import TypeVar

from heliograph.adapters.store.postgres.db import Db
from heliograph.adapters.store.postgres.faults import FAULTS, is_elsewhere, is_loss, is_passing, translated
from heliograph.adapters.store.postgres.servers import Servers
from heliograph.app.ports import Fenced, Unavailable

R = TypeVar("R")

TRIES = 8
"""Attempts at a transaction that conflicts with others."""

_BEGIN = "BEGIN; UPDATE writer SET seq = {seq} WHERE id = {writer} AND NOT over"

_RECONNECT_S = (0.1, 1.0)
"""Seconds between two attempts to find out the outcome of a transaction: the first pause, and the longest."""

PLANS_S = 10.0
"""Seconds that plans are kept. A plan that was made while a table was all but empty reads the whole of it, and some
tables go from empty to millions of rows within minutes: the queue, when an operator is down."""

Work = Callable[[Db], Awaitable[R]]


class Writer:
    """A connection with its row in the table `writer`. The row is its fencing token, and shows whether a lost COMMIT
    was done."""

    __slots__ = ("_planned", "db", "id", "seq", "timeline")

    def __init__(self, db: Db, number: int, timeline: int) -> None:
        self.db = db
        self.id = number
        self.timeline = timeline
        self.seq = 0
        self._planned = time.monotonic()

    @classmethod
    async def open(cls, servers: Servers, node: int | None) -> "Writer":
        """Opens a connection and enters it among the writers. Raises Unavailable, and Fenced if `node` is gone."""
        db = await servers.connect()
        timeline = servers.timeline
        number = secrets.randbits(62)
        try:
            # the time is used only to delete rows of vanished writers
            entered = await db.fetchval("SELECT enter_writer($1, $2, $3)", number, node, int(time.time() * 1000))
        except Exception as fault:
            db.terminate()
            raise translated(fault) from fault
        except BaseException:
            db.terminate()
            raise
        if not entered:
            db.terminate()
            raise Fenced("the work of this node was given to others")
        return cls(db, number, timeline)

    async def replan(self) -> None:
        """Drops plans that are too old. Must be called before each use."""
        if (now := time.monotonic()) - self._planned >= PLANS_S:
            self._planned = now
            await self.db.execute("DISCARD PLANS")

    async def close(self) -> None:
        """Removes the writer's row, if the connection still works, and closes the connection."""
        try:
            await self.db.execute("DELETE FROM writer WHERE id = $1", self.id)
            await self.db.close(timeout=1)
        except FAULTS:
            self.db.terminate()

    async def transact(self, work: Work[R]) -> R:
        """Runs `work` in one transaction, and writes its number into the writer's row.

        Raises Unresolved if the connection was lost after COMMIT was sent. A loss before that is raised as it came:
        nothing was done. A cancelled caller does not learn whether the transaction was committed.
        """
        db = self.db
        self.seq += 1
        try:
            # two statements in a single round trip; both numbers are our own, so nothing needs quoting
            done = await db.execute(_BEGIN.format(seq=self.seq, writer=self.id))
            if done == "UPDATE 0":
                raise Fenced("the work of this node was given to others")  # noqa: TRY301 - undone below as any fault
            result = await work(db)
        except BaseException as fault:
            await self._undo(fault)
            raise
        try:
            await db.execute("COMMIT")
        except BaseException as fault:
            if is_loss(fault):
                db.terminate()
                raise Unresolved(self.id, self.seq) from fault
            await self._undo(fault)
            raise
        return result

    async def _undo(self, fault: BaseException) -> None:
        if self.db.is_closed() or is_loss(fault) or not isinstance(fault, Exception):
            self.db.terminate()
            return
        try:
            await self.db.execute("ROLLBACK")
        except FAULTS:
            self.db.terminate()


class Unresolved(Unavailable):
    """The connection was lost before the answer to COMMIT. The writer's row shows whether the commit was done."""

    def __init__(self, writer: int, seq: int) -> None:
        super().__init__("the connection was lost in the middle of a commit")
        self.writer = writer
        self.seq = seq


async def resolve(servers: Servers, writer: int, seq: int, *, patient: bool = False) -> bool:
    """Returns whether the writer's transaction of this number was committed, and fences the writer.

    Waits for the row while a transaction still holds it; afterwards no transaction of that writer can begin. Raises
    Unavailable if the database does not tell in time, Fenced if the row is gone. `patient`: waits for as long as the
    database is away.
    """
    deadline = inf if patient else time.monotonic() + servers.limits.resolve
    pause, longest = _RECONNECT_S
    while True:
        try:
            db = await servers.connect()
            try:
                # a repetition is harmless: this answer may be lost, too
                reached = await db.fetchval("UPDATE writer SET over = true WHERE id = $1 RETURNING seq", writer)
            finally:
                db.terminate()
        except Exception as fault:
            outage = translated(fault)
            if not isinstance(outage, Unavailable) or isinstance(outage, Fenced):
                raise
            if time.monotonic() >= deadline:
                raise outage from fault
            await asyncio.sleep(pause)
            if patient:
                pause = min(2 * pause, longest)
            continue
        if reached is None:
            raise Fenced("the work of this node was given to others")
        return bool(reached >= seq)


class Pool:
    """Connections for everything but recording."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._limits = limits = servers.limits
        self._idle: list[Writer] = []
        self._used: set[Writer] = set()
        self._free = asyncio.Semaphore(limits.pool)
        self._waiting = 0
        self._closed = False

    async def read(self, work: Work[R]) -> R:
        """Runs `work`, a single statement. Runs it again if the connection turns out to be lost."""
        for last in (False, True):
            try:
                async with self._use() as writer:
                    return await work(writer.db)
            except Exception as fault:
                if not is_loss(fault) or last:
                    raise translated(fault) from fault
                self.forget()
        raise AssertionError("not reached")

    async def look(self, work: Work[R]) -> R:
        """Runs `work`, several statements that see the same snapshot."""

        async def run(db: Db) -> R:
            async with db.transaction(isolation="repeatable_read", readonly=True):
                return await work(db)

        return await self.read(run)

    async def write(self, work: Work[R], *, patient: bool = False) -> R:
        """Runs `work` in a transaction, again after a conflict.

        If the connection is lost during COMMIT, `resolve` finds out whether the commit was done. Raises Unavailable of
        a transaction that may have been done only if that takes too long, and never if it is `patient`.
        """
        tries = 0
        while True:
            tries += 1
            result: list[R] = []

            async def run(db: Db, result: list[R] = result) -> R:
                result.append(await work(db))
                return result[0]

            try:
                async with self._use() as writer:
                    return await writer.transact(run)
            except Unresolved as doubt:
                self.forget()
                if await resolve(self._servers, doubt.writer, doubt.seq, patient=patient):
                    return result[0]
            except Exception as fault:
                again = is_passing(fault) or is_loss(fault)
                if not again or tries >= (TRIES if is_passing(fault) else 2):
                    raise translated(fault) from fault
                if is_loss(fault):
                    self.forget()
                else:
                    await asyncio.sleep(0.002 * tries * (1 + secrets.randbelow(100) / 100))
            if tries >= TRIES:
                raise Unavailable("the connection to the database is lost again and again")

    async def close(self) -> None:
        self._closed = True
        idle, self._idle = self._idle, []
        for writer in idle:
            await writer.close()

    @asynccontextmanager
    async def _use(self) -> AsyncIterator[Writer]:
        self._check_open()
        if self._waiting >= self._limits.waiting:
            raise Unavailable("too many calls wait for the database")
        self._waiting += 1
        try:
            async with asyncio.timeout(self._limits.acquire):
                await self._free.acquire()
        except TimeoutError:
            raise Unavailable("no connection to the database came free in time") from None
        finally:
            self._waiting -= 1
        try:
            self._check_open()
            writer = self._take() or await Writer.open(self._servers, None)
            self._used.add(writer)
            try:
                await writer.replan()
                yield writer
            except BaseException as fault:
                if is_loss(fault) or is_elsewhere(fault) or not isinstance(fault, Exception):
                    writer.db.terminate()
                raise
            finally:
                self._used.discard(writer)
                if self._closed:
                    await writer.close()
                elif not writer.db.is_closed():
                    self._idle.append(writer)
        finally:
            self._free.release()

    def _check_open(self) -> None:
        if self._closed:
            raise Unavailable("the store is closed")

    def _take(self) -> Writer | None:
        while self._idle:
            writer = self._idle.pop()
            if not writer.db.is_closed():
                return writer
        return None

    def cut(self, below: int | None = None) -> None:
        """Terminates connections, so that calls under way fail as after a loss.

        `below`: only connections to servers of an earlier timeline, such as a former primary.
        """
        for writer in [*self._idle, *self._used]:
            if below is None or writer.timeline < below:
                writer.db.terminate()

    def forget(self) -> None:
        """Terminates idle connections. If a connection was lost, the others usually are too, and have not noticed."""
        idle, self._idle = self._idle, []
        for writer in idle:
            writer.db.terminate()
