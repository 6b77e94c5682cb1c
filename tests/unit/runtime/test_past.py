"""The past of a data directory: its file, its marks, and what a loss does to a running gateway."""

import asyncio
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from heliograph.app.facts import Facts
from heliograph.app.ports import Fenced, PastLost, Unavailable
from heliograph.domain.past import FoundPast, KnownPast
from heliograph.runtime.outage import Outage
from heliograph.runtime.past import FILE_NAME, IDLE_S, MOVE_S, PastKeeper, load_past, save_past
from tests.support.gateway import MemoryJournal
from tests.support.memory_store import MemoryStore
from tests.support.virtual_time import VirtualClock, run

KNOWN = KnownPast(7, 3, 1_000, 2, (5, 6), 8, 9)


def test_the_file_holds_all_that_is_known_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    assert load_past(tmp_path) is None
    save_past(tmp_path, replace(KNOWN, moves=2))
    save_past(tmp_path, KNOWN)
    assert load_past(tmp_path) == KNOWN
    assert [file.name for file in tmp_path.iterdir()] == [FILE_NAME]
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600


def test_kills_leave_one_half_written_file(tmp_path: Path) -> None:
    with patch.object(os, "fsync", side_effect=SystemExit), patch.object(Path, "unlink"):
        for _ in range(3):
            with pytest.raises(SystemExit):
                save_past(tmp_path, KNOWN)
    assert len(list(tmp_path.iterdir())) == 1
    save_past(tmp_path, KNOWN)
    assert [each.name for each in tmp_path.iterdir()] == [FILE_NAME]


@pytest.mark.parametrize("text", ["", "{", '{"directory": "x"}', "[]"])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    with pytest.raises(
        Unavailable, match=r"database\.json cannot be read: its text is damaged.* remove it to do without"
    ):
        load_past(tmp_path)


async def at_once(work: Callable[[], None]) -> None:
    """A virtual clock waits for no thread."""
    work()


class Scene:
    def __init__(self, data: Path) -> None:
        self.data = data
        self.store = MemoryStore()
        self.clock = VirtualClock()
        self.journal = MemoryJournal()
        self.losses = 0
        self.keeper = self.start()

    def start(self) -> PastKeeper:
        keeper = PastKeeper(self.data, self.clock, self.journal, at_once)
        keeper.on_lost = self._lost
        return keeper

    def _lost(self) -> None:
        self.losses += 1

    def keep(self) -> asyncio.Task[None]:
        self.keeper.begin()
        return asyncio.create_task(self.keeper.keep(self.store.past, Outage(self.clock, self.journal)))

    async def moves(self) -> int:
        return (await self.store.past.find(self.keeper.known)).moves

    def events(self) -> list[str]:
        return [event for _, event, _ in self.journal.lines]


def test_a_mark_moves_with_commits_and_seldom_without(tmp_path: Path) -> None:
    async def story() -> None:
        scene = Scene(tmp_path)
        task = scene.keep()
        await asyncio.sleep(IDLE_S / 2)
        assert await scene.moves() == 1
        for moves in (2, 3):
            scene.keeper.committed(Facts(), 0, 0.0)
            await asyncio.sleep(1.5 * MOVE_S)
            assert await scene.moves() == moves
        await asyncio.sleep(IDLE_S + 2 * MOVE_S)
        assert await scene.moves() == 4
        task.cancel()
        await scene.keeper.finish(scene.store.past)
        known = load_past(tmp_path)
        assert known is not None
        assert known.moves == await scene.moves() == 5
        assert scene.start().known == known

    run(story())


def test_a_mark_moves_soon_after_an_outage_without_a_further_commit(tmp_path: Path) -> None:
    async def story() -> None:
        scene = Scene(tmp_path)
        task = scene.keep()
        await asyncio.sleep(IDLE_S / 2)
        scene.store.broken = True
        scene.keeper.committed(Facts(), 0, 0.0)
        await asyncio.sleep(MOVE_S)
        scene.store.broken = False
        await asyncio.sleep(MOVE_S)
        assert await scene.moves() == 2
        task.cancel()

    run(story())


