"""A file that cannot be used for a while: Unavailable, nothing half done, and well again by itself."""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.app.commit.isolate import Bisection, RejectedPiece
from heliograph.app.configuration import Account, TopUp
from heliograph.app.facts import Facts, Submission, Verdict
from heliograph.app.ports import StoreRejected, Unavailable
from tests.support.store import CREDIT, START, Given


@contextmanager
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    """Another process that writes and does not come to an end."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other
        if other.in_transaction:
            other.execute("ROLLBACK")


@pytest.fixture
async def patient(store: SqliteStore, path: Path) -> AsyncIterator[SqliteStore]:
    """The same file by a store that waits longer for others than any test takes, however busy the machine."""
    patient = await SqliteStore.open(path, busy_ms=60_000, calls=8)
    yield patient
    await patient.close()


async def pragma(store: SqliteStore, text: str) -> None:
    """Changes the writer's own connection."""
    await store._threads.writer.call(lambda session: session._open().execute(f"PRAGMA {text}").fetchall())


async def test_while_another_writes_too_long(store: SqliteStore, given: Given, account: Account, path: Path) -> None:
    accept = given.accept(given.message(account.id))
    with locked(path):
        with pytest.raises(Unavailable, match="locked"):
            await store.commits.record(Facts(accepts=[accept]))
        assert accept.verdict is Verdict.UNAVAILABLE
        assert await store.customers.balance(account.id) == 100 * CREDIT
        with pytest.raises(Unavailable):
            await store.accounts.add_credit(account.id, 1, "", START)
        with pytest.raises(Unavailable):
            await store.upkeep.probe()
    await given.recorded(accept)
    assert await store.upkeep.audit() == []


async def test_one_who_writes_for_a_moment_is_waited_for(patient: SqliteStore, account: Account, path: Path) -> None:
    with locked(path) as other:
        waiting = asyncio.create_task(Given(patient).sent(account.id))
        assert await patient.customers.balance(account.id) == 100 * CREDIT
        assert not waiting.done()
        other.execute("COMMIT")
        await waiting
    assert await patient.customers.balance(account.id) == 99 * CREDIT


async def test_readers_do_not_wait_for_the_writer(
    patient: SqliteStore, given: Given, account: Account, path: Path
) -> None:
    message = await given.sent(account.id)
    with locked(path) as other:
        waiting = asyncio.create_task(patient.upkeep.probe())
        await asyncio.sleep(0)
        assert await patient.customers.message(account.id, message.key, message.tail) == message
        assert await patient.upkeep.audit() == []
        assert not waiting.done()
        other.execute("COMMIT")
        await waiting


async def test_calls_beyond_the_limit_are_refused_at_once(patient: SqliteStore, path: Path) -> None:
    with locked(path) as other:
        waiting = [asyncio.create_task(patient.upkeep.probe()) for _ in range(30)]
        done, pending = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        assert done
        for task in done:
            with pytest.raises(Unavailable, match="too many"):
                task.result()
        other.execute("COMMIT")
        await asyncio.gather(*pending)
    assert 8 <= len(pending) <= 9
    await patient.upkeep.probe()


async def test_a_full_disk(store: SqliteStore, given: Given, account: Account) -> None:
    await pragma(store, "max_page_count = 1")  # SQLite takes the pages in use as the least
    batch = given.batch(account.id, 100, price=1, content="x" * 1_000)
    with pytest.raises(Unavailable, match="full"):
        await store.commits.record(Facts(accepts=[batch]))
    assert batch.verdict is Verdict.UNAVAILABLE
    assert await store.upkeep.audit() == []
    before = await store.customers.balance(account.id)
    with pytest.raises(Unavailable):
        await store.commits.record(Facts(accepts=[batch]))
    assert await store.customers.balance(account.id) == before
    await pragma(store, "max_page_count = 1000000")
    await given.recorded(batch)
    assert await store.customers.balance(account.id) == before - 100
    assert await store.upkeep.audit() == []


async def test_a_file_that_became_read_only(store: SqliteStore, given: Given, account: Account) -> None:
    """The connection is opened anew for the next call, which finds whether it still is."""
    await pragma(store, "query_only = ON")
    with pytest.raises(Unavailable, match="readonly"):
        await store.accounts.add_credit(account.id, 1, "", START)
    assert await store.accounts.add_credit(account.id, 1, "", START) == TopUp(100 * CREDIT + 1)


