"""`app.ports.Commits` on a database."""

import asyncio

from heliograph.adapters.store.postgres.database import Database
from heliograph.adapters.store.postgres.record import Recorder
from heliograph.adapters.store.shared.customers import replayed
from heliograph.adapters.store.shared.recovery import recovery
from heliograph.adapters.store.shared.steps import Q, RunMode, Runner, Steps
from heliograph.app.facts import Accept, Facts
from heliograph.app.marks import Recovery
from heliograph.app.ports import Fenced, StoreRejected, Unavailable

LEAST_S = 0.1
"""Seconds that a commit with requests has in any case."""


class PostgresCommits:
    """Records facts on a connection of its own."""

    def __init__(self, database: Database, runner: Runner) -> None:
        self._runner = runner
        self.recorder = Recorder(database.servers)
        self._limit_s = database.servers.limits.commit
        self._troubled: float | None = None
        """Beginning of the first call since the last that worked, if any failed since."""

    async def record(self, facts: Facts) -> None:
        now = asyncio.get_running_loop().time()
        troubled = now if self._troubled is None else self._troubled
        # Requests of a call have waited since the first call that failed, and wait no longer than for a single call.
        end = max(troubled + self._limit_s, now + LEAST_S) if facts.accepts else None
        try:
            async with asyncio.timeout_at(end):
                replayed = await self.recorder.record(facts)
        except TimeoutError:
            # The next call finds out whether the commit was done, and undoes its requests.
            self._troubled = troubled
            raise Unavailable("the database does not answer in time") from None
        except Unavailable:
            self._troubled = troubled
            raise
        except StoreRejected:  # the store answers
            self._troubled = None
            raise
        self._troubled = None
        for accept in replayed:
            await self._replay(accept)

    async def _replay(self, accept: Accept) -> None:
        """Looks up the first result of a replayed request, after the commit. If the store is unavailable the request
        stays UNAVAILABLE; its client may repeat it."""
        account, reference = accept.account, accept.reference
        assert reference is not None
        try:
            found = await self._runner.run(RunMode.LOOKUP, lambda: replayed(account, reference))
        except Unavailable:
            return
        if found is not None:
            first = found[1]
            accept.verdict = first.verdict
            accept.key, accept.tail, accept.total = first.key, first.tail, first.total
            accept.scheduled, accept.messages = first.scheduled, first.messages

    async def recover(self, worker: int, node: int) -> Recovery:
        """Gives up the claims of the node that had this worker number before. `Leases.release_dead` does so for dead
        nodes."""
        recovered = await self._runner.run(RunMode.WRITE, lambda: _recover(worker, node))
        await self.recorder.become(node, worker)
        return recovered


def _recover(worker: int, node: int) -> Steps[Recovery]:
    """Gives this worker number to the node. Fences another node that still had it: an earlier run, or a mistake."""
    yield Q.without_time_limit()
    yield Q.with_custom_plans()
    yield Q.join_nodes(node=node)
    ((lives,),) = yield Q.node_lives(node=node)
    if not lives:
        raise Fenced("the work of this node was given to others")
    for (predecessor,) in (yield Q.predecessor(worker=worker)):
        if predecessor != node:
            yield Q.fence_node(node=predecessor)
    yield Q.take_worker(worker=worker, node=node)
    return (yield from recovery(worker))
