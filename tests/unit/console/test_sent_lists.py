"""How many lists are sent at once, and how a list obeys a pause, a resumption and a cancellation."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast
from unittest.mock import Mock
from zoneinfo import ZoneInfo

import pytest

from heliograph.app.facts import Accept, Verdict
from heliograph.app.ports import Unavailable
from heliograph.app.ports.sending_lists import ListState, SendingList
from heliograph.app.sending.fields import Fields
from heliograph.console import sent_lists
from heliograph.console.sent_lists import JOBS, REPORT_MS, ListRow, ListRun, ListRuns, result
from heliograph.domain.calendar import DAY_MS, TimeProblem, check_future, format_utc, parse_time
from heliograph.domain.error import invalid
from tests.support.memory_store import MemoryStore
from tests.support.use_case_fakes import SetClock


@dataclass
class PromptGateway:
    """Accepts each row at once. A second passes with each."""

    clock: SetClock
    sent: list[str] = field(default_factory=list)
    unread: int = 0
    """Times that the account cannot be read yet."""
    verdicts: dict[str, list[Verdict]] = field(default_factory=dict)
    """Verdicts of references, one for each try; then each is accepted."""
    times: list[str | None] = field(default_factory=list)
    """Times of the accepted rows."""
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))

    async def account(self, _: str) -> Any:
        if self.unread:
            self.unread -= 1
            raise Unavailable("the store is away")
        return self

    async def find_networks(self, *_: object) -> None: ...

    def send(self, _: object, fields: Fields, then: Callable[[Any], None]) -> None:
        reference = str(fields.reference)
        if fields.time is not None:
            try:
                check_future(parse_time(fields.time, self.zone), self.clock.now(), 1)
            except TimeProblem as problem:
                raise invalid("time", str(problem)) from None
        accept = Accept(1, [], 7, self.clock.now(), scheduled=False)
        accept.verdict = (self.verdicts.get(reference) or [Verdict.ACCEPTED]).pop(0)
        if accept.verdict in (Verdict.ACCEPTED, Verdict.REPLAYED):
            self.sent.append(reference)
            self.times.append(fields.time)
            self.clock.pass_ms(REPORT_MS)
        accept.messages = [cast("Any", type("Accepted", (), {"key": len(self.sent), "tail": 1}))]
        then(accept)


@dataclass
class Scene:
    clock: SetClock
    gateway: PromptGateway
    store: MemoryStore
    runs: ListRuns

    async def list_of(self, rows: int) -> ListRun:
        found = SendingList(0, 1, "Spring sale", "user:ada", self.clock.now(), rows, reported=self.clock.now())
        found.id = await self.store.sending_lists.add(found)
        return ListRun(found, "acme", Fields(), [ListRow("491701234567", "Hi")] * rows)

    async def row(self, run: ListRun) -> SendingList:
        found = await self.store.sending_lists.find(run.id)
        assert found is not None
        return found

    async def until(self, run: ListRun, **wanted: object) -> SendingList:
        """The list's row, once it has these values."""
        async with asyncio.timeout(20):
            found = await self.row(run)
            while any(getattr(found, name) != value for name, value in wanted.items()):
                await asyncio.sleep(0.01)
                found = await self.row(run)
        return found


@pytest.fixture
def scene() -> Scene:
    clock, store = SetClock(), MemoryStore()
    gateway = PromptGateway(clock)
    runs = ListRuns(cast("Any", gateway), cast("Any", gateway), clock, Mock(), store.sending_lists)
    return Scene(clock, gateway, store, runs)


async def test_a_list_is_handed_in_row_by_row_and_told_in_its_row(scene: Scene) -> None:
    run = await scene.list_of(3)
    scene.runs.start(run)
    found = await scene.until(run, handed_in=3)
    assert (found.refused, found.state, found.ended) == (0, ListState.SENDING, scene.clock.now())
    assert scene.gateway.sent == [f"sending-list-{run.id}-{row}" for row in (1, 2, 3)]


async def test_a_paused_list_hands_nothing_in_until_it_is_resumed(scene: Scene) -> None:
    run = await scene.list_of(50)
    await scene.store.sending_lists.change(run.id, ListState.PAUSED)
    scene.clock.pass_ms(REPORT_MS)
    scene.runs.start(run)
    assert (await scene.until(run, heard=ListState.PAUSED)).handed_in == 0
    await scene.store.sending_lists.change(run.id, ListState.SENDING)
    found = await scene.until(run, handed_in=50)
    assert found.heard is ListState.SENDING
    assert len(scene.gateway.sent) == 50


