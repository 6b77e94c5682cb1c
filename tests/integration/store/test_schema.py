"""The schema's versions."""

import asyncio
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from heliograph.adapters.store.sqlite import SchemaChanged, SchemaTooNew, SqliteStore
from heliograph.adapters.store.sqlite.schema import Migration, shipped
from tests.support.store import CREDIT, START, Given

OPEN_IT = """
import asyncio, sys
from pathlib import Path
from heliograph.adapters.store.sqlite import SqliteStore

async def main() -> None:
    store = await SqliteStore.open(Path(sys.argv[1]))
    await store.probe()
    await store.close()

asyncio.run(main())
"""


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    db = sqlite3.connect(path)
    try:
        return db.execute(query).fetchall()
    finally:
        db.close()


def schema(path: Path) -> list[tuple[object, ...]]:
    return rows(path, "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")


async def open_and_close(path: Path, migrations: list[Migration] | None = None) -> None:
    store = await SqliteStore.open(path, migrations=migrations)
    await store.close()


async def test_migrations_are_recorded_and_applied_once(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await open_and_close(path)
    first = schema(path)
    await open_and_close(path)
    assert schema(path) == first
    assert rows(path, "SELECT number, name, checksum FROM migration ORDER BY number") == [
        (migration.number, migration.name, migration.checksum) for migration in shipped()
    ]


async def test_the_numbers_go_up_by_one() -> None:
    assert [migration.number for migration in shipped()] == list(range(1, len(shipped()) + 1))


async def test_what_is_new_is_applied_on_top(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await SqliteStore.open(path)
    account = await Given(store).account()
    await store.close()
    last = shipped()[-1].number
    added = Migration(last + 1, "added", "-- a comment; with a semicolon\nCREATE TABLE added (a);\nDROP TABLE added;\n")
    extended = Migration(last + 2, "extended", "ALTER TABLE account\n  ADD COLUMN extra TEXT;\n")
    store = await SqliteStore.open(path, migrations=[*shipped(), added, extended])
    assert await store.balance(account.id) == 100 * CREDIT
    await store.close()
    assert "extra" in [row[1] for row in rows(path, "PRAGMA table_info(account)")]


async def test_a_newer_schema_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await open_and_close(path, [*shipped(), Migration(9_000, "from_the_future", "CREATE TABLE future (a);")])
    before = path.read_bytes()
    with pytest.raises(SchemaTooNew, match="9000"):
        await open_and_close(path)
    assert path.read_bytes() == before


async def test_a_changed_migration_is_found(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await open_and_close(path)
    first, *rest = shipped()
    with pytest.raises(SchemaChanged, match=first.name):
        await open_and_close(path, [Migration(first.number, first.name, first.text + "\n"), *rest])


async def test_a_migration_that_fails_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await open_and_close(path)
    before = schema(path)
    bad = Migration(9_000, "bad", "CREATE TABLE half (a);\nINSERT INTO nowhere VALUES (1);\n")
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        await open_and_close(path, [*shipped(), bad])
    assert schema(path) == before
    await open_and_close(path)


@pytest.mark.slow
async def test_processes_that_start_at_once_make_one_schema(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-W", "error", "-c", OPEN_IT, str(path), stderr=subprocess.PIPE
        )
        for _ in range(6)
    ]
    outputs = await asyncio.gather(*(process.communicate() for process in processes))
    assert [process.returncode for process in processes] == [0] * 6, [stderr.decode() for _, stderr in outputs]
    assert len(rows(path, "SELECT * FROM migration")) == len(shipped())
    assert rows(path, "SELECT count FROM probe") == [(6,)]


async def test_stores_opened_at_once_in_one_process(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    stores = await asyncio.gather(*(SqliteStore.open(path) for _ in range(4)))
    await asyncio.gather(*(store.probe() for store in stores))
    for store in stores:
        await store.close()
    assert rows(path, "SELECT count FROM probe") == [(4,)]


async def test_the_file_is_its_owners_alone_and_durable(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await SqliteStore.open(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    settings = await store._writer.transact(
        lambda db: [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    )
    assert settings == ["wal", 2]
    await store.close()


async def test_messages_that_were_put_off_before_they_were_marked_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await open_and_close(path, shipped()[:4])
    db = sqlite3.connect(path)
    for key, time, due in ((1, START, START + 5_000), (2, START + 5_000, START + 5_000), (3, START, START)):
        db.execute(
            "INSERT INTO message VALUES (?, 0, 1, '447', 'A', 0, '', 1, 1, ?, ?, 1, 1, 0, '', '', 0)", (key, time, time)
        )
        db.execute(
            "INSERT INTO queue (key, account, connector, due, expires, attempted) VALUES (?, 1, 1, ?, ?, 0)",
            (key, due, due + 60_000),
        )
    db.commit()
    db.close()
    store = await SqliteStore.open(path)
    assert (await store.standing(START)).deferred == {1: 1}
    await store.close()
