"""How octets are written, on a loop that the tests wind."""

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.simulator.schedule import Schedule
from heliograph.simulator.writer import LinkWriter, piece_octets, pieces
from tests.support.timeouts import PATIENCE_S


class Written:
    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.closed = asyncio.Event()

    def write(self, data: bytes) -> None:
        assert not self.closed.is_set()
        self.writes.append(data)

    def close(self) -> None:
        self.closed.set()


@given(st.binary(max_size=300), st.integers(0, 50))
def test_pieces_make_the_whole(data: bytes, octets: int) -> None:
    cut = pieces(data, octets)
    assert b"".join(cut) == data
    assert not octets or all(0 < len(piece) <= octets for piece in cut)


@pytest.mark.parametrize(
    ("split", "rate", "octets"), [(0, 0, 0), (7, 0, 7), (0, 1000, 20), (7, 1000, 7), (50, 1000, 20), (0, 1, 1)]
)
def test_pieces_suit_the_slower(split: int, rate: int, octets: int) -> None:
    assert piece_octets(split, rate) == octets


@pytest.mark.parametrize(
    ("split", "merge_ms", "rate"), [(0, 0.0, 0), (3, 0.0, 0), (0, 2.0, 0), (3, 2.0, 0), (0, 0.0, 20_000)]
)
async def test_everything_is_written_in_order_and_then_closed(split: int, merge_ms: float, rate: int) -> None:
    written = Written()
    loop = asyncio.get_running_loop()
    writer = LinkWriter(loop, written, split_octets=split, merge_ms=merge_ms, bytes_per_s=rate)
    for number in range(20):
        writer.write(bytes((number,)) * 10)
    writer.finish()
    await asyncio.wait_for(written.closed.wait(), PATIENCE_S)
    assert b"".join(written.writes) == b"".join(bytes((number,)) * 10 for number in range(20))
    assert not split or max(map(len, written.writes)) <= split
    assert not merge_ms or split or len(written.writes) == 1


async def test_nothing_is_written_once_it_is_abandoned() -> None:
    written = Written()
    writer = LinkWriter(asyncio.get_running_loop(), written, split_octets=1, merge_ms=1.0)
    writer.write(b"abc")
    writer.abandon()
    writer.finish()
    assert written.closed.is_set()
    assert written.writes == []


async def test_the_agenda_runs_tasks_in_the_order_of_their_times() -> None:
    loop = asyncio.get_running_loop()
    done: list[int] = []
    rounds: list[int] = []
    finished = asyncio.Event()

    def task(number: int) -> Callable[[], None]:
        return lambda: done.append(number)

    agenda = Schedule(loop, lambda: rounds.append(len(done)))
    now = loop.time()
    agenda.put(now + 0.03, finished.set)
    for number, late in enumerate((0.02, 0.01, 0.0, 0.0)):
        agenda.put(now + late, task(number))
    await asyncio.wait_for(finished.wait(), PATIENCE_S)
    assert done == [2, 3, 1, 0]
    assert rounds[-1] == 4
    assert len(agenda) == 0


async def test_the_agenda_takes_what_its_tasks_put_down_and_survives_their_failures() -> None:
    loop = asyncio.get_running_loop()
    failures: list[BaseException | None] = []
    loop.set_exception_handler(lambda _, context: failures.append(context.get("exception")))
    finished = asyncio.Event()
    agenda = Schedule(loop, lambda: None)

    def fail() -> None:
        agenda.put(loop.time() + 0.01, finished.set)
        agenda.put(loop.time() + 0.005, lambda: None)
        raise ValueError("on purpose")

    agenda.put(loop.time(), fail)
    await asyncio.wait_for(finished.wait(), PATIENCE_S)
    assert [type(failure) for failure in failures] == [ValueError]


async def test_a_closed_agenda_does_nothing() -> None:
    loop = asyncio.get_running_loop()
    done: list[int] = []
    agenda = Schedule(loop, lambda: None)
    agenda.put(loop.time(), lambda: done.append(1))
    agenda.close()
    await asyncio.sleep(0.01)
    assert done == []
