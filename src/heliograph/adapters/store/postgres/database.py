"""The runner of the database: operations, run on a connection of the pool."""

from collections.abc import Callable
from typing import Any, TypeVar, assert_never

from heliograph.adapters.store.postgres.connections import Pool, Work
from heliograph.adapters.store.postgres.db import Db
from heliograph.adapters.store.postgres.driver import drive
from heliograph.adapters.store.postgres.faults import FAULTS, translated
from heliograph.adapters.store.postgres.servers import Servers
from heliograph.adapters.store.shared.steps import RunMode, Steps
from heliograph.app.ports import Unavailable

R = TypeVar("R")


class Database:
    """A database on one or more servers."""

    def __init__(self, servers: Servers) -> None:
        self.servers = servers
        self.pool = Pool(servers)
        self._closed = False

    async def run(self, mode: RunMode, operation: Callable[[], Steps[R]]) -> R:
        """Runs the operation on a free connection. Raises Unavailable, and the exceptions of the operation."""
        if self.servers.guard is not None:
            self.servers.guard.check()

        def work(db: Db) -> Any:
            return drive(db, operation)

        match mode:
            case RunMode.WRITE | RunMode.BATCH:
                return await self.pool.write(work)
            case RunMode.CLAIM:
                return await self.pool.write(work, patient=True)
            case RunMode.READ | RunMode.BROWSE:
                return await self.pool.look(work)
            case RunMode.LOOKUP | RunMode.GLANCE | RunMode.LISTING:
                return await self.pool.read(work)
            case RunMode.SCAN:
                return await self.scan(work)
            case _:
                assert_never(mode)

    async def scan(self, work: Work[R]) -> R:
        """Runs for as long as a scan of all rows takes, on a connection of its own and in a single snapshot."""
        if self._closed:
            raise Unavailable("the store is closed")
        db = await self.servers.connect(patient=True, enable_seqscan="on")
        try:
            async with db.transaction(isolation="repeatable_read", readonly=True):
                return await work(db)
        except FAULTS as fault:
            raise translated(fault) from fault
        finally:
            db.terminate()

    async def close(self) -> None:
        """Closes the connections; later questions raise Unavailable."""
        self._closed = True
        await self.pool.close()