def exists(path: Path) -> bool:
    return path.exists()


async def test_a_file_that_vanished_is_not_made_anew(store: SqliteStore, path: Path) -> None:
    await pragma(store, "query_only = ON")
    away = path.with_suffix(".away")
    os.rename(path, away)  # noqa: PTH104 - an async function
    for _ in range(3):
        with pytest.raises(Unavailable):
            await store.upkeep.probe()
    assert not exists(path)
    os.rename(away, path)  # noqa: PTH104 - an async function
    await store.upkeep.probe()


@pytest.fixture
def rubbish(path: Path) -> Path:
    path.write_bytes(b"This is no database. " * 1_000)
    return path


async def test_a_file_that_is_no_store(rubbish: Path) -> None:
    with pytest.raises(Unavailable, match="not a database"):
        await SqliteStore.open(rubbish)


@pytest.mark.parametrize("folder", ["/nonexistent", "/proc/self"])
async def test_a_folder_that_cannot_be_written(folder: str) -> None:
    with pytest.raises(Unavailable, match="cannot be opened"):
        await SqliteStore.open(Path(folder) / "store.db")


async def test_who_gives_up_waiting_does_not_stop_the_write(
    store: SqliteStore, given: Given, account: Account, path: Path
) -> None:
    accept = given.accept(given.message(account.id))
    with locked(path) as other:
        waiting = asyncio.create_task(store.commits.record(Facts(accepts=[accept])))
        await asyncio.sleep(0)
        waiting.cancel()
        other.execute("COMMIT")
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await store.upkeep.probe()
    assert accept.verdict is Verdict.ACCEPTED
    assert await store.customers.balance(account.id) == 99 * CREDIT


async def test_the_store_outlives_a_fault_of_ours(store: SqliteStore, given: Given, account: Account) -> None:
    for _ in range(3):
        with pytest.raises(StoreRejected):
            await store.commits.record(Facts(submissions=[Submission(1, 1, 0, 1, "\ud800", 0, START)]))
        with pytest.raises(sqlite3.OperationalError, match="no such table"):
            await store._threads.writer.transact(lambda db: db.execute("SELECT * FROM nowhere"))
    await given.sent(account.id)


async def test_what_is_said_of_a_row_that_cannot_be_written_quotes_none_of_its_values(
    store: SqliteStore, given: Given, account: Account
) -> None:
    taken = await given.sent(account.id)
    poisoned = given.accept(given.message(account.id, key=taken.key, content="a secret"))
    with pytest.raises(StoreRejected) as refused:
        await store.commits.record(Facts(accepts=[given.accept(given.message(account.id)), poisoned]))
    assert "message.key" in str(refused.value)
    assert "secret" not in str(refused.value)


async def test_a_full_disk_amid_the_halves_keeps_what_was_told(
    store: SqliteStore, given: Given, account: Account
) -> None:
    """A row at fault sends the commit through in halves; when the disk is full halfway, those written stay accepted."""
    misfits: list[RejectedPiece] = []
    taken = await given.sent(account.id)
    small = [given.accept(given.message(account.id, price=1)) for _ in range(2)]
    large = [given.batch(account.id, 900, price=1, content="x" * 300) for _ in range(2)]
    poisoned = given.accept(given.message(account.id, key=taken.key))
    await pragma(store, "max_page_count = 1")
    pages = (await store._threads.reader.transact(lambda db: db.execute("PRAGMA page_count").fetchone()))[0]
    await pragma(store, f"max_page_count = {pages + 20}")
    await Bisection(
        store.commits, Facts(accepts=[*small, poisoned, *large], marks={"dispatch": 1}), misfits.append
    ).record()
    assert [accept.verdict for accept in (*small, poisoned, *large)] == [
        Verdict.ACCEPTED,
        Verdict.ACCEPTED,
        Verdict.UNAVAILABLE,
        Verdict.UNAVAILABLE,
        Verdict.UNAVAILABLE,
    ]
    assert [misfit.facts.accepts for misfit in misfits] == [[poisoned]]
    assert await store.customers.balance(account.id) == 99 * CREDIT - 2
    assert await store.upkeep.audit() == []
