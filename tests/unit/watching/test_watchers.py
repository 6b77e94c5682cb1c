"""Watchers see each commit once, and cannot disturb it."""

import asyncio

from heliograph.app.facts import Attempt, Facts
from heliograph.app.ports import Unavailable
from heliograph.runtime.group_commit import GroupCommit, Hooks
from heliograph.runtime.outage import Outage
from tests.support.gateway import START, HandClock, MemoryJournal
from tests.support.memory_delivery import MemoryCommits
from tests.support.memory_store import MemoryStore
from tests.support.timeouts import PATIENCE_S


class Ids:
    def tail(self) -> int:
        return 1


class Seen:
    def __init__(self) -> None:
        self.commits: list[tuple[int, int, float]] = []

    def committed(self, facts: Facts, now: int, seconds: float) -> None:
        self.commits.append((len(facts.attempts), now, seconds))


class Clumsy:
    def committed(self, facts: Facts, now: int, seconds: float) -> None:
        raise RuntimeError("stumbled")


class SlowStore(MemoryStore):
    def __init__(self, clock: HandClock) -> None:
        super().__init__()
        self.failures = 0
        self._clock = clock

    async def commits_record(self, facts: Facts) -> None:
        self._clock.forward(0.25)
        if self.failures:
            self.failures -= 1
            raise Unavailable("the disk is full")
        await MemoryCommits(self._place).record(facts)


async def committed(failures: int = 0) -> tuple[Seen, MemoryJournal, GroupCommit]:
    clock, journal, seen = HandClock(), MemoryJournal(), Seen()
    store = SlowStore(clock)
    store.failures = failures
    gatherer = GroupCommit(store.commits, 0, 0, Ids(), clock, journal, Outage(clock, journal), (Clumsy(), seen))
    gatherer.attach(Hooks(lambda *_: None, lambda *_: None, lambda: None, lambda: None))
    gatherer.facts.attempts.append(Attempt(1, 1, 0, 1, 0x58, START))
    gatherer.wake()
    task = asyncio.create_task(gatherer.run())
    async with asyncio.timeout(PATIENCE_S):
        await gatherer.flushed()
        gatherer.wake()  # nothing to write: nobody is told
        await gatherer.flushed()
    task.cancel()
    await asyncio.wait([task])
    return seen, journal, gatherer


async def test_a_commit_is_shown_with_its_duration_whatever_another_watcher_does() -> None:
    seen, journal, gatherer = await committed()
    assert seen.commits == [(1, START + 250, 0.25)]
    assert [(level, event) for level, event, _ in journal.lines] == [("error", "watcher.failed")]
    assert (gatherer.healthy, gatherer.failures) == (True, 0)


async def test_a_commit_that_fails_is_shown_when_it_works() -> None:
    seen, _, gatherer = await committed(failures=2)
    assert [(count, seconds) for count, _, seconds in seen.commits] == [(1, 0.25)]
    assert (gatherer.healthy, gatherer.failures) == (True, 2)


async def test_a_watcher_that_fails_each_time_is_told_of_once() -> None:
    journal, clock = MemoryJournal(), HandClock()
    gatherer = GroupCommit(SlowStore(clock).commits, 0, 0, Ids(), clock, journal, Outage(clock, journal), (Clumsy(),))
    gatherer.attach(Hooks(lambda *_: None, lambda *_: None, lambda: None, lambda: None))
    task = asyncio.create_task(gatherer.run())
    for segment in range(3):
        gatherer.facts.attempts.append(Attempt(1, 1, segment, 1, 0x58, START))
        gatherer.wake()
        async with asyncio.timeout(PATIENCE_S):
            await gatherer.flushed()
    task.cancel()
    await asyncio.wait([task])
    assert [event for _, event, _ in journal.lines] == ["watcher.failed"]
