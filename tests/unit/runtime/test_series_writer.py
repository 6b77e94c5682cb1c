"""What is counted comes into the store once, also where the store fails."""

import asyncio
from collections.abc import Sequence

import pytest

from heliograph.app.configuration import Account
from heliograph.app.facts import Facts
from heliograph.app.observing.refusals import Asked, Refusals
from heliograph.app.observing.series_counter import SeriesCounter
from heliograph.app.ports.series import SeriesCell, SeriesQuery
from heliograph.domain import error
from heliograph.domain.error import Fault
from heliograph.domain.series import Cell, Grain
from heliograph.runtime import series_writer
from heliograph.runtime.series_writer import SeriesWriter
from tests.support.gateway import unwatched
from tests.support.memory_store import MemoryStore
from tests.support.store import START, Given

NODE = 7


class Rig:
    def __init__(self) -> None:
        self.store = MemoryStore()
        self.given = Given(self.store)
        self.counter, self.refusals = SeriesCounter(), Refusals()
        self.writer = SeriesWriter(self.counter, self.refusals, self.store.series)

    async def begin(self) -> Account:
        await self.store.commits.recover(0, NODE)
        return await self.given.account()

    async def accept(self, account: Account) -> None:
        message = self.given.message(account.id)
        facts = Facts(accepts=[self.given.accept(message)])
        await self.store.commits.record(facts)
        self.counter.committed(facts, self.given.now, 0.0)

    async def total(self) -> Cell:
        total = Cell()
        for _, cell in await self.store.series.points(SeriesQuery(Grain.HOUR, 0, 1 << 50)):
            total.add(cell)
        return total


async def test_what_the_store_did_not_take_is_written_later() -> None:
    rig = Rig()
    account = await rig.begin()
    await rig.accept(account)
    rig.store.broken = True
    await rig.writer.write()
    rig.store.broken = False
    await rig.accept(account)
    await rig.writer.write()
    await rig.writer.write()
    assert (await rig.total()).accepted == 2


async def test_what_is_being_written_at_a_stop_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series_writer, "WRITE_S", 0.0)
    rig = Rig()
    await rig.accept(await rig.begin())
    began, may_end = asyncio.Event(), asyncio.Event()
    add = rig.store.series.add

    async def slow(cells: Sequence[SeriesCell]) -> None:
        await add(cells)  # also if its caller is cancelled from here on, as the thread of SQLite does
        began.set()
        await may_end.wait()

    monkeypatch.setattr(rig.store.series, "add", slow)
    rig.writer.start(unwatched)
    await began.wait()
    stop = asyncio.create_task(rig.writer.stop())
    await asyncio.sleep(0)
    may_end.set()
    await stop
    assert (await rig.total()).accepted == 1


async def test_counts_of_the_time_of_a_write_wait_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under load there are always some: the writer would never rest."""
    rig = Rig()
    account = await rig.begin()
    add, sizes = rig.store.series.add, []

    async def busy(cells: Sequence[SeriesCell]) -> None:
        sizes.append(len(cells))
        await rig.accept(account)
        await add(cells)

    monkeypatch.setattr(rig.store.series, "add", busy)
    await rig.accept(account)
    await rig.writer.write()
    assert ((await rig.total()).accepted, sizes) == (1, [len(Grain)])
    await rig.writer.write()
    assert (await rig.total()).accepted == 2


async def test_many_cells_are_written_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series_writer, "MOST_CELLS", 2)
    rig = Rig()
    await rig.accept(await rig.begin())
    await rig.writer.write()
    total = Cell()
    for grain in Grain:
        for _, cell in await rig.store.series.points(SeriesQuery(grain, 0, 1 << 50)):
            total.add(cell)
    assert total.accepted == len(Grain)


async def test_refused_requests_are_counted_by_reason() -> None:
    rig = Rig()
    account = await rig.begin()
    asked = Asked("POST", "/api/v1/messages", "192.0.2.1", "r")
    for _ in range(3):
        rig.refusals.note(account, Fault(error.NO_CREDIT, "No credit."), asked, START)
    rig.refusals.note(None, Fault(error.NO_CREDIT, "Nobody's."), asked, START)
    await rig.writer.write()
    assert (await rig.total()).refused == 3
    (detail,) = await rig.store.series.details(SeriesQuery(Grain.DAY, 0, 1 << 50))
    assert detail.cell.refusals == {error.NO_CREDIT.reason.value: 3}
