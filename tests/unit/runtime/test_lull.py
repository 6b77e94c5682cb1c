"""The lull between two commits, on a virtual clock."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from heliograph.runtime.lull import LULL_S, Lull
from tests.support.virtual_time import run


def scenario(story: Callable[[Lull, list[int]], Awaitable[Any]]) -> None:
    async def play() -> None:
        await story(Lull(), [])

    run(play())


def test_outside_of_one_nothing_waits_longer_than_a_turn() -> None:
    async def story(lull: Lull, done: list[int]) -> None:
        lull.call_soon(partial(done.append, 1))
        assert done == []
        await asyncio.sleep(0)
        assert done == [1]

    scenario(story)


def test_what_waits_goes_on_in_its_order_when_the_next_commit_is_on_its_way() -> None:
    async def story(lull: Lull, done: list[int]) -> None:
        lull.begin()
        for number in range(3):
            lull.call_soon(partial(done.append, number))
        await asyncio.sleep(LULL_S / 2)
        assert done == []
        lull.end()
        assert not lull.on
        assert done == [], "not from within the commit"
        await asyncio.sleep(0)
        assert done == [0, 1, 2]

    scenario(story)


def test_it_ends_by_itself() -> None:
    async def story(lull: Lull, done: list[int]) -> None:
        lull.begin()
        lull.call_soon(partial(done.append, 1))
        await asyncio.sleep(LULL_S * 0.9)
        assert done == []
        lull.begin()  # is not the beginning of another one
        await asyncio.sleep(LULL_S * 0.2)
        assert not lull.on
        assert done == [1]

    scenario(story)


def test_each_has_all_its_time() -> None:
    async def story(lull: Lull, done: list[int]) -> None:
        lull.begin()
        await asyncio.sleep(LULL_S * 0.9)
        lull.end()
        lull.end()  # of none
        lull.begin()
        lull.call_soon(partial(done.append, 1))
        await asyncio.sleep(LULL_S * 0.9)
        assert lull.on
        assert done == []
        lull.end()
        await asyncio.sleep(LULL_S)
        assert done == [1]

    scenario(story)
