"""`app.ports.Commits` on a file."""

import asyncio
from pathlib import Path

from heliograph.adapters.store.shared.recovery import recovery
from heliograph.adapters.store.shared.steps import Q, RunMode, Runner, Steps
from heliograph.adapters.store.sqlite.log import lengthen
from heliograph.adapters.store.sqlite.loop_commit import LoopConnection, syncs_quickly
from heliograph.adapters.store.sqlite.record import record
from heliograph.adapters.store.sqlite.threads import Threads
from heliograph.app.facts import Facts
from heliograph.app.marks import Recovery


class SqliteCommits:
    """Records facts on the loop where the disk is quick, else in the writer's thread."""

    def __init__(self, threads: Threads, path: Path, *, finds_out: bool, runner: Runner) -> None:
        """`finds_out`: whether `recover` is to measure the disk, and to prepare it for commits."""
        self._threads = threads
        self._runner = runner
        self._path = path
        self._finds_out = finds_out
        self._node = 0

    async def record(self, facts: Facts) -> None:
        if self._threads.guard is not None:
            self._threads.guard.check()
        node = self._node
        on_loop = self._threads.on_loop
        if on_loop is not None:
            done, _ = on_loop.try_call(lambda connection: record(connection, facts, node))
            if done:
                return
        await self._threads.writer.call(lambda connection: record(connection, facts, node))

    async def recover(self, worker: int, node: int) -> Recovery:
        """No other node can have a claim: a single engine at a time runs on an embedded store, and all workers are
        alike."""
        self._node = node
        if self._finds_out:
            if await asyncio.to_thread(syncs_quickly, self._path.parent):
                self._threads.on_loop = LoopConnection(self._path)
            await self._threads.writer.transact(lengthen, self._path)
        return await self._runner.run(RunMode.WRITE, lambda: _recover(worker, node))


def _recover(worker: int, node: int) -> Steps[Recovery]:
    yield Q.release_others_messages(node=node)
    yield Q.release_others_notices(node=node)
    yield Q.release_others_parts(node=node)
    yield Q.lose_others_answers(node=node)
    yield Q.forget_others_links(node=node)
    yield Q.forget_others_reports(node=node)
    return (yield from recovery(worker))
