"""Commits on the event loop: only where that waits for nobody, and only on a quick disk."""

import asyncio
import os
import sqlite3
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from heliograph.adapters.store.sqlite import SqliteStore, commits, driver, loop_commit
from heliograph.adapters.store.sqlite import threads as store_threads
from heliograph.adapters.store.sqlite.record import record
from heliograph.app.configuration import TopUp
from heliograph.app.facts import Facts
from tests.support.store import Given


async def accepted(store: SqliteStore, given: Given, account: int) -> bool:
    accept = given.accept(given.message(account))
    await store.commits.record(Facts(accepts=[accept]))
    return accept.verdict == 0


@pytest.fixture
async def store(tmp_path: Path) -> SqliteStore:
    return await SqliteStore.open(tmp_path / "store.db", busy_ms=60_000, on_loop=True)


async def test_while_somebody_else_writes_the_loop_goes_on(store: SqliteStore, tmp_path: Path) -> None:
    given = Given(store)
    account = await given.account()
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    recording = asyncio.ensure_future(accepted(store, given, account.id))
    for _ in range(50):
        await asyncio.sleep(0.001)
    assert not recording.done(), "a loop that waits for the other writer would end with an error, after busy_ms"
    other.execute("COMMIT")
    other.close()
    assert await recording
    assert await accepted(store, given, account.id)
    assert await store.upkeep.audit() == []
    await store.close()


TRIES = int(loop_commit.SLOW_SHARE * loop_commit.WATCHED) + 1
"""Slow ones in a row after which the loop leaves the disk alone."""


class Recorded:
    """The threads that commits were recorded in."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._original = record
        self._threads: list[int] = []
        monkeypatch.setattr(commits, "record", self._record)

    def _record(self, *arguments: Any) -> None:
        self._threads.append(threading.get_ident())
        self._original(*arguments)

    def by_loop(self) -> bool:
        """Whether the last one was the loop's."""
        return self._threads[-1] == threading.get_ident()


async def test_a_disk_that_becomes_slow_is_left_to_the_thread_for_a_while(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = Given(store)
    account = await given.account()
    recorded, now = Recorded(monkeypatch), [1_000.0]
    monkeypatch.setattr(loop_commit, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    with monkeypatch.context() as slow:
        slow.setattr(loop_commit, "SLOW_S", 0.0)
        for _ in range(TRIES):
            assert await accepted(store, given, account.id)
            assert recorded.by_loop()
        assert await accepted(store, given, account.id)
        assert not recorded.by_loop()
    now[0] += loop_commit.REST_S
    assert await accepted(store, given, account.id)
    assert recorded.by_loop()
    assert await store.upkeep.audit() == []
    await store.close()


def watched(watch: loop_commit.DiskWatch, now: float, slow: int) -> float:
    """Notes that many slow ones, and returns for how long it rests then; 0.0 if it does not."""
    for _ in range(slow):
        assert not watch.rests(now)
        watch.note(now, slow=True)
    rest = 0.0
    while watch.rests(now + rest):
        rest += loop_commit.REST_S
    return rest


def test_a_disk_that_stays_slow_is_left_alone_longer_and_longer() -> None:
    watch, now, rests = loop_commit.DiskWatch(), 1_000.0, []
    for _ in range(8):
        rests.append(watched(watch, now, TRIES) / loop_commit.REST_S)
        now += rests[-1] * loop_commit.REST_S + 1.0
    assert rests == [1, 2, 4, 8, 16, 32, 60, 60]
    assert loop_commit.MOST_REST_S == 60 * loop_commit.REST_S


def test_a_disk_that_worked_for_as_long_as_it_rested_is_trusted_anew() -> None:
    watch, now = loop_commit.DiskWatch(), 1_000.0
    rest = 0.0
    for _ in range(3):
        rest = watched(watch, now, TRIES)
        now += rest
    assert watched(watch, now + rest, TRIES) == loop_commit.REST_S


def test_a_slow_one_now_and_then_is_no_slow_disk() -> None:
    watch = loop_commit.DiskWatch()
    for number in range(10 * loop_commit.WATCHED):
        watch.note(number, slow=number % 50 == 0)
        assert not watch.rests(number)


async def test_looks_that_become_slow_are_left_to_the_thread(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = Given(store)
    account = await given.account()
    before = await store.customers.balance(account.id)
    loop_thread = threading.get_ident()
    threads = []

    def drive(db: sqlite3.Connection, operation: Any) -> Any:
        threads.append(threading.get_ident())
        return driver.drive(db, operation)

    monkeypatch.setattr(store_threads, "drive", drive)
    assert await store.customers.balance(account.id) == before
    assert threads == [loop_thread]
    monkeypatch.setattr(loop_commit, "SLOW_LOOK_S", 0.0)
    for _ in range(TRIES + 1):
        assert await store.customers.balance(account.id) == before
    assert threads[-1] != loop_thread
    recorded = Recorded(monkeypatch)
    assert await accepted(store, given, account.id)
    assert recorded.by_loop(), "commits are another matter"
    await store.close()


async def test_a_look_sees_what_the_thread_has_committed(store: SqliteStore) -> None:
    given = Given(store)
    account = await given.account()
    balance = await store.customers.balance(account.id)
    assert await store.accounts.add_credit(account.id, 5, "", 0) == TopUp(balance + 5)
    assert await store.customers.balance(account.id) == balance + 5
    await store.close()


@pytest.mark.parametrize(("seconds", "quick"), [(0.0003, True), (0.0005, False)])
def test_what_a_sync_takes_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, quick: bool
) -> None:
    syncs: list[int] = []
    monkeypatch.setattr(os, "fdatasync", syncs.append)
    monkeypatch.setattr(loop_commit, "time", SimpleNamespace(perf_counter=lambda: len(syncs) * seconds))
    assert loop_commit.syncs_quickly(tmp_path) is quick
    assert list(tmp_path.iterdir()) == []


def test_a_probe_that_was_left_when_the_power_went_is_not_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fdatasync", lambda _: None)
    monkeypatch.setattr(loop_commit, "time", SimpleNamespace(perf_counter=lambda: 0.0))
    (tmp_path / ".sync-probe").write_bytes(b"left")
    assert loop_commit.syncs_quickly(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_where_syncs_cannot_be_measured_nothing_is_quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fdatasync")
    assert not loop_commit.syncs_quickly(tmp_path)


def test_where_nothing_can_be_written_nothing_is_quick(tmp_path: Path) -> None:
    assert not loop_commit.syncs_quickly(tmp_path / "nowhere")
