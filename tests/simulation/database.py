"""The database that several nodes share, and the way of each node to it.

    node 1 --- NodeStore ---+
    node 2 --- NodeStore ---+--- Database: the rows, and for a while an older copy of them
    node 3 --- NodeStore ---+

A call of a node:

 1. travels to the server. The server may be away for all nodes, or the network of this node may be cut. The call then
    fails at once, or hangs for up to PATIENCE_S.
 2. is judged by the node's guard if the server is another than before: it may have lost commits (`runtime.past`).
 3. is carried out by the server, in an instant, and also if its node dies or stops meanwhile. A node that was given up
    is refused.
 4. has an answer, which may be late, or lost: a commit with a lost answer is in doubt (`faults.FaultyStore`).
"""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from copy import deepcopy
from typing import Any, cast

from heliograph.app.facts import Facts
from heliograph.app.ports import Away, Leases, PastGuard, Unavailable
from tests.simulation.faults import SLOW_CALLS, Around, FaultyStore, Odds
from tests.support.memory_leases import MemoryLeases
from tests.support.memory_past import MemoryPast
from tests.support.memory_rows import Rows
from tests.support.store import START
from tests.support.virtual_time import OUTSIDE

PATIENCE_S = 4.0
"""Seconds after which a call that hangs is given up, as `DatabaseLimits` has it for statements."""

LATE_S = 2.5
"""Seconds. The latest answers: a renewal of a lease does not wait for them."""


class Database:
    """The server, as all nodes see it."""

    def __init__(self, rows: Rows) -> None:
        self.whole = rows
        """The rows with all confirmed commits."""
        self.copy: Rows | None = None
        """An older copy, while it answers."""
        self.server = 1
        """The number of the server that answers. Another server is asked for its past."""
        self.ways: list[NodeStore] = []
        """The ways of nodes that have not ended."""
        self.away_until = 0.0
        self.hangs = False
        """Whether calls hang while the server is away; else they fail at once."""
        self.calm = False
        self.receiving: Counter[int] = Counter()
        """Commits with messages from phones that are under way, by node."""
        self.releasing: Counter[int] = Counter()
        """Calls of `release_dead` on their way to the server, by node."""
        self.on_release: Callable[[int, int], None] = lambda node, by: None
        """Called when a node is given up by another."""

    @staticmethod
    def now() -> int:
        """Its own clock, in ms."""
        return START + int(asyncio.get_running_loop().time() * 1000)

    def go_away(self, seconds: float, *, hangs: bool) -> None:
        self.away_until = asyncio.get_running_loop().time() + seconds
        self.hangs = hangs

    def become(self, copy: Rows | None) -> None:
        """Lets an older copy of the rows answer; None: the server with all commits answers again."""
        self.copy = copy
        self.server += 1
        for way in self.ways:
            way.use(self.rows)

    @property
    def rows(self) -> Rows:
        return self.whole if self.copy is None else self.copy

    def snapshot(self) -> Rows:
        return deepcopy(self.whole)

    def has_lost_something_of_each(self, copy: Rows) -> bool:
        """Whether each node misses a confirmed commit in this copy."""
        return all(way.confirmed > copy.commits.get(way.number, 0) for way in self.ways)

    async def others_have_received(self, node: int) -> None:
        """Waits for commits of other nodes under way, as `find_repeated` does."""
        while any(count for other, count in self.receiving.items() if other != node):  # noqa: ASYNC110
            await asyncio.sleep(0.001)


