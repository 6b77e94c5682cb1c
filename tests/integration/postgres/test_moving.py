"""The embedded store moves to a database: every row of every table, once, whatever interrupts it."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from heliograph.adapters.store.postgres import PostgresStore
from heliograph.adapters.store.postgres import moving as arrival
from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.adapters.store.sqlite import moving as departure
from heliograph.app.ports import Unavailable
from heliograph.composition import moving
from heliograph.composition.commands import STORE_FILE
from heliograph.config import Settings, load
from heliograph.domain.message.suppression import suppression_digest
from tests.support.background_sink import BackgroundSink
from tests.support.load import Load
from tests.support.postgres import LIMITS, PostgresOpener, plain_rows, server
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually
from tests.support.store import Given

UNCHANGED = frozenset({"mark", "queue", "awaiting", "callback_retry", "inbound_part", "inbound_unanswered", "listing"})
"""Tables with rows that the move changes on purpose."""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = load(tmp_path / "data", None, {})
    settings.data.mkdir()
    return settings


@pytest.fixture
async def url() -> str:
    """An empty database."""
    return await server().empty()


async def filled(path: Path, messages: int = 25) -> int:
    """Makes a store with an account and its messages, and returns the account's id."""
    store = await SqliteStore.open(path, on_loop=False)
    given = Given(store)
    account = await given.account()
    for number in range(messages):
        await (given.scheduled if number % 2 else given.sent)(account.id, destination=f"4917012{number:05}")
    await store.close()
    return account.id


async def rows_at(url: str, table: str, columns: list[str]) -> set[tuple[Any, ...]]:
    db = await asyncpg.connect(url)
    try:
        names = ", ".join(f'"{column}"' for column in columns)
        return {tuple(row) for row in await db.fetch(f"SELECT {names} FROM heliograph.{table}")}
    finally:
        await db.close()


