"""The marks of data directories, and the accepted losses."""

from dataclasses import replace

from heliograph.app.ports import Store
from heliograph.domain.past import KEPT_MS, FoundPast, KnownPast, PastState, compare, moved
from tests.support.store import START

KNOWN = KnownPast(directory=7)


async def test_a_mark_moves_on_for_its_own_directory(store: Store) -> None:
    found = await store.past.move(KNOWN, START)
    assert (found.moves, found.at, found.forks) == (0, 0, ())
    once = moved(KNOWN, found, START)
    found = await store.past.move(once, START + 1)
    assert (found.moves, found.at) == (1, START)
    found = await store.past.find(KNOWN)
    assert (found.moves, found.at) == (2, START + 1)
    assert (await store.past.find(replace(KNOWN, directory=8))).moves == 0


async def test_nothing_is_written_where_commits_are_missing(store: Store) -> None:
    ahead = replace(KNOWN, moves=5, at=START)
    assert (await store.past.move(ahead, START)).moves == 0
    assert (await store.past.find(KNOWN)).moves == 0


async def test_forks_come_in_their_order(store: Store) -> None:
    for fork in (9, 3, 5):
        await store.past.accept(fork, START)
    found = await store.past.find(KNOWN)
    assert found.forks == (9, 3, 5)
    assert compare(replace(KNOWN, moves=5, at=START), found, START) is PastState.ACCEPTED


async def test_a_mark_is_kept_for_as_long_as_a_directory_may_judge_by_it(store: Store) -> None:
    await store.past.move(KNOWN, START)
    await store.past.move(replace(KNOWN, directory=8), START + KEPT_MS - 1)
    assert (await store.past.find(KNOWN)).moves == 1
    late = START + KEPT_MS + 1
    await store.past.move(replace(KNOWN, directory=9), late)
    assert compare(replace(KNOWN, moves=1, at=START), FoundPast(), late) is PastState.WHOLE
