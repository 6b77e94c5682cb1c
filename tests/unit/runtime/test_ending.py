"""Tasks come to their end, also where a cancellation is lost."""

import asyncio

from heliograph.runtime.tasks import Background, end, whereabouts
from tests.support.timeouts import PATIENCE_S


async def test_a_task_that_loses_its_cancellation_is_cancelled_again() -> None:
    lost: list[str] = []

    async def forgetful() -> None:
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                if lost:
                    raise
                lost.append("one")

    task = asyncio.create_task(forgetful())
    await asyncio.sleep(0)
    await asyncio.wait_for(end(task), PATIENCE_S)
    assert task.cancelled()
    assert lost == ["one"]


async def test_a_task_that_ends_with_an_error_has_ended() -> None:
    async def broken() -> None:
        raise RuntimeError("as it happens")

    task = asyncio.create_task(broken())
    await asyncio.sleep(0)
    await end(task)
    assert task.done()


async def test_an_error_that_ends_background_work_is_noticed() -> None:
    async def broken() -> None:
        raise RuntimeError("as it happens")

    watched: list[asyncio.Task[None]] = []
    background = Background("broken", broken)
    background.start(watched.append)
    (task,) = watched
    await asyncio.wait([task], timeout=PATIENCE_S)
    assert (task.get_name(), type(task.exception())) == ("broken", RuntimeError)
    await background.stop()


async def test_the_wait_that_a_stir_ends_in_the_moment_of_the_cancellation() -> None:
    """The loss as it comes about."""
    stirred = asyncio.Event()
    rounds: list[int] = []

    async def feed() -> None:
        while True:
            try:
                await asyncio.wait_for(stirred.wait(), 60)
            except TimeoutError:
                continue
            stirred.clear()
            rounds.append(1)

    task = asyncio.create_task(feed())
    for _ in range(5):
        await asyncio.sleep(0)
    stirred.set()
    await asyncio.wait_for(end(task), PATIENCE_S)
    assert task.cancelled()


async def test_where_a_task_stands_is_told_from_without_to_within() -> None:
    async def inner() -> None:
        await asyncio.Event().wait()

    async def outer() -> None:
        await inner()

    task = asyncio.create_task(outer())
    await asyncio.sleep(0)
    told = [place.partition(":")[0] for place in whereabouts(task).split(" > ")]
    assert told[:3] == ["outer", "inner", "wait"]
    await end(task)
