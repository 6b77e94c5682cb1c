"""`app.ports.Leases`: which nodes are alive, and which worker numbers and bind slots they have."""

import asyncio
from typing import Final

from heliograph.adapters.store.postgres.database import Database
from heliograph.adapters.store.postgres.record import Recorder
from heliograph.adapters.store.shared.steps import Operations, Q, RunMode, Steps, first, read, write
from heliograph.app.ports.leases import SingleJob

KEPT_MS = 7 * 24 * 3_600_000
"""Milliseconds for which the rows of dead nodes are kept."""

_JOBS: Final = -1_000
"""A job is a bind slot of a connector with a number below this one, which no connector has."""

SILENT = 3
"""Heartbeats in a row without an answer after which running transactions are cut. Fewer also happen on an overloaded
machine, and cutting would make that worse."""


class PostgresLeases(Operations):
    def __init__(self, database: Database, recorder: Recorder) -> None:
        super().__init__(database)
        self._database = database
        self._recorder = recorder
        self._silent = 0
        """Count of heartbeats in a row that had no answer."""

    async def heartbeat(self, node: int, lasts: int) -> int | None:
        try:
            renewed = await self._database.run(RunMode.WRITE, lambda: _heartbeat(node, lasts))
        except asyncio.CancelledError:
            # The heartbeat timed out. A dead host closes no connection, so idle connections are dropped and replaced
            # next; after SILENT timeouts the running transactions are cut, too.
            self._database.pool.forget()
            self._silent += 1
            if self._silent >= SILENT:
                self._cut()
            raise
        self._silent = 0
        # after a failover the old primary never answers: cut the transactions that still wait for it
        self._cut(self._database.servers.timeline)
        return renewed

    def _cut(self, below: int | None = None) -> None:
        self._database.pool.cut(below)
        self._recorder.cut(below)

    @write
    def release_dead(self, deadline: int, ago: int = 0) -> Steps[list[int]]:
        yield Q.without_time_limit()
        rows = yield Q.release_dead(deadline=deadline, ago=ago, kept=KEPT_MS)
        return [node for (node,) in rows]

    @write
    def lease_worker(self, node: int) -> Steps[int | None]:
        ((number,),) = yield Q.lease_worker(node=node)
        return None if number is None else int(number)

    @read
    def gathered(self, start: int, end: int) -> Steps[tuple[list[int], int]]:
        ends = yield Q.ends_of_parts(start=start, end=end)
        keys = yield Q.gathered(keys=list(dict.fromkeys(key for (key,) in ends)), end=end)
        return [key for (key,) in keys], len(ends)

    @write
    def lease_binds(self, connector: int, node: int, binds: int, want: int) -> Steps[list[int]]:
        rows = yield Q.lease_binds(connector=connector, node=node, binds=binds, want=want)
        return sorted(slot for (slot,) in rows)

    @write
    def lease_job(self, job: SingleJob, node: int) -> Steps[bool]:
        return bool((yield Q.lease_binds(connector=_JOBS - job, node=node, binds=1, want=1)))


def _heartbeat(node: int, lasts: int) -> Steps[int | None]:
    row = yield from first(Q.heartbeat(node=node, lasts=lasts))
    return None if row is None else int(row[0])
