"""How the file's tables are made, and brought up to date."""

import asyncio
import sqlite3
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from heliograph.adapters.store.shared.schema import Schema
from heliograph.adapters.store.sqlite import SchemaChanged, SchemaTooNew, SqliteStore
from heliograph.adapters.store.sqlite.backup import back_up
from heliograph.adapters.store.sqlite.schema import shipped
from tests.support.schema_catalogue import of_sqlite
from tests.support.schema_versions import later, released
from tests.support.store import CREDIT, Given
from tests.support.timeouts import PATIENCE_S

OPEN_IT = """
import asyncio, sys
from pathlib import Path
from heliograph.adapters.store.sqlite import SqliteStore

async def main() -> None:
    store = await SqliteStore.open(Path(sys.argv[1]))
    await store.upkeep.probe()
    await store.close()

asyncio.run(main())
"""

CHANGE_IT = """
import sqlite3, sys
from dataclasses import replace
from heliograph.adapters.store.shared.schema import Migration
from heliograph.adapters.store.sqlite.schema import migrate, shipped

endless = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n) SELECT count(*) FROM n"
text = f"CREATE TABLE half (a);\\nINSERT INTO half SELECT key FROM message;\\n{endless};\\n"
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.set_trace_callback(lambda statement: print(statement, flush=True))
migrate(db, replace(shipped(), migrations=(Migration(2, "endless", text),)), 100)
"""


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    db = sqlite3.connect(path)
    try:
        return db.execute(query).fetchall()
    finally:
        db.close()


def octets(path: Path) -> bytes:
    return path.read_bytes()


async def open_and_close(path: Path, schema: Schema | None = None) -> None:
    store = await SqliteStore.open(path, schema=schema)
    await store.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


async def test_a_new_store_is_made_once(path: Path) -> None:
    await open_and_close(path)
    first = of_sqlite(path)
    await open_and_close(path)
    assert of_sqlite(path) == first
    made = shipped().creation
    assert rows(path, "SELECT * FROM migration") == [(made.number, made.name, made.checksum)]


@pytest.mark.parametrize("start", [*released("sqlite"), shipped()], ids=lambda start: f"version {start.version}")
async def test_every_version_is_brought_to_what_the_file_says(start: Schema, path: Path, tmp_path: Path) -> None:
    await open_and_close(path, start)
    await open_and_close(path)
    await open_and_close(tmp_path / "fresh.db")
    assert of_sqlite(path) == of_sqlite(tmp_path / "fresh.db")


async def test_migrations_lead_to_what_the_file_says(path: Path, tmp_path: Path) -> None:
    newer = later(
        shipped(),
        "-- a comment; with a semicolon\nCREATE TABLE added (a TEXT) STRICT;",
        "CREATE INDEX added_a ON added (a)\n  WHERE a <> '';",
        "ALTER TABLE account\n  ADD COLUMN extra TEXT;",
    )
    store = await SqliteStore.open(path)
    account = await Given(store).account()
    await store.close()
    store = await SqliteStore.open(path, schema=newer)
    assert await store.customers.balance(account.id) == 100 * CREDIT
    await store.close()
    fresh = tmp_path / "fresh.db"
    await open_and_close(fresh, newer)
    assert of_sqlite(path) == of_sqlite(fresh)
    assert [number for (number,) in rows(path, "SELECT number FROM migration")] == list(range(1, newer.version + 1))
    assert rows(fresh, "SELECT number, name FROM migration") == [(newer.version, "schema")]
    await open_and_close(path, newer)
    await open_and_close(fresh, newer)


async def test_a_store_made_by_a_newer_file_is_brought_further(path: Path, tmp_path: Path) -> None:
    newer, newest = (
        later(shipped(), "CREATE TABLE one (a);"),
        later(shipped(), "CREATE TABLE one (a);", "CREATE TABLE two (a);"),
    )
    await open_and_close(path, newer)
    await open_and_close(path, newest)
    await open_and_close(tmp_path / "fresh.db", newest)
    assert of_sqlite(path) == of_sqlite(tmp_path / "fresh.db")