class NodeStore(FaultyStore):
    """`app.ports.Store` of a node."""

    def __init__(self, database: Database, number: int, chance: random.Random, odds: Odds, guard: PastGuard) -> None:
        super().__init__(database.rows, chance, odds, doubts=True)
        self.number = number
        self.leases = cast("Leases", Around("leases", MemoryLeases(self._place, database.now), self._around))
        self.cut_until = 0.0
        self.confirmed = 0
        """Confirmed commits of facts."""
        self._database = database
        self._guard = guard
        self._server = 0
        """The server that this node has judged last."""
        self._entered = 0
        """The server on which it has committed last."""
        database.ways.append(self)

    def use(self, rows: Rows) -> None:
        self._place.rows = rows

    def end(self) -> None:
        """The node's process has ended."""
        self._database.ways.remove(self)

    # --- calls

    async def _around(self, name: str, call: Callable[..., Awaitable[Any]], args: tuple[Any, ...]) -> Any:
        if name == "commits.record":
            return await call(*args)
        releases = name == "leases.release_dead"
        self._database.releasing[self.number] += releases
        try:
            await self._reach(may_fail=name in SLOW_CALLS, asks_past=name == "past.find")
        finally:
            self._database.releasing[self.number] -= releases
        if name == "past.move":
            self._guard.note_commits(self.number, self.confirmed)

        async def work() -> Any:
            if name == "inbound.repeated":
                await self._database.others_have_received(self.number)
            return await call(*args)

        result = await self._carry_out(work)
        if releases:
            for node in result:
                self._database.on_release(node, self.number)
        return result

    async def _carry_out(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Has the server do something, even if this node dies meanwhile."""
        if self._database.calm:
            return await work()

        async def serve() -> tuple[Any, Exception | None]:
            await asyncio.sleep(self._chance.random() * 0.003)
            try:
                result, problem = await work(), None
            except Exception as fault:  # noqa: BLE001 - it is the node's
                result, problem = None, fault
            await self._after()
            return result, problem

        task = asyncio.get_running_loop().create_task(serve(), context=OUTSIDE)
        result, problem = await asyncio.shield(task)
        if problem is not None:
            raise problem
        return result

    async def _after(self) -> None:
        if self._database.calm:
            return
        await super()._after()
        if self._chance.random() < self._odds.store_fails_after * 0.1:
            await asyncio.sleep(self._chance.random() * LATE_S)

    async def _before(self) -> None:
        await self._reach(may_fail=True)
        if self._entered != self._server:
            self._enter()

    def _enter(self) -> None:
        """Enters this way among those that commit, and moves the mark of its data directory on, as a new connection
        does: an older copy lacks at least that."""
        rows, directory = self._place.rows, self._guard.known.directory
        rows.commits.setdefault(self.number, 0)
        if directory in rows.past_marks:
            moves, at = rows.past_marks[directory]
            rows.past_marks[directory] = (moves + 1, at)
            self._guard.note_move(moves + 1)
        self._entered = self._server

    async def _reach(self, *, may_fail: bool, asks_past: bool = False) -> None:
        """Reaches the server. Raises Unavailable."""
        if not asks_past:
            self._guard.check()
        database, loop = self._database, asyncio.get_running_loop()
        if not database.calm:
            await asyncio.sleep(self._chance.random() * 0.005)
        last = loop.time() + PATIENCE_S
        while (until := max(database.away_until, self.cut_until)) > loop.time():
            hangs = database.hangs or self.cut_until > loop.time()
            if not hangs or loop.time() >= last:
                raise Away("the database does not answer")
            await asyncio.sleep(min(until, last) - loop.time())
        if may_fail and self._chance.random() < self._odds.store_fails:
            raise Unavailable("the disk is full")
        if asks_past or self._server != database.server:
            await self._judge()

    async def _judge(self) -> None:
        """Asks a server for its past, as on a new connection. Raises PastLost, and Fenced."""
        server, guard = self._database.server, self._guard
        guard.note_commits(self.number, self.confirmed)
        known = guard.known
        if known.moves:
            guard.judge(await MemoryPast(self._place).find(known), known)
        self._server = server

    # --- commits

    async def _write(self, facts: Facts) -> Facts:
        write = super()._write

        async def work() -> Facts:
            try:
                left = await write(facts)
            finally:
                self._database.receiving[self.number] -= receives
            commits = self._place.rows.commits
            commits[self.number] = commits.get(self.number, 0) + 1
            return left

        receives = bool(facts.inbound)
        self._database.receiving[self.number] += receives
        left: Facts = await self._carry_out(work)
        self.confirmed += 1
        return left

    def _settle(self) -> None:
        if self._in_doubt:
            self._place.check_node(self._place.node)
            self._server = 0  # the answer was lost with its connection
        super()._settle()
