"""The look-up of networks over HTTP, with a server on loopback."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from heliograph.adapters.system.number_lookup import FAILURES, KEPT, SILENT_S, NumberLookup, Question
from heliograph.app.observing.counters import LookupCounters
from tests.support.gateway import MemoryJournal
from tests.support.sink import Answer, Sink
from tests.support.timeouts import PATIENCE_S

NUMBER = "491701234567"
KEPT_S = 3_600.0
FOUND = Answer(body=b'{"mccmnc": "26202", "ported": true}')


@dataclass
class World:
    """A look-up with its server, and a clock that is set by hand."""

    server: Sink
    lookup: NumberLookup = field(init=False)
    journal: MemoryJournal = field(default_factory=MemoryJournal)
    counters: LookupCounters = field(default_factory=LookupCounters)
    now: float = 1_000.0

    async def network(self, number: str = NUMBER) -> str:
        unknown = self.lookup.unknown([number])
        if unknown:
            await self.lookup.ask(unknown)
        return self.lookup.find(number)


@asynccontextmanager
async def opened(answer: Answer, authorization: str = "", wait_s: float = PATIENCE_S) -> AsyncIterator[World]:
    async with Sink(answer) as server:
        world = World(server)
        url = server.url("/n/{number}?k=1")
        world.lookup = NumberLookup(
            url, authorization, KEPT_S, world.journal, None, world.counters, lambda: world.now, wait_s
        )
        yield world
        await world.lookup.close()


async def test_an_answer_is_used_until_its_time_is_over() -> None:
    async with opened(FOUND, "Bearer secret") as world:
        assert [await world.network() for _ in range(3)] == ["26202"] * 3
        (asked,) = world.server.requests
        assert (asked.method, asked.target) == ("GET", f"/n/{NUMBER}?k=1")
        assert asked.headers["authorization"] == "Bearer secret"
        world.now += KEPT_S
        assert world.lookup.find(NUMBER) == ""
        assert await world.network() == "26202"
        assert (len(world.server.requests), world.counters.results) == (2, {"found": 2})


async def test_callers_that_ask_about_the_same_number_share_a_question() -> None:
    async with opened(FOUND) as world:
        numbers = [str(491701234500 + n % 20) for n in range(100)]
        assert set(await asyncio.gather(*map(world.network, numbers))) == {"26202"}
        assert len(world.server.requests) == 20


async def test_a_repeated_number_is_asked_about_once() -> None:
    async with opened(FOUND) as world:
        await world.lookup.ask([NUMBER] * 3)
        assert (len(world.server.requests), world.counters.results) == (1, {"found": 1})
        world.server.default = Answer(503)
        for last in range(FAILURES):
            await world.lookup.ask([f"49170123450{last}"])
        await world.lookup.ask(["491701234599"] * 3)  # the server is left alone
        assert world.counters.results == {"found": 1, "silent": FAILURES, "left_out": 1}


@pytest.mark.parametrize(
    ("status", "body", "result", "kept_s"),
    [
        (200, b'{"mccmnc": ""}', "unknown", KEPT_S),
        (200, b'{"mccmnc": null}', "unknown", KEPT_S),
        (404, b"no such number", "unknown", KEPT_S),
        (200, b'{"mccmnc": 26202}', "silent", SILENT_S),
        (200, b'{"network": "26202"}', "silent", SILENT_S),
        (200, b'["26202"]', "silent", SILENT_S),
        (200, b'{"mccmnc": "26202\\n"}', "silent", SILENT_S),
        (200, b"[" * 5_000, "silent", SILENT_S),
        (200, b"[" * 4_000, "silent", SILENT_S),
        (500, FOUND.body, "silent", SILENT_S),
        (302, FOUND.body, "silent", SILENT_S),
    ],
)
async def test_an_answer_without_a_network_leaves_the_network_of_the_prefix(
    status: int, body: bytes, result: str, kept_s: float
) -> None:
    async with opened(Answer(status, {"Location": "/elsewhere"}, body)) as world:
        assert await world.network() == ""
        world.now += kept_s - 1
        assert not world.lookup.unknown([NUMBER])
        world.now += 1
        assert world.lookup.unknown([NUMBER])
        assert (len(world.server.requests), world.counters.results) == (1, {result: 1})
        assert NUMBER not in str(world.journal.lines)


async def test_a_server_that_does_not_answer_delays_only_the_first_numbers() -> None:
    async with opened(Answer(hang=True), wait_s=0.2) as world:
        numbers = map(str, range(491701234000, 491701335000))
        asked = 0
        while "left_out" not in world.counters.results:
            assert await world.network(next(numbers)) == ""
            asked += 1
        assert asked <= FAILURES + 2
        silent = world.counters.results["silent"]
        for _ in range(10_000):
            assert await world.network(next(numbers)) == ""
        assert world.counters.results["silent"] <= silent + 1, "more than a test of the server was asked"
        assert [event for _, event, _ in world.journal.lines] == ["lookup.failed"]


async def test_memory_is_bounded() -> None:
    async with opened(FOUND) as world:
        for number in range(KEPT + 10):
            asked = Question(str(number), "", world.now, asyncio.get_running_loop().create_future())
            world.lookup._open[asked.number] = asked
            world.lookup.answered(asked, 404, None)
        assert world.lookup.unknown(["9", "10", str(KEPT)]) == ["9"]
