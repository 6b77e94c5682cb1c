"""A disk that changes octets behind the store's back: a start or the audit says so, and nothing dies of it.

SQLite has no checksums. A flipped bit in a value is therefore found only where another row contradicts it: in money and
in states, but not in a text. docs/operating.md says so.
"""

import asyncio
import random
import sqlite3
from pathlib import Path

import pytest

from heliograph.adapters.store.shared.schema import SchemaChanged, SchemaTooNew
from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.adapters.store.sqlite.connection import describe, is_outage
from heliograph.app.ports import DamagedRow, Unavailable
from heliograph.app.records import Search
from heliograph.composition.encryption import sealed
from heliograph.domain.message.ids import to_hex
from heliograph.domain.money.amounts import EntryKind
from tests.support.connectors import smpp_connector
from tests.support.store import NODE, Given, SqliteOpener

FLIPS = 60
SEED = 34

CONTRADICTED = (
    "SELECT id, balance FROM account ORDER BY id",
    f"SELECT account, iif(kind = {EntryKind.TOP_UP:d}, 0, key), kind, amount FROM ledger ORDER BY 1, 2, 3, 4",
    "SELECT key, account, price, state FROM message ORDER BY key",
)
"""Values that other rows prove. Nothing proves the time of a top-up, which is its key."""


async def filled(path: Path) -> bytes:
    """Makes a store, and returns the octets of its file."""
    store = await SqliteStore.open(path, on_loop=False)
    given = Given(store)
    for name in ("acme", "beta"):
        account = await given.account(name)
        await given.recorded(given.batch(account.id, 40))
        for _ in range(10):
            await given.sent(account.id, content="Grüße " * 20)
            await given.scheduled(account.id)
    assert await store.upkeep.damage() == []
    await store.close()
    return await asyncio.to_thread(path.read_bytes)  # closing has emptied the log


async def findings(path: Path) -> list[str] | None:
    """The findings of a start and of `heliograph audit --deep`; None if there are none."""
    try:
        store = await SqliteStore.open(path, on_loop=False)
        try:
            return await store.upkeep.damage() or await store.upkeep.audit() or None
        finally:
            await store.close()
    except (Unavailable, SchemaChanged, SchemaTooNew, sqlite3.OperationalError) as refused:
        return [str(refused)]  # the last: a name in the schema is another


def values(path: Path) -> list[list[tuple[object, ...]]]:
    """The values that money and states are made of."""
    db = sqlite3.connect(path)
    try:
        return [db.execute(text).fetchall() for text in CONTRADICTED]
    finally:
        db.close()


@pytest.mark.parametrize("flips", [FLIPS, pytest.param(1_000, marks=pytest.mark.extended)])
async def test_a_flipped_bit_that_changes_money_is_found(tmp_path: Path, flips: int) -> None:
    chance = random.Random(SEED)
    whole = await filled(tmp_path / "whole.db")
    right = values(tmp_path / "whole.db")
    used = [place for place, octet in enumerate(whole) if octet]  # most of a small file is free space
    unfound = 0
    for number in range(flips):
        damaged = bytearray(whole)
        damaged[chance.choice(used)] ^= 1 << chance.randrange(8)
        path = tmp_path / "damaged.db"
        path.write_bytes(damaged)
        if await findings(path) is None:
            unfound += 1
            assert values(path) == right, number
        for left in ("damaged.db-wal", "damaged.db-shm"):
            (tmp_path / left).unlink(missing_ok=True)
    assert unfound < flips / 2


async def test_a_file_that_lost_its_end_is_refused_or_found(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    whole = await filled(tmp_path / "whole.db")
    for number in range(FLIPS // 2):
        path = tmp_path / f"{number}.db"
        path.write_bytes(whole[: chance.randrange(1, len(whole))])
        assert await findings(path), number


async def test_a_torn_page_is_found(tmp_path: Path) -> None:
    whole = bytearray(await filled(tmp_path / "store.db"))
    pages = len(whole) // 4096
    for page in (1, pages // 2, pages - 1):
        torn = bytearray(whole)
        torn[page * 4096 : page * 4096 + 512] = bytes(512)
        (tmp_path / "torn.db").write_bytes(torn)
        assert await findings(tmp_path / "torn.db"), page


async def test_a_name_in_the_schema_that_is_no_text_any_more_is_found(tmp_path: Path) -> None:
    """SQLite's error has the name, and Python cannot decode it."""
    whole = await filled(tmp_path / "store.db")
    (tmp_path / "named.db").write_bytes(whole.replace(b"WHERE substr(", b"WHERE \xf3ubstr("))
    assert await findings(tmp_path / "named.db")


NO_TEXT = "CAST(x'4772fc736520' AS TEXT)"
"""The octets of "Grüße" in Latin-1: no UTF-8."""


@pytest.fixture
async def opener(tmp_path: Path) -> SqliteOpener:
    return SqliteOpener(tmp_path)


async def test_a_text_that_is_no_text_any_more_fails_its_message_alone(opener: SqliteOpener) -> None:
    """A disk that changes the first bit of an octet leaves no UTF-8."""
    store = await opener()
    given = Given(store)
    account = await given.account()
    damaged, whole = [await given.sent(account.id, content="Grüße", queued=True) for _ in range(2)]
    await opener.execute(f"UPDATE message SET content = {NO_TEXT} WHERE key = {damaged.key}")
    page = await store.messages.search(Search())
    assert {hit.message.key: hit.message.is_unreadable for hit in page.hits} == {damaged.key: True, whole.key: False}
    claimed = await store.queue.claim(1, 10, given.now, NODE)
    assert [(each.message.key, each.message.content) for each in claimed] == [(damaged.key, ""), (whole.key, "Grüße")]
    encryption = (await sealed(store, None, given.now)).encryption
    (finding,) = await encryption.damage()
    assert f"message.content of {to_hex(damaged.key, damaged.tail)}" in finding
    await store.close()


async def test_json_that_is_no_text_any_more_is_damaged_json(opener: SqliteOpener) -> None:
    store = await opener()
    await store.network.add_connector(smpp_connector(0, "op", "", 0, "", ""))
    await opener.execute(f"UPDATE connector SET settings = replace(settings, 'host', {NO_TEXT})")
    (connector,) = (await store.network.tables()).connectors
    assert (connector.state, connector.settings) == ("off", {})
    assert store.unreadable.take_fresh() == [("connector.settings", "op")]
    await Given(store).account("acme")
    await opener.execute(f"UPDATE account SET networks = {NO_TEXT}")
    with pytest.raises(DamagedRow, match=r"account\.networks of acme"):
        await store.accounts.all()
    await store.close()


async def test_another_text_that_is_no_text_any_more_is_shown_as_far_as_it_is(opener: SqliteOpener) -> None:
    store = await opener()
    given = Given(store)
    account = await given.account()
    message = await given.sent(account.id, sender="Gruesse")
    await opener.execute(f"UPDATE message SET sender = {NO_TEXT}")
    ((hit,),) = ((await store.messages.search(Search())).hits,)
    assert (hit.message.key, hit.message.sender) == (message.key, "Gr\ufffdse ")
    await store.close()


def test_the_reason_of_a_fault_has_no_text() -> None:
    fault = sqlite3.OperationalError("Could not decode to UTF-8 column 'content' with text 'with text secret'")
    assert is_outage(fault)
    assert describe(fault) == "OperationalError: Could not decode to UTF-8 column 'content'"
