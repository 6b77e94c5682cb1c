"""Refused requests are written in batches, kept over an outage, and logged now and then."""

from typing import Any

from heliograph.app.configuration import Account
from heliograph.app.observing.refusals import Asked, Refusals
from heliograph.app.records import RefusalQuery
from heliograph.domain.error import NO_CREDIT, Fault
from heliograph.runtime import refusal_writer
from heliograph.runtime.refusal_writer import LINES, SAY_S, WRITE_S, RefusalWriter
from tests.support.gateway import HandClock, MemoryJournal, unwatched
from tests.support.memory_store import MemoryStore
from tests.support.virtual_time import run

ALL = RefusalQuery()


class Rig:
    def __init__(self) -> None:
        self.refusals, self.store = Refusals(), MemoryStore()
        self.clock, self.journal = HandClock(), MemoryJournal()
        self.writer = RefusalWriter(self.refusals, self.store.refused_requests, self.clock, self.journal)

    def refuse(self, account: int = 1, number: int = 1) -> None:
        for each in range(number):
            asked = Asked("POST", "/api/v1/messages", "192.0.2.7", f"r-{each}")
            fault = Fault(NO_CREDIT, "The credit is too low.")
            self.refusals.note(Account(account, f"acme{account}", "", b""), fault, asked, self.clock.now())

    async def written(self) -> int:
        return sum(each.requests for each in await self.store.refused_requests.totals(ALL, 10_000))

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [fields for _, event, fields in self.journal.lines if event == "http.refused"]


async def test_what_was_refused_is_written_once() -> None:
    rig = Rig()
    rig.refuse(number=30)
    await rig.writer.write()
    await rig.writer.write()
    assert await rig.written() == 30


async def test_many_accounts_are_written_in_several_transactions(monkeypatch: Any) -> None:
    monkeypatch.setattr(refusal_writer, "KINDS", 3)
    rig = Rig()
    for account in range(10):
        rig.refuse(account)
    await rig.writer.write()
    assert await rig.written() == 10
    assert len(await rig.store.refused_requests.latest(ALL, 100)) == 10


async def test_what_the_store_does_not_take_is_written_when_it_does() -> None:
    rig = Rig()
    rig.refuse(number=5)
    rig.store.broken = True
    await rig.writer.write()
    rig.refuse(number=2)
    await rig.writer.write()
    rig.store.broken = False
    await rig.writer.write()
    assert await rig.written() == 7
    assert sum(line["requests"] for line in rig.lines) == 5


def test_it_writes_by_itself_and_at_the_stop() -> None:
    async def scenario() -> None:
        import asyncio

        rig = Rig()
        rig.writer.start(unwatched)
        rig.refuse()
        await asyncio.sleep(WRITE_S + 1)
        assert await rig.written() == 1
        rig.refuse()
        await rig.writer.stop()
        assert await rig.written() == 2

    run(scenario())


async def test_a_line_names_the_account_and_the_next_one_is_a_minute_later() -> None:
    rig = Rig()
    rig.refuse(number=3)
    await rig.writer.write()
    (line,) = rig.lines
    assert (line["account"], line["reason"], line["requests"], line["request_id"]) == ("acme1", "credit", 3, "r-2")
    rig.refuse(number=4)
    rig.clock.forward(SAY_S / 2)
    await rig.writer.write()
    assert len(rig.lines) == 1
    rig.clock.forward(SAY_S / 2)
    await rig.writer.write()
    assert [line["requests"] for line in rig.lines] == [3, 4]


async def test_few_lines_are_written_at_once_and_none_is_lost() -> None:
    rig = Rig()
    for account in range(2 * LINES):
        rig.refuse(account)
    await rig.writer.write()
    assert len(rig.lines) == LINES
    await rig.writer.write()
    assert len({line["account"] for line in rig.lines}) == 2 * LINES
