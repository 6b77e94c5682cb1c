"""Completion of names in the shell, from a PostgreSQL database."""

import asyncio

import asyncpg
import pytest

from heliograph.adapters.store import names
from heliograph.adapters.store.postgres import PostgresStore
from tests.support.postgres import server
from tests.support.store import Given
from tests.support.timeouts import PATIENCE_S, until

SLEEPING = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"


async def found(url: str, kind: str, begin: str = "") -> list[tuple[str, str]]:
    return await asyncio.to_thread(names.names_in_database, url, kind, begin, PATIENCE_S)


async def test_each_kind_is_read(url: str, store: PostgresStore, given: Given) -> None:
    account = await given.account()
    del store
    assert await found(url, "account", account.name[:2]) == [(account.name, "")]
    assert await found(url, "account", "%") == []
    for kind in names._STATEMENTS:
        assert isinstance(await found(url, kind), list)


async def test_it_gives_up_in_time(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(names._STATEMENTS, "account", "SELECT $1::text, pg_sleep(600)::text")
    with pytest.raises((TimeoutError, asyncpg.QueryCanceledError)):
        await asyncio.to_thread(names.names_in_database, url, "account", "", 0.5)

    async def is_over() -> bool:
        return not await server().fetch(SLEEPING, url.rpartition("/")[2])

    await until(is_over, "the end of the statement")
