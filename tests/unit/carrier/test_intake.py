"""What a connection brings is looked at in portions, whatever it brings at once."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from heliograph.adapters.smpp.intake import PORTION_OCTETS, Intake
from heliograph.runtime import lull
from heliograph.runtime.lull import Lull


@pytest.fixture(autouse=True)
def _a_lull_lasts_until_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lull, "LULL_S", 3_600.0)


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
        self.lull = Lull()
        self.intake = Intake(self.tap, self._take, self.lull)

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


async def test_what_comes_in_a_lull_is_taken_afterwards() -> None:
    rig = Rig()
    rig.lull.begin()
    rig.intake.feed(b"one")
    rig.intake.feed(b"two")
    await turns()
    assert rig.taken == []
    assert rig.tap.is_reading(), "what a closed connection left unread may be lost"
    rig.lull.end()
    await turns()
    assert rig.taken == [b"onetwo"]
    rig.intake.feed(b"three")
    assert rig.taken == [b"onetwo", b"three"]


async def test_in_a_lull_too_no_more_is_read_than_can_be_kept() -> None:
    rig = Rig()
    rig.lull.begin()
    rig.intake.feed(FLOOD[:PORTION_OCTETS])
    assert rig.tap.is_reading()
    rig.intake.feed(b"more")
    assert not rig.tap.is_reading()
    rig.lull.end()
    await turns()
    assert rig.taken == [FLOOD[:PORTION_OCTETS], b"more"]
    assert rig.tap.is_reading()


@pytest.mark.parametrize("lulled", [False, True])
async def test_a_fault_over_what_was_held_back_ends_the_connection(lulled: bool) -> None:
    faults: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
    rig = Rig()
    rig.then = lambda: 1 // 0
    if lulled:
        rig.lull.begin()
    rig.intake.feed(FLOOD)
    rig.lull.end()
    await turns()
    assert rig.tap.aborted
    assert [type(fault["exception"]) for fault in faults] == [ZeroDivisionError]
    rig.intake.finish()
    await turns()
    assert len(rig.taken) == 1, "nothing is made of what follows"


async def test_who_brings_nothing_in_a_lull_does_not_notice_it() -> None:
    rig = Rig()
    rig.lull.begin()
    assert rig.tap.is_reading()
    rig.lull.end()
    rig.intake.feed(b"one")
    assert rig.taken == [b"one"]


async def test_a_flood_waits_for_the_end_of_a_lull_that_begins_within_it() -> None:
    rig = Rig()
    rig.intake.feed(FLOOD)
    rig.lull.begin()
    await turns()
    assert len(rig.taken) == 1, "what was due already"
    rig.lull.end()
    await turns()
    assert b"".join(rig.taken) == FLOOD
    assert max(map(len, rig.taken)) <= PORTION_OCTETS
    assert rig.tap.is_reading()


@pytest.mark.parametrize("paused", [False, True])
async def test_all_is_taken_at_the_end_of_a_connection_lull_or_not(paused: bool) -> None:
    rig = Rig()
    rig.lull.begin()
    rig.intake.feed(b"last")
    if paused:
        rig.intake.pause()
    rig.intake.finish()
    assert rig.taken == [b"last"]
    rig.lull.end()
    await turns()
    assert rig.taken == [b"last"]


async def test_a_pause_is_longer_than_a_lull_and_the_other_way_round() -> None:
    rig = Rig()
    rig.lull.begin()
    rig.intake.feed(b"one")
    rig.intake.pause()
    rig.lull.end()
    await turns()
    assert rig.taken == []
    assert not rig.tap.is_reading()
    rig.lull.begin()
    rig.intake.resume()
    await turns()
    assert rig.taken == []
    rig.lull.end()
    await turns()
    assert rig.taken == [b"one"]
    assert rig.tap.is_reading()