def test_a_loss_stops_the_gateway_and_its_acceptance_ends_it(tmp_path: Path) -> None:
    async def story() -> None:
        scene = Scene(tmp_path)
        task = scene.keep()
        await asyncio.sleep(2 * IDLE_S)
        place = scene.store._place.rows
        before = dict(place.past_marks)
        place.past_marks.clear()
        await asyncio.sleep(IDLE_S + MOVE_S)
        assert scene.losses == 1
        with pytest.raises(
            PastLost, match=r"it has no mark of this data directory.*; or it is another database.* heliograph restored"
        ):
            scene.keeper.check()
        await scene.keeper.finish(scene.store.past)
        assert not place.past_marks
        # the newer data are back
        place.past_marks.update(before)
        await asyncio.sleep(2 * MOVE_S)
        scene.keeper.check()
        place.past_marks.clear()
        await asyncio.sleep(IDLE_S + MOVE_S)
        assert scene.events().count("past.lost") == scene.losses == 2
        await scene.store.past.accept(77, 0)
        with pytest.raises(Fenced):
            await task
        with pytest.raises(PastLost):
            scene.keeper.check()  # it writes nothing on its way out
        scene.keeper = scene.start()
        scene.keeper.judge(await scene.store.past.find(scene.keeper.known))
        assert scene.events()[-1] == "past.accepted"
        task = scene.keep()
        await asyncio.sleep(MOVE_S)
        assert await scene.moves() == 1
        task.cancel()

    run(story())


def test_commits_while_the_answer_is_on_its_way_are_not_lost(tmp_path: Path) -> None:
    """Each new connection tells the guard of the commits so far."""

    async def story() -> None:
        scene = Scene(tmp_path)
        rows, move = scene.store._place.rows, scene.store.past.move

        async def slow(known: KnownPast, now: int) -> FoundPast:
            found = await move(known, now)
            rows.commits[8] = found.moves + 2
            scene.keeper.note_commits(8, found.moves + 2)
            return found

        scene.store.past.move = slow  # type: ignore[method-assign]
        rows.commits[8] = 1
        scene.keeper.note_commits(8, 1)
        task = scene.keep()
        await asyncio.sleep(3 * IDLE_S)
        assert scene.events() == []
        assert scene.keeper.known.commits == rows.commits[8] > 2
        task.cancel()

    run(story())


def test_a_start_that_waits_goes_on_once_a_person_accepted(tmp_path: Path) -> None:
    run(_wait_for_a_person(tmp_path))


async def _wait_for_a_person(tmp_path: Path) -> None:
    now = VirtualClock().now()
    save_past(tmp_path, replace(KNOWN, at=now))
    scene = Scene(tmp_path)
    older = FoundPast(2, now - 100, 1, (5, 6))
    sentence = r"its newest mark .* is of .*Z \(timeline 1\), and a mark of .*Z \(timeline 2\) was confirmed"
    for _ in range(3):
        with pytest.raises(PastLost, match=sentence):
            scene.keeper.judge(older)
    assert scene.events() == ["past.lost"]
    scene.keeper.judge(replace(older, forks=(5, 6, 77)))
    scene.keeper.check()
    assert scene.keeper.known == KnownPast(7, 2, now - 100, 1, (5, 6, 77))


def test_a_disk_that_is_full_stops_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        scene = Scene(tmp_path / "gone")
        task = scene.keep()
        await asyncio.sleep(MOVE_S)
        assert await scene.moves() == 1
        assert scene.events() == ["past.unsaved"]
        for _ in range(3):
            scene.keeper.committed(Facts(), 0, 0.0)
            await asyncio.sleep(MOVE_S)
        assert await scene.moves() == 4
        assert scene.events() == ["past.unsaved"], "the same reason is told once"
        scene.data.mkdir()
        scene.keeper.committed(Facts(), 0, 0.0)
        await asyncio.sleep(MOVE_S)
        known = load_past(scene.data)
        assert known is not None
        assert known.moves == 5
        task.cancel()

    run(story())