async def test_a_cancelled_list_ends(scene: Scene) -> None:
    run = await scene.list_of(50)
    await scene.store.sending_lists.change(run.id, ListState.CANCELLED)
    scene.clock.pass_ms(REPORT_MS)
    scene.runs.start(run)
    found = await scene.until(run, heard=ListState.CANCELLED)
    assert (found.handed_in, found.ended) == (0, scene.clock.now())
    assert b"".join(result(run, {})).count(b"not sent") == 50


async def test_a_list_that_its_process_leaves_is_known_as_silent_at_once(scene: Scene) -> None:
    run = await scene.list_of(5)
    await scene.store.sending_lists.change(run.id, ListState.PAUSED)
    scene.clock.pass_ms(REPORT_MS)
    scene.runs.start(run)
    await scene.until(run, heard=ListState.PAUSED)
    await scene.runs.stop()
    found = await scene.row(run)
    assert (found.reported, found.ended) == (0, None)


async def test_a_broken_store_does_not_stop_a_list(scene: Scene) -> None:
    run = await scene.list_of(5)
    scene.clock.pass_ms(REPORT_MS)
    scene.store.broken = True
    scene.runs.start(run)
    async with asyncio.timeout(20):
        while run.row.ended is None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert len(scene.gateway.sent) == 5


async def test_a_list_waits_while_its_account_cannot_be_read(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sent_lists, "FULL_PAUSE_S", 0)
    run = await scene.list_of(2)
    scene.gateway.unread = 3
    scene.runs.start(run)
    found = await scene.until(run, handed_in=2)
    assert (found.refused, found.ended) == (0, scene.clock.now())


async def test_rows_that_an_outage_met_are_handed_in_once_more(scene: Scene) -> None:
    run = await scene.list_of(4)
    first, _, third, fourth = (f"sending-list-{run.id}-{row}" for row in range(1, 5))
    scene.gateway.verdicts = {
        first: [Verdict.UNAVAILABLE],
        third: [Verdict.IN_DOUBT, Verdict.REPLAYED],
        fourth: [Verdict.UNAVAILABLE, Verdict.UNAVAILABLE],
    }
    scene.runs.start(run)
    found = await scene.until(run, handed_in=4)
    assert (found.refused, scene.gateway.sent) == (1, [f"sending-list-{run.id}-{row}" for row in (2, 1, 3)])
    assert run.problems(9) == [("The store could not write it; nothing was charged.", 1)]


async def test_rows_whose_time_comes_while_others_are_handed_in_are_sent_at_once(scene: Scene) -> None:
    run, late, far = [await scene.list_of(rows) for rows in (3, 1, 1)]
    run.template.time = format_utc(scene.clock.now() + 2 * REPORT_MS)
    late.template.time = format_utc(scene.clock.now())
    far.template.time = format_utc(scene.clock.now() + 2 * DAY_MS)
    scene.runs.start(run)
    found = await scene.until(run, handed_in=3)
    assert (found.refused, scene.gateway.times) == (0, [run.template.time] * 2 + [None])
    for wrong, problem in ((late, "has passed"), (far, "too far ahead")):
        scene.runs.start(wrong)
        assert problem in (await scene.until(wrong, refused=1)).problem


async def test_so_many_lists_are_sent_at_once(scene: Scene) -> None:
    runs = [await scene.list_of(1) for _ in range(JOBS)]
    for run in runs:
        await scene.store.sending_lists.change(run.id, ListState.PAUSED)
    scene.clock.pass_ms(REPORT_MS)
    for run in runs:
        scene.runs.check_room()
        scene.runs.start(run)
    with pytest.raises(OverflowError, match=f"{JOBS} lists are being sent already"):
        scene.runs.check_room()
    await scene.store.sending_lists.change(runs[1].id, ListState.CANCELLED)
    await scene.until(runs[1], heard=ListState.CANCELLED)
    async with asyncio.timeout(20):
        while runs[1].row.ended is None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    scene.runs.check_room()
    scene.runs.start(await scene.list_of(1))
    assert scene.runs.find(runs[1].id) is None
    assert scene.runs.find(runs[0].id) is runs[0]
    await scene.runs.stop()
