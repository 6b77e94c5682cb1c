"""Commits on the event loop: only where that waits for nobody, and only on a quick disk."""

import asyncio
import os
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from heliograph.adapters.store.sqlite import SqliteStore, driver, loop_commit
from heliograph.adapters.store.sqlite import threads as store_threads
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
    started = time.monotonic()
    for _ in range(50):
        await asyncio.sleep(0.001)
    assert time.monotonic() - started < 30.0, "the loop waited for the other writer"
    assert not recording.done()
    other.execute("COMMIT")
    other.close()
    assert await recording
    assert await accepted(store, given, account.id)
    assert await store.upkeep.audit() == []
    await store.close()


async def test_a_disk_that_becomes_slow_is_left_to_the_thread(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = Given(store)
    account = await given.account()
    monkeypatch.setattr(loop_commit, "SLOW_S", 0.0)
    for _ in range(int(loop_commit.SLOW_SHARE * loop_commit.WATCHED) + 3):
        assert await accepted(store, given, account.id)
    assert store._threads.on_loop is None
    assert await store.upkeep.audit() == []
    await store.close()


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
    for _ in range(int(loop_commit.SLOW_SHARE * loop_commit.WATCHED) + 3):
        assert await store.customers.balance(account.id) == before
    assert threads[-1] != loop_thread
    assert await accepted(store, given, account.id)
    assert store._threads.on_loop is not None, "commits are another matter"
    await store.close()


async def test_a_look_sees_what_the_thread_has_committed(store: SqliteStore) -> None:
    given = Given(store)
    account = await given.account()
    balance = await store.customers.balance(account.id)
    assert (
        await store.accounts.add_credit(account.id, 5, "", 0)
        == await store.customers.balance(account.id)
        == balance + 5
    )
    await store.close()


@pytest.mark.parametrize(("seconds", "quick"), [(0.0, True), (0.001, False)])
def test_what_a_sync_takes_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, quick: bool
) -> None:
    monkeypatch.setattr(os, "fdatasync", lambda _: time.sleep(seconds))
    assert loop_commit.syncs_quickly(tmp_path) is quick
    assert list(tmp_path.iterdir()) == []


def test_a_probe_that_was_left_when_the_power_went_is_not_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fdatasync", lambda _: None)
    (tmp_path / ".sync-probe").write_bytes(b"left")
    assert loop_commit.syncs_quickly(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_where_syncs_cannot_be_measured_nothing_is_quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fdatasync")
    assert not loop_commit.syncs_quickly(tmp_path)


def test_where_nothing_can_be_written_nothing_is_quick(tmp_path: Path) -> None:
    assert not loop_commit.syncs_quickly(tmp_path / "nowhere")