async def test_a_newer_schema_is_left_alone(path: Path) -> None:
    newer = later(shipped(), "CREATE TABLE future (a);")
    await open_and_close(path)
    await open_and_close(path, newer)
    before = octets(path)
    with pytest.raises(SchemaTooNew, match=f"version {newer.version} "):
        await open_and_close(path)
    assert octets(path) == before


async def test_a_changed_schema_is_found(path: Path) -> None:
    await open_and_close(path)
    with pytest.raises(SchemaChanged, match="schema"):
        await open_and_close(path, replace(shipped(), tables=shipped().tables + "\n"))


async def test_a_changed_migration_is_found(path: Path) -> None:
    await open_and_close(path)
    await open_and_close(path, later(shipped(), "CREATE TABLE one (a);"))
    with pytest.raises(SchemaChanged, match="later_"):
        await open_and_close(path, later(shipped(), "CREATE TABLE one (b);"))


async def test_a_migration_that_fails_leaves_nothing(path: Path) -> None:
    await open_and_close(path)
    before = of_sqlite(path)
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        await open_and_close(path, later(shipped(), "CREATE TABLE half (a);\nINSERT INTO nowhere VALUES (1);\n"))
    assert of_sqlite(path) == before
    await open_and_close(path)


async def test_a_process_that_dies_in_a_migration_leaves_nothing(path: Path) -> None:
    await open_and_close(path)
    before = of_sqlite(path)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHANGE_IT, str(path), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE_S):
        while not (line := await process.stdout.readline()).startswith(b"WITH RECURSIVE"):
            assert line
    process.kill()
    await process.communicate()
    assert of_sqlite(path) == before
    await open_and_close(path)


@pytest.mark.slow
async def test_processes_that_start_at_once_make_one_schema(path: Path) -> None:
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-W", "error", "-c", OPEN_IT, str(path), stderr=subprocess.PIPE
        )
        for _ in range(6)
    ]
    outputs = await asyncio.gather(*(process.communicate() for process in processes))
    assert [process.returncode for process in processes] == [0] * 6, [stderr.decode() for _, stderr in outputs]
    assert len(rows(path, "SELECT * FROM migration")) == 1
    assert rows(path, "SELECT count FROM probe") == [(6,)]


async def test_stores_opened_at_once_in_one_process(path: Path) -> None:
    stores = await asyncio.gather(*(SqliteStore.open(path) for _ in range(4)))
    await asyncio.gather(*(store.upkeep.probe() for store in stores))
    for store in stores:
        await store.close()
    assert rows(path, "SELECT count FROM probe") == [(4,)]


async def test_the_file_is_its_owners_alone_and_durable(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await SqliteStore.open(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    settings = await store._threads.writer.transact(
        lambda db: [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    )
    assert settings == ["wal", 2]
    await store.close()


async def test_a_row_in_each_table_passes_the_check_of_a_backup(path: Path, tmp_path: Path) -> None:
    # SQLite 3.40's quick_check misreads rows whose key has a column that stands behind other columns
    value = {"INTEGER": "1", "TEXT": "'a'", "REAL": "1.0", "BLOB": "x'00'"}
    await open_and_close(path)
    db = sqlite3.connect(path)
    tables = [name for (name,) in db.execute("SELECT name FROM pragma_table_list WHERE type = 'table' AND wr")]
    for table in tables:
        kinds = db.execute("SELECT type FROM pragma_table_info(?) ORDER BY cid", (table,)).fetchall()
        db.execute(f"INSERT INTO {table} VALUES ({', '.join(value[kind] for (kind,) in kinds)})")
    db.commit()
    db.close()
    assert {"price", "cost"} <= set(tables)
    back_up(path, tmp_path / "copy.db")
