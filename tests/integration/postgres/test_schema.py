"""How the database's tables are made, and brought up to date."""

import asyncio
from dataclasses import replace

import asyncpg
import pytest

from heliograph.adapters.store.postgres import PostgresStore, SchemaChanged, SchemaTooNew
from heliograph.adapters.store.postgres.schema import shipped
from heliograph.adapters.store.shared.schema import Schema
from heliograph.app.ports import Unavailable
from tests.support.postgres import LIMITS, server
from tests.support.schema_catalogue import of_postgres
from tests.support.schema_versions import later, released
from tests.support.store import CREDIT, Given
from tests.support.timeouts import PATIENCE_S, until

DIE = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event = 'PgSleep'
"""
"""Ends the connection that sleeps in this database. Other tests' connections may sleep in other databases."""


async def rows(url: str, query: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in await server().fetch(query, url.rpartition("/")[2])]


async def open_and_close(url: str, schema: Schema | None = None) -> None:
    store = await PostgresStore.open(url, limits=LIMITS, schema=schema)
    await store.close()


@pytest.fixture
async def empty() -> str:
    return await server().empty()


async def test_a_new_store_is_made_once(empty: str) -> None:
    await open_and_close(empty)
    first = await of_postgres(empty)
    await open_and_close(empty)
    assert await of_postgres(empty) == first
    made = shipped().creation
    assert await rows(empty, "SELECT * FROM migration") == [(made.number, made.name, made.checksum)]


@pytest.mark.parametrize("start", [*released("postgres"), shipped()], ids=lambda start: f"version {start.version}")
async def test_every_version_is_brought_to_what_the_files_say(start: Schema, empty: str) -> None:
    await open_and_close(empty, start)
    await open_and_close(empty)
    assert await of_postgres(empty) == await of_postgres(await server().fresh())


async def test_migrations_lead_to_what_the_files_say(empty: str) -> None:
    newer = later(
        shipped(),
        "ALTER TABLE account ADD COLUMN extra text;",
        "CREATE TABLE added (a integer);",
        functions="CREATE OR REPLACE FUNCTION added() RETURNS integer LANGUAGE sql AS 'SELECT a FROM added';",
    )
    url = await server().fresh()
    older = await PostgresStore.open(url, limits=LIMITS)
    given = Given(older)
    account = await given.account()
    await given.sent(account.id)
    store = await PostgresStore.open(url, limits=LIMITS, schema=newer)
    await given.sent(account.id)
    assert await store.customers.balance(account.id) == await older.customers.balance(account.id) == 98 * CREDIT
    await store.close()
    await older.close()
    await open_and_close(empty, newer)
    assert await of_postgres(url) == await of_postgres(empty)
    assert [number for (number,) in await rows(url, "SELECT number FROM migration ORDER BY 1")] == [1, 2, 3]
    assert await rows(empty, "SELECT number, name FROM migration") == [(newer.version, "schema")]
    await open_and_close(url, newer)
    await open_and_close(empty, newer)


async def test_a_newer_schema_is_left_alone(empty: str) -> None:
    newer = later(shipped(), "CREATE TABLE future (a integer);")
    await open_and_close(empty)
    await open_and_close(empty, newer)
    before = await of_postgres(empty)
    with pytest.raises(SchemaTooNew, match=f"version {newer.version} "):
        await open_and_close(empty)
    assert await of_postgres(empty) == before


async def test_a_changed_schema_is_found(empty: str) -> None:
    await open_and_close(empty)
    with pytest.raises(SchemaChanged, match="schema"):
        await open_and_close(empty, replace(shipped(), functions=shipped().functions + "\n"))


async def test_a_changed_migration_is_found(empty: str) -> None:
    await open_and_close(empty)
    await open_and_close(empty, later(shipped(), "CREATE TABLE one (a integer);"))
    with pytest.raises(SchemaChanged, match="later_"):
        await open_and_close(empty, later(shipped(), "CREATE TABLE one (b integer);"))


async def test_a_migration_that_fails_leaves_nothing(empty: str) -> None:
    await open_and_close(empty)
    before = await of_postgres(empty)
    with pytest.raises(asyncpg.UndefinedTableError, match="nowhere"):
        await open_and_close(empty, later(shipped(), "CREATE TABLE half (a integer); INSERT INTO nowhere VALUES (1);"))
    assert await of_postgres(empty) == before
    await open_and_close(empty)


async def test_a_connection_that_dies_in_a_migration_leaves_nothing(empty: str) -> None:
    await open_and_close(empty)
    before = await of_postgres(empty)
    migrating = asyncio.create_task(
        open_and_close(empty, later(shipped(), "CREATE TABLE half (a integer); SELECT pg_sleep(600);"))
    )
    await until(lambda: rows(empty, DIE), "the migration sleeps")
    await asyncio.wait([migrating], timeout=PATIENCE_S)
    assert migrating.done(), "the migration goes on without its connection"
    assert isinstance(migrating.exception(), Unavailable)
    assert await of_postgres(empty) == before
    await open_and_close(empty)


@pytest.mark.parametrize("_", range(5))
async def test_stores_opened_at_once_make_one_schema(empty: str, _: int) -> None:
    stores = await asyncio.gather(*(PostgresStore.open(empty, limits=LIMITS) for _ in range(8)))
    await asyncio.gather(*(store.upkeep.probe() for store in stores))
    for store in stores:
        await store.close()
    assert len(await rows(empty, "SELECT * FROM migration")) == 1
    assert await rows(empty, "SELECT * FROM writer") == []