async def test_every_row_of_every_table_arrives(settings: Settings, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = settings.data / STORE_FILE
    await (await SqliteStore.open(path, on_loop=False)).close()
    db = sqlite3.connect(path)
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    tables = [
        name for name in tables if not name.startswith("sqlite_") and name not in moving._LEFT | {"migration", "probe"}
    ]
    for table in tables:
        columns = [(row[1], row[2]) for row in db.execute(f"PRAGMA table_info({table})")]
        db.execute(f"DELETE FROM {table}")
        single = table in {"deed_head", "resealing", "sign_in_key"}
        for number in (1,) if single else (0, 1):
            values = {"INTEGER": number, "REAL": number + 0.5, "TEXT": f"Größe {number}", "BLOB": b"\0\xff%d" % number}
            row = [values.get(kind, f"Über\0{number}") for _, kind in columns]
            db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    db.commit()
    monkeypatch.setattr(departure.MovingFile, "audit", lambda _: [])
    with departure.moving(path) as file:
        async with arrival.arriving(url, file.identity) as database:
            assert database is not None
            assert {table for table in database.columns if table not in moving._LEFT} == set(tables) | {"listing"}
            await moving._copy(file, database, lambda *_: None)
    for table in set(tables) - UNCHANGED:
        columns = [(row[1], row[2]) for row in db.execute(f"PRAGMA table_info({table})") if row[1] != "last_list"]
        names = [moved_name(table, name) for name, _ in columns]
        selected = ", ".join(f'"{name}"' for name, _ in columns)
        found = await rows_at(url, table, names)
        expected = {
            tuple(value.encode() if kind == "ANY" else value for value, (_, kind) in zip(row, columns, strict=True))
            for row in db.execute(f"SELECT {selected} FROM {table}")
        }
        assert found == expected, table
    db.close()
    for table in UNCHANGED - {"mark"}:
        assert await rows_at(url, table, list(database.columns[table])), table


def moved_name(table: str, column: str) -> str:
    sources = {(table, source.strip('"')): name for (table, name), source in moving._RENAMED.items()}
    return sources.get((table, column), column)


async def test_the_store_goes_on_in_the_database(settings: Settings, url: str) -> None:
    path = settings.data / STORE_FILE
    account = await filled(path)
    db = sqlite3.connect(path)
    [(key, balance)] = db.execute("SELECT key, balance FROM suppression_key, account").fetchall()
    db.close()
    seen: list[tuple[str, int, int]] = []
    rows = await moving.move(settings, url, lambda *each: seen.append(each))
    assert rows["message"] == 25
    assert ("message", 25, 25) in seen
    store = await PostgresStore.open(url, limits=LIMITS)
    assert await rows_at(url, "account", ["id", "balance"]) == {(account, balance)}
    assert (await store.upkeep.backlog())["scheduled"] == 12
    # the fast lane's messages have rows now, so that any node finds them
    assert len(await rows_at(url, "queue", ["key"])) == 25
    # new rows have ids of their own
    assert (await Given(store).account("another")).id > account
    await store.close()
    arrived = await asyncpg.connect(url, server_settings={"search_path": "heliograph"})
    digest = await arrived.fetchval("SELECT suppression_digest($1, $2) FROM suppression_key", account, "491701")
    await arrived.close()
    assert digest == suppression_digest(key, account, "491701")
    for _ in range(2):
        with pytest.raises(Unavailable, match=r"moved to PostgreSQL.*store\.url"):
            await SqliteStore.open(path)


async def test_a_broken_off_move_goes_on(settings: Settings, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = settings.data / STORE_FILE
    await filled(path)
    monkeypatch.setattr(departure, "BATCH_ROWS", 10)

    def break_off(table: str, done: int, _: int) -> None:
        if (table, done) == ("message", 20):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await moving.move(settings, url, break_off)
    with pytest.raises(Unavailable, match=r"not finished.*--abandon"):
        await SqliteStore.open(path)
    seen: list[tuple[str, int, int]] = []
    await moving.move(settings, url, lambda *each: seen.append(each))
    assert [done for table, done, _ in seen if table == "message"] == [20, 25]
    assert len(await rows_at(url, "message", ["key"])) == 25


async def test_a_move_whose_end_was_not_noted_ends(
    settings: Settings, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = settings.data / STORE_FILE
    await filled(path)
    with monkeypatch.context() as patched:
        patched.setattr(departure.MovingFile, "end", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            await moving.move(settings, url, lambda *_: None)
    assert await moving.move(settings, url, lambda *_: None) == {}
    assert len(await rows_at(url, "message", ["key"])) == 25
    with pytest.raises(Unavailable, match="were moved"):
        moving.abandon(settings)


async def test_an_abandoned_move_leaves_the_file_in_use(settings: Settings, url: str) -> None:
    path = settings.data / STORE_FILE
    await filled(path)

    def break_off(table: str, *_: int) -> None:
        if table == "message":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await moving.move(settings, url, break_off)
    moving.abandon(settings)
    await (await SqliteStore.open(path, on_loop=False)).close()
    with pytest.raises(Unavailable, match="no move of it was begun"):
        moving.abandon(settings)


async def test_the_rows_of_two_stores_never_mix(settings: Settings, tmp_path: Path) -> None:
    await filled(settings.data / STORE_FILE)
    opener = PostgresOpener(tmp_path)
    await (await opener()).close()
    assert opener.url is not None
    before = await plain_rows(opener.url)
    with pytest.raises(Unavailable, match=r"has another store in its schema heliograph; .*DROP SCHEMA"):
        await moving.move(settings, opener.url, lambda *_: None)
    assert await plain_rows(opener.url) == before
    await (await SqliteStore.open(settings.data / STORE_FILE, on_loop=False)).close()


async def test_wrong_books_do_not_move(settings: Settings, url: str) -> None:
    path = settings.data / STORE_FILE
    await filled(path)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE account SET balance = balance + 1")
    db.close()
    with pytest.raises(Unavailable, match="ledgers are not right"):
        await moving.move(settings, url, lambda *_: None)
    await (await SqliteStore.open(path, on_loop=False)).close()


@pytest.mark.slow
def test_waiting_messages_go_out_after_the_move(tmp_path: Path) -> None:
    url = asyncio.run(server().empty())
    admin = Admin(tmp_path / "one")
    account = admin.account("acme", "100000")
    with BackgroundSink() as sink, SimulatorProcess(tmp_path, magic=False, receipt_delay_ms=300) as simulator:
        admin.operator(simulator.port, "operator", "", "--rate", "20")
        with (
            GatewayProcess(tmp_path / "one") as gateway,
            Load(gateway.url, "acme", account["api_key"], connections=4, dlr_url=sink.url()) as load,
        ):
            load.wait_for(60)
            load.stop()
            accepted = dict(load.accepted)
            gateway.kill()
        moved = admin("move", "--to", url)
        assert moved["rows"]["message"] >= len(accepted)
        settings = {"HELIOGRAPH_DATABASE_URL": url}
        Admin(tmp_path / "one", settings).assert_books_right()
        Admin(tmp_path / "one", settings)("connector", "set", "operator", "rate=0")
        with GatewayProcess(tmp_path / "one", settings=settings):
            eventually(lambda: set(accepted) <= set(simulator.destinations()), "all are sent")
            eventually(lambda: set(accepted.values()) <= sink.ids(), "all receipts are told")
        Admin(tmp_path / "one", settings).assert_books_right()
