"""What whoever looks after a database may set for the role, the database or the server, and what it does to us."""

import asyncio
import struct
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest

from heliograph.adapters.store.postgres import PostgresStore
from heliograph.adapters.store.postgres.session import settle
from heliograph.app.facts import Facts, Verdict
from heliograph.app.ports import Unavailable
from tests.support.postgres import LIMITS, Server, server
from tests.support.process import Admin
from tests.support.store import CREDIT, Given
from tests.support.timeouts import PATIENCE_S, until

ADVERSE = {
    "lock_timeout": "100ms",
    "statement_timeout": "400ms",
    "idle_in_transaction_session_timeout": "100ms",
    "idle_session_timeout": "100ms",
    "default_transaction_isolation": "serializable",
    "default_transaction_deferrable": "on",
    "synchronous_commit": "off",
    "search_path": "nowhere",
    "row_security": "off",
    "client_encoding": "LATIN1",
    "datestyle": "SQL, DMY",
    "intervalstyle": "sql_standard",
    "timezone": "Asia/Kolkata",
    "bytea_output": "escape",
    "standard_conforming_strings": "off",
    "transform_null_equals": "on",
    "extra_float_digits": "-5",
    "jit": "on",
    "plan_cache_mode": "force_custom_plan",
    "work_mem": "64kB",
}

TRANSACTION_TIMEOUT = "400ms"
"""Known from PostgreSQL 17 on: more than one of ours takes here, less than `HELD_S`."""

NOTICED_S = 12
"""Longest time after which the server notices that the machine of a client is gone."""

HELD_S = 0.5
"""Time for which another transaction holds a row that is asked for, and for which connections have nothing to do."""

SESSIONS = "SELECT pid FROM pg_stat_activity WHERE datname = $1 AND application_name = 'heliograph' ORDER BY pid"


@pytest.fixture
async def adverse() -> str:
    """The URL of a database of a role of its own, with everything set that may be."""
    url = await server().empty()
    name = url.rpartition("/")[2]
    settings = dict(ADVERSE)
    if (await server().fetch("SHOW server_version_num"))[0][0] >= "17":
        settings["transaction_timeout"] = TRANSACTION_TIMEOUT
    await server().execute(f"CREATE ROLE {name} LOGIN")
    await server().execute(f"ALTER DATABASE {name} OWNER TO {name}")
    for number, (setting, value) in enumerate(settings.items()):
        whose = f"DATABASE {name}" if number % 2 else f"ROLE {name}"
        await server().execute(f"ALTER {whose} SET {setting} = '{value}'")
    return url.replace("postgres@", f"{name}@")


async def test_what_a_role_or_a_database_has_for_a_default_is_not_what_we_work_by(adverse: str) -> None:
    store = await PostgresStore.open(adverse, limits=LIMITS)
    given = Given(store)
    account = await given.account()
    await store.commits.recover(0, 42)
    other = await asyncpg.connect(server().url(adverse.rpartition("/")[2]))
    await other.execute("SET statement_timeout = 0; SET idle_session_timeout = 0")
    await other.execute(f"BEGIN; SELECT 1 FROM heliograph.account WHERE id = {account.id} FOR UPDATE")
    sent = [asyncio.create_task(given.sent(account.id)) for _ in range(20)]
    paid = [asyncio.create_task(store.accounts.add_credit(account.id, 1, "", given.now)) for _ in range(20)]
    await asyncio.sleep(HELD_S)
    await other.execute("COMMIT")
    await asyncio.gather(*sent, *paid)
    name = adverse.rpartition("/")[2]
    sessions = await other.fetch(SESSIONS, name)
    await asyncio.sleep(HELD_S)
    assert len(sessions) > 1
    assert await other.fetch(SESSIONS, name) == sessions
    await other.close()
    assert await store.customers.balance(account.id) == 80 * CREDIT + 20
    assert await store.upkeep.audit() == []
    await store.close()


