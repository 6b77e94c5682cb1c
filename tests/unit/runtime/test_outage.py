"""That the store is away is told once, then ever more seldom, and once when it is over."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise

from heliograph.app.ports import Unavailable
from heliograph.runtime.outage import AGAIN_S, CALM_S, Outage
from tests.support.carrier_rig import NotedJournal
from tests.support.virtual_time import VirtualClock, run


def scenario(story: Callable[[Outage, NotedJournal], Awaitable[None]]) -> None:
    async def play() -> None:
        journal = NotedJournal()
        await story(Outage(VirtualClock(), journal), journal)

    run(play())


def test_an_hour_of_tries_is_some_sixty_lines() -> None:
    async def story(outage: Outage, journal: NotedJournal) -> None:
        for _ in range(3_600):
            outage.found_away("commit", Unavailable("no route to host"))
            outage.found_away("feed", Unavailable("no route to host"))
            await asyncio.sleep(1)
        outage.found_there("commit")
        assert journal.said("store.recovered") == []
        outage.found_there("feed")
        lines = journal.said("store.unavailable")
        assert lines[0] == {"task": "commit", "problem": "no route to host", "for_s": 0}
        lasted = [line["for_s"] for line in lines]
        assert lasted[:6] == [0, 5, 15, 35, 75, 135]
        assert {later - earlier for earlier, later in pairwise(lasted[5:])} == {AGAIN_S[1]}
        assert journal.lines[-1] == ("info", "store.recovered", {"for_s": 3600})

    scenario(story)


def test_a_store_that_comes_and_goes_is_told_as_seldom_as_one_that_is_away() -> None:
    async def story(outage: Outage, journal: NotedJournal) -> None:
        for _ in range(900):
            outage.found_away("commit", Unavailable("too many connections"))
            await asyncio.sleep(1)
            outage.found_there("commit")
            await asyncio.sleep(3)
        assert 55 <= len(journal.said("store.unavailable")) <= 70
        assert len(journal.said("store.recovered")) == len(journal.said("store.unavailable"))
        assert {line["for_s"] for line in journal.said("store.recovered")} == {1}

    scenario(story)


def test_each_outage_begins_anew() -> None:
    async def story(outage: Outage, journal: NotedJournal) -> None:
        for _ in range(2):
            outage.found_away("lease", TimeoutError())
            await asyncio.sleep(300)
            outage.found_there("lease")
            outage.found_there("lease")
            await asyncio.sleep(CALM_S)
        away, back = ("error", "store.unavailable"), ("info", "store.recovered")
        assert [line[:2] for line in journal.lines] == [away, back, away, back]
        assert journal.said("store.unavailable")[0]["problem"] == "no answer in time"

    scenario(story)
