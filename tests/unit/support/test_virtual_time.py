"""Processes on a virtual loop: they stop, go on, and are killed, while the world outside goes on."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from tests.support.virtual_time import Process, later, run

Story = Callable[[Process, list[str]], Awaitable[None]]


def told(story: Story) -> list[str]:
    log: list[str] = []

    async def play() -> None:
        await story(Process(), log)

    run(play())
    return log


async def ticking(log: list[str]) -> None:
    with suppress(asyncio.CancelledError):
        while True:
            await asyncio.sleep(1.0)
            log.append(f"tick at {asyncio.get_running_loop().time():g}")
    log.append("cancelled")


def test_a_stopped_process_does_nothing_until_it_goes_on() -> None:
    async def story(process: Process, log: list[str]) -> None:
        process.create_task(ticking(log))
        await asyncio.sleep(1.5)
        process.stop()
        process.enter(log.append, "called from outside")
        await asyncio.sleep(10.0)
        log.append("goes on")
        process.go_on()
        await asyncio.sleep(1.2)

    assert told(story) == ["tick at 1", "goes on", "called from outside", "tick at 11.5", "tick at 12.5", "cancelled"]


def test_a_process_that_goes_on_reads_before_its_timers_run() -> None:
    async def story(process: Process, log: list[str]) -> None:
        loop = asyncio.get_running_loop()
        process.enter(lambda: loop.call_later(1.0, log.append, "timer"))
        process.stop()
        later(2.0, process.enter, log.append, "socket")
        await asyncio.sleep(3.0)
        process.go_on()
        await asyncio.sleep(0)

    assert told(story) == ["socket", "timer"]


def test_what_is_ready_when_a_process_stops_waits_too() -> None:
    async def story(process: Process, log: list[str]) -> None:
        loop = asyncio.get_running_loop()
        process.enter(lambda: loop.call_soon(log.append, "ready"))
        process.stop()
        await asyncio.sleep(1.0)
        assert log == []
        process.go_on()
        await asyncio.sleep(0)

    assert told(story) == ["ready"]


def test_the_world_goes_on_while_a_process_is_stopped() -> None:
    async def story(process: Process, log: list[str]) -> None:
        process.enter(lambda: later(1.0, log.append, "outside"))
        process.stop()
        await asyncio.sleep(2.0)

    assert told(story) == ["outside"]


def test_a_killed_process_is_cancelled_and_never_called_again() -> None:
    async def story(process: Process, log: list[str]) -> None:
        loop = asyncio.get_running_loop()
        process.create_task(ticking(log))
        process.enter(lambda: loop.call_later(5.0, log.append, "timer"))
        await asyncio.sleep(0.5)
        process.stop()
        process.enter(log.append, "inbox")
        await asyncio.sleep(2.0)
        await process.kill()
        process.enter(log.append, "later")
        await asyncio.sleep(10.0)

    assert told(story) == ["cancelled"]


def test_tasks_of_a_process_are_its_own() -> None:
    async def story(process: Process, log: list[str]) -> None:
        async def starts_another() -> None:
            asyncio.create_task(ticking(log))  # noqa: RUF006 - the process keeps it
            await asyncio.sleep(100)

        process.create_task(starts_another())
        await asyncio.sleep(0.5)
        await process.kill()

    assert told(story) == ["cancelled"]
