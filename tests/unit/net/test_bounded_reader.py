"""What a connection brings is looked at in portions, whatever it brings at once."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from heliograph.net.bounded_reader import PORTION_OCTETS, BoundedReader


class Tap(asyncio.Transport):
    """A transport of which only reading is looked at."""

    def __init__(self) -> None:
        super().__init__()
        self._reading = True
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True

    def is_reading(self) -> bool:
        return self._reading

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = True


class Rig:
    def __init__(self) -> None:
        self.tap = Tap()
        self.taken: list[bytes] = []
        self.then: Callable[[], Any] = lambda: None
        self.intake = BoundedReader(self.tap, self._take)

    def _take(self, data: bytes) -> None:
        self.taken.append(data)
        self.then()


async def turns() -> None:
    """More turns of the loop than a flood has portions."""
    for _ in range(20):
        await asyncio.sleep(0)


FLOOD = bytes(range(256)) * (PORTION_OCTETS * 5 // 256) + b"rest"


async def test_little_is_taken_at_once() -> None:
    rig = Rig()
    rig.intake.feed(b"one")
    rig.intake.feed(b"two")
    assert rig.taken == [b"one", b"two"]
    assert rig.tap.is_reading()


async def test_much_is_taken_a_portion_a_turn_and_nothing_is_read_meanwhile() -> None:
    rig = Rig()
    rig.intake.feed(FLOOD)
    for number in range(6):
        assert len(rig.taken) == number
        assert not rig.tap.is_reading()
        await asyncio.sleep(0)
    assert rig.tap.is_reading()
    assert b"".join(rig.taken) == FLOOD
    assert max(map(len, rig.taken)) <= PORTION_OCTETS


async def test_a_portion_a_turn_is_taken_however_often_it_was_paused() -> None:
    rig = Rig()

    def pause_and_resume() -> None:
        rig.intake.pause()
        rig.intake.resume()

    rig.then = pause_and_resume
    rig.intake.feed(FLOOD)
    for number in range(6):
        assert len(rig.taken) == number
        await asyncio.sleep(0)
    assert b"".join(rig.taken) == FLOOD


async def test_what_was_on_its_way_comes_after_what_is_held() -> None:
    rig = Rig()
    rig.intake.feed(FLOOD)
    rig.intake.feed(b"later")
    await turns()
    assert rig.tap.is_reading()
    assert b"".join(rig.taken) == FLOOD + b"later"


@pytest.mark.parametrize("first", [b"", FLOOD])
async def test_nothing_is_taken_during_a_pause(first: bytes) -> None:
    rig = Rig()
    rig.intake.feed(first)
    taken = len(rig.taken)
    rig.intake.pause()
    rig.intake.feed(b"later")
    await turns()
    assert len(rig.taken) == taken
    assert not rig.tap.is_reading()
    rig.intake.resume()
    await turns()
    assert rig.tap.is_reading()
    assert b"".join(rig.taken) == first + b"later"


async def test_a_pause_may_come_of_what_is_taken() -> None:
    rig = Rig()
    rig.then = rig.intake.pause
    rig.intake.feed(FLOOD)
    await turns()
    assert len(rig.taken) == 1
    assert not rig.tap.is_reading()


@pytest.mark.parametrize("paused", [False, True])
async def test_all_that_is_left_is_taken_at_the_end_and_once(paused: bool) -> None:
    rig = Rig()
    rig.intake.feed(FLOOD)
    if paused:
        rig.intake.pause()
    rig.intake.finish()
    await turns()
    assert b"".join(rig.taken) == FLOOD


async def test_a_fault_over_what_was_held_back_ends_the_connection() -> None:
    faults: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
    rig = Rig()
    rig.then = lambda: 1 // 0
    rig.intake.feed(FLOOD)
    await turns()
    assert rig.tap.aborted
    assert [type(fault["exception"]) for fault in faults] == [ZeroDivisionError]
    rig.intake.finish()
    await turns()
    assert len(rig.taken) == 1, "nothing is made of what follows"
