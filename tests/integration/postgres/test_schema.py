"""The schema's versions."""

import asyncio

import asyncpg
import pytest

from heliograph.adapters.store.postgres import PostgresStore, SchemaChanged, SchemaTooNew
from heliograph.adapters.store.postgres.schema import shipped
from heliograph.adapters.store.shared.schema import Migration
from tests.support.postgres import LIMITS, server
from tests.support.store import CREDIT, Given


async def rows(url: str, query: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in await server().fetch(query, url.rpartition("/")[2])]


async def schema(url: str) -> list[tuple[object, ...]]:
    return await rows(
        url,
        """
        SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'heliograph'
        UNION ALL SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = 'heliograph'
        UNION ALL SELECT 'function', proname, prosrc FROM pg_proc WHERE pronamespace = 'heliograph'::regnamespace
        ORDER BY 1, 2, 3
        """,
    )


async def open_and_close(url: str, migrations: list[Migration] | None = None) -> None:
    store = await PostgresStore.open(url, limits=LIMITS, migrations=migrations)
    await store.close()


@pytest.fixture
async def empty() -> str:
    return await server().empty()


async def test_migrations_are_recorded_and_applied_once(empty: str) -> None:
    await open_and_close(empty)
    first = await schema(empty)
    await open_and_close(empty)
    assert await schema(empty) == first
    assert await rows(empty, "SELECT number, name, checksum FROM migration ORDER BY number") == [
        (migration.number, migration.name, migration.checksum) for migration in shipped()
    ]


async def test_the_numbers_go_up_by_one() -> None:
    assert [migration.number for migration in shipped()] == list(range(1, len(shipped()) + 1))


async def test_what_is_new_is_applied_on_top_while_an_older_program_goes_on() -> None:
    url = await server().fresh()
    older = await PostgresStore.open(url, limits=LIMITS)
    given = Given(older)
    account = await given.account()
    await given.sent(account.id)
    last = shipped()[-1].number
    extended = Migration(last + 1, "extended", "ALTER TABLE account ADD COLUMN extra text;")
    added = Migration(last + 2, "added", "CREATE TABLE added (a integer); DROP TABLE added;")
    newer = await PostgresStore.open(url, limits=LIMITS, migrations=[*shipped(), extended, added])
    await given.sent(account.id)
    assert await newer.balance(account.id) == await older.balance(account.id) == 98 * CREDIT
    await newer.close()
    await older.close()
    with pytest.raises(SchemaTooNew, match=str(last + 1)):
        await open_and_close(url)


async def test_a_newer_schema_is_left_alone(empty: str) -> None:
    future = Migration(9_000, "from_the_future", "CREATE TABLE future (a integer)")
    await open_and_close(empty, [*shipped(), future])
    before = await schema(empty)
    with pytest.raises(SchemaTooNew, match="9000"):
        await open_and_close(empty)
    assert await schema(empty) == before


async def test_a_changed_migration_is_found(empty: str) -> None:
    await open_and_close(empty)
    first, *rest = shipped()
    with pytest.raises(SchemaChanged, match=first.name):
        await open_and_close(empty, [Migration(first.number, first.name, first.text + "\n"), *rest])


async def test_a_migration_that_fails_leaves_nothing(empty: str) -> None:
    await open_and_close(empty)
    before = await schema(empty)
    bad = Migration(9_000, "bad", "CREATE TABLE half (a integer); INSERT INTO nowhere VALUES (1);")
    with pytest.raises(asyncpg.UndefinedTableError, match="nowhere"):
        await open_and_close(empty, [*shipped(), bad])
    assert await schema(empty) == before
    await open_and_close(empty)


async def test_stores_opened_at_once_make_one_schema(empty: str) -> None:
    stores = await asyncio.gather(*(PostgresStore.open(empty, limits=LIMITS) for _ in range(8)))
    await asyncio.gather(*(store.probe() for store in stores))
    for store in stores:
        await store.close()
    assert len(await rows(empty, "SELECT * FROM migration")) == len(shipped())
    assert await rows(empty, "SELECT * FROM writer") == []