async def test_the_server_gives_up_a_client_that_vanished_within_seconds() -> None:
    """A statement that was prepared and not executed holds its locks under no time limit but this one."""
    db = await asyncpg.connect(await server().empty())
    await settle(db, LIMITS, patient=False)
    idle, interval, probes, unacknowledged_ms = [
        int(await db.fetchval("SELECT setting FROM pg_settings WHERE name = $1", name))
        for name in ("tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count", "tcp_user_timeout")
    ]
    await db.close()
    assert 0 < idle + interval * probes <= NOTICED_S
    assert 0 < unacknowledged_ms <= NOTICED_S * 1000


async def is_lost(own_server: Server, store: PostgresStore) -> bool:
    """Whether a message that is told to be accepted is gone when the server loses what it had not written."""
    given = Given(store)
    account = await given.account()
    await own_server.execute("CHECKPOINT")
    accept = given.accept(given.message(account.id))
    await store.commits.record(Facts(accepts=[accept]))
    assert accept.verdict is Verdict.ACCEPTED
    await asyncio.to_thread(own_server.kill_hard)
    await asyncio.to_thread(own_server.start)
    return not await own_server.fetch(f"SELECT 1 FROM message WHERE key = {accept.key}")


@pytest.fixture
async def lazy() -> AsyncIterator[Server]:
    """A server that writes what no commit has waited for as late as it may."""
    server = Server(wal_writer_delay="10s", wal_writer_flush_after="1GB")
    server.start()
    yield server
    server.remove()


@pytest.mark.slow
@pytest.mark.parametrize("since", ["before", "meanwhile"])
async def test_what_is_accepted_is_kept_though_commits_are_not_synced_by_default(lazy: Server, since: str) -> None:
    """Also where that becomes the default while our sessions are open: one that has set nothing follows at once."""
    off = "ALTER SYSTEM SET synchronous_commit = off"
    if since == "before":
        await lazy.execute(off)
        await lazy.execute("SELECT pg_reload_conf()")
    store = await PostgresStore.open(lazy.url(), limits=replace(LIMITS, statement=PATIENCE_S))
    await store.commits.recover(0, 42)
    await store.commits.record(Facts(marks={"a": 1}))
    if since == "meanwhile":
        await lazy.execute(off)
        await lazy.execute("SELECT pg_reload_conf()")

        async def is_off() -> bool:
            return bool((await lazy.fetch("SHOW synchronous_commit"))[0][0] == "off")

        await until(is_off, "the new setting")
    assert not await is_lost(lazy, store)
    await store.close()


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII", "EUC_JP"])
async def test_a_database_that_cannot_hold_every_letter_is_refused(encoding: str) -> None:
    name = f"in_{encoding.lower()}"
    name = f"in_{encoding.lower()}"
    await server().execute(
        f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
    )
    with pytest.raises(Unavailable, match=f"its encoding is {encoding}; UTF8 is needed"):
        await PostgresStore.open(server().url(name), limits=LIMITS)


async def test_a_connection_begins_with_what_a_pooler_knows() -> None:
    """PgBouncer refuses one that brings parameters which it does not track."""
    brought: dict[bytes, bytes] = {}

    async def pooler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        (length,) = struct.unpack(">I", await reader.readexactly(4))
        words = (await reader.readexactly(length - 4))[4:].split(b"\0")
        brought.update(zip(words[::2], words[1::2], strict=False))
        writer.close()

    listener = await asyncio.start_server(pooler, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    with pytest.raises(Unavailable):
        await PostgresStore.open(f"postgresql://heliograph@127.0.0.1:{port}/x?sslmode=disable", limits=LIMITS)
    listener.close()
    assert brought.keys() - {b""} == {b"user", b"database", b"client_encoding", b"application_name"}


@pytest.mark.parametrize("fsync", ["off", "on"])
async def test_a_server_that_does_not_sync_is_told(fsync: str, tmp_path: Path) -> None:
    own = Server(fsync=fsync)
    try:
        await asyncio.to_thread(own.start)
        admin = Admin(tmp_path, {"HELIOGRAPH_DATABASE_URL": own.url()})
        doctor = await asyncio.to_thread(admin.run, "doctor", "--json")
    finally:
        own.remove()
    assert ("fsync = off" in doctor.stdout) is (fsync == "off"), doctor.stdout
