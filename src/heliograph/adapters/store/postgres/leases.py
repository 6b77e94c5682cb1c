"""`app.ports.Leases`: which nodes are alive, and what is theirs."""

import asyncio

from heliograph.adapters.store.postgres.database import Database
from heliograph.adapters.store.postgres.record import Recorder
from heliograph.adapters.store.shared.steps import Operations, Q, Steps, Way, first, read, write

KEPT_MS = 7 * 24 * 3_600_000
"""Milliseconds for which the rows of dead nodes are kept."""

SILENT = 3
"""So many heartbeats in a row without an answer, and what is under way is broken off. Fewer happen where a machine has
too much to do, which this would make worse."""


class PostgresLeases(Operations):
    def __init__(self, database: Database, recorder: Recorder) -> None:
        super().__init__(database)
        self._database = database
        self._recorder = recorder
        self._silent = 0
        """How many heartbeats in a row had no answer."""

    async def heartbeat(self, node: int, lasts: int) -> bool:
        try:
            renewed = await self._database.run(Way.WRITE, lambda: _heartbeat(node, lasts))
        except asyncio.CancelledError:
            # The answer was waited for long enough. A machine that is gone says nothing, and neither does the way to
            # it: so other connections are tried next, and in the end nothing is waited for any longer.
            self._database.pool.forget()
            self._silent += 1
            if self._silent >= SILENT:
                self._cut()
            raise
        self._silent = 0
        # another server took over: whatever still waits for the old one waits for nothing
        self._cut(self._database.servers.timeline)
        return renewed

    def _cut(self, below: int | None = None) -> None:
        self._database.pool.cut(below)
        self._recorder.cut(below)

    @write
    def release_dead(self, ago: int = 0) -> Steps[list[int]]:
        yield Q.without_time_limit()
        rows = yield Q.release_dead(ago=ago, kept=KEPT_MS)
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


def _heartbeat(node: int, lasts: int) -> Steps[bool]:
    return (yield from first(Q.heartbeat(node=node, lasts=lasts))) is not None
