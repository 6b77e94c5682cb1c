"""The log's file is made long before it is needed: nothing is lost by it, and no disk is filled by it."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from heliograph.adapters.store.sqlite import SqliteStore, log
from heliograph.app.facts import Facts
from tests.support.store import Given


def log_octets(path: Path) -> int:
    log_path = Path(f"{path}-wal")
    return log_path.stat().st_size if log_path.exists() else 0


def write_zeros(path: Path) -> None:
    Path(f"{path}-wal").write_bytes(bytes(log.LOG_OCTETS))


async def accept_some(store: SqliteStore, given: Given, account: int, count: int) -> list[tuple[int, int]]:
    """The keys and tails of what was accepted, a commit each."""
    found = []
    for _ in range(count):
        accept = given.accept(given.message(account))
        await store.commits.record(Facts(accepts=[accept]))
        found.append((accept.key, accept.tail))
    return found


async def test_what_is_committed_into_a_long_log_is_there_after_a_crash(
    store: SqliteStore, path: Path, tmp_path: Path
) -> None:
    given = Given(store)
    account = (await given.account()).id
    before = await accept_some(store, given, account, 3)
    await store.commits.recover(0, 1)
    assert log_octets(path) == log.LOG_OCTETS
    after = await accept_some(store, given, account, 3)
    assert log_octets(path) == log.LOG_OCTETS

    crashed = tmp_path / "crashed.db"
    shutil.copy(path, crashed)
    shutil.copy(f"{path}-wal", f"{crashed}-wal")
    left = await SqliteStore.open(crashed)
    try:
        for key, tail in before + after:
            assert await left.customers.message(account, key, tail) is not None
        assert await left.upkeep.audit() == []
    finally:
        await left.close()


async def test_a_log_that_nobody_has_written_to_may_be_all_zeros(path: Path) -> None:
    store = await SqliteStore.open(path)
    account = (await Given(store).account()).id
    await store.close()
    write_zeros(path)
    left = await SqliteStore.open(path)
    try:
        assert await left.accounts.by_id(account) is not None
        assert await accept_some(left, Given(left), account, 2)
        assert await left.upkeep.audit() == []
    finally:
        await left.close()


async def test_a_disk_with_little_room_keeps_it(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "LEAST_FREE", 1 << 62)
    before = log_octets(path)
    await store.commits.recover(0, 1)
    assert log_octets(path) <= before + 1_000_000


async def test_a_disk_that_fills_up_meanwhile_gets_its_room_back(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []

    def full(file: int, data: bytes, offset: int) -> int:
        if offset > log.LOG_OCTETS // 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(offset)
        return pwrite(file, data, offset)

    pwrite = os.pwrite
    monkeypatch.setattr(os, "pwrite", full)
    await store.commits.recover(0, 1)
    assert written
    assert log_octets(path) < log.LOG_OCTETS // 4
    given = Given(store)
    await accept_some(store, given, (await given.account()).id, 3)
    assert await store.upkeep.audit() == []
