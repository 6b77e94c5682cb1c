"""The chain of the audit log: one, whoever writes at once, and broken by whoever changes it behind the store's back."""

import asyncio
import sqlite3
from contextlib import AsyncExitStack, closing
from functools import partial
from typing import Protocol

import asyncpg
import pytest

from heliograph.app.configuration import Missing
from heliograph.app.ports import Store
from heliograph.app.records import AuditEntry, AuditHead, AuditQuery
from heliograph.app.resources.audit_proof import faults, head
from heliograph.app.resources.desk import Desk
from heliograph.domain.security.audit_chain import GENESIS, details_text, entry_hash
from tests.support.memory_store import MemoryStore
from tests.support.postgres import PostgresOpener
from tests.support.store import OPENERS, START, Given, Opener, SqliteOpener
from tests.support.use_case_fakes import SetClock

WRITERS = 4
EACH = 15


def deed(number: int, actor: str = "user:ada") -> AuditEntry:
    return AuditEntry(START + number, actor, "account.set", "acme", {"to": "ächt", "from": str(number)}, "192.0.2.7")


def noted(number: int, actor: str, _: object) -> AuditEntry:
    return deed(number, actor)


def at(store: Store) -> Desk:
    return Desk(store, SetClock())


async def test_each_entry_has_the_hash_of_the_one_before(store: Store) -> None:
    assert await store.audit_log.head() == AuditHead(0, GENESIS)
    assert await store.audit_log.links(0, 10) == []
    previous = GENESIS
    for number in range(1, 4):
        await store.audit_log.append(deed(number))
        details = details_text({"from": str(number), "to": "ächt"})
        texts = ("user:ada", "account.set", "acme", details, "192.0.2.7")
        expected = entry_hash(previous, number, START + number, texts)
        (link,) = await store.audit_log.links(number - 1, 10)
        assert (link.key, link.at, link.hash) == (number, START + number, expected)
        assert (link.actor, link.action, link.target, link.details, link.address) == texts
        assert await store.audit_log.head() == AuditHead(number, expected)
        previous = expected
    assert [link.key for link in await store.audit_log.links(0, 2)] == [1, 2]
    assert [link.key for link in await store.audit_log.links(-5, 10)] == [1, 2, 3]
    assert await faults(at(store)) == []


async def test_a_change_that_is_refused_leaves_no_gap(store: Store, given: Given) -> None:
    account = await given.account()
    for number in range(3):
        with pytest.raises(Missing):
            await store.noting(lambda _: deed(0)).accounts.add_credit(account.id + 1, 5, "", START)
        await store.noting(partial(noted, number, "user:ada")).accounts.add_credit(account.id, 5, "", START)
    assert [entry.key for entry in await store.audit_log.find(AuditQuery())] == [3, 2, 1]
    assert await faults(at(store)) == []


async def test_writers_at_once_make_one_chain(opener: Opener) -> None:
    async with AsyncExitStack() as stack:
        first = await opener()
        stack.push_async_callback(first.close)
        stores: list[Store] = [first]
        if not isinstance(first, MemoryStore):
            for _ in range(WRITERS - 1):
                stores.append(await opener())
                stack.push_async_callback(stores[-1].close)
        account = await Given(first).account()

        async def write(number: int) -> None:
            store, actor = stores[number % len(stores)], f"user:{number}"
            for step in range(EACH):
                await store.audit_log.append(deed(step, actor))
                noting = store.noting(partial(noted, step, actor))
                await noting.accounts.add_credit(account.id, 5, "", START)

        await asyncio.gather(*map(write, range(WRITERS)))
        assert await faults(at(first)) == []
        head = await first.audit_log.head()
        assert head.key == 2 * WRITERS * EACH
        entries = await first.audit_log.find(AuditQuery(limit=1000))
        assert [entry.key for entry in entries] == list(range(head.key, 0, -1))


class Intruder(Protocol):
    """Somebody who may write to the database, and knows nothing of the gateway's rules."""

    async def __call__(self, statements: str) -> None: ...


def intruder(opener: Opener) -> Intruder:
    async def in_file(statements: str) -> None:
        assert isinstance(opener, SqliteOpener)
        with closing(sqlite3.connect(opener.path)) as db:
            db.executescript(f"DROP TRIGGER deed_stays; DROP TRIGGER deed_stays_there; {statements}")

    async def in_database(statements: str) -> None:
        assert isinstance(opener, PostgresOpener)
        db = await asyncpg.connect(opener.url, server_settings={"search_path": "heliograph"})
        try:
            await db.execute(f"SET session_replication_role = replica; {statements}")  # no trigger fires
        finally:
            await db.close()

    return in_file if isinstance(opener, SqliteOpener) else in_database


@pytest.mark.parametrize("opener", OPENERS, indirect=True)
@pytest.mark.parametrize(
    ("statements", "told"),
    [
        ("DELETE FROM deed WHERE key BETWEEN 2 AND 4", "Entries 2 to 4 of the audit log are missing."),
        ("UPDATE deed SET actor = 'user:eve' WHERE key = 3", "Entry 3 of the audit log was changed"),
        ("UPDATE deed SET details = '{' WHERE key = 3", "Entry 3 of the audit log was changed"),
        ("UPDATE deed SET hash = (SELECT hash FROM deed_head) WHERE key = 3", "Entry 3 of the audit log was changed"),
        ("DELETE FROM deed WHERE key > 4", "ends with entry 4, but 2 further entries were written."),
        ("DELETE FROM deed", "ends with entry 0, but 6 further entries were written."),
        (
            "INSERT INTO deed SELECT 7, at, actor, action, target, details, address, hash FROM deed WHERE key = 6",
            "Entry 7 of the audit log is beyond its end.",
        ),
    ],
)
async def test_what_was_changed_behind_the_stores_back_is_named(opener: Opener, statements: str, told: str) -> None:
    store = await opener()
    for number in range(6):
        await store.audit_log.append(deed(number))
    assert await faults(at(store)) == []
    await intruder(opener)(statements)
    (problem,) = await faults(at(store))
    assert told in problem
    await store.audit_log.find(AuditQuery())  # what is left can be listed
    await store.close()


@pytest.mark.parametrize("opener", OPENERS, indirect=True)
async def test_an_end_that_was_removed_with_care_shows_against_a_head(opener: Opener) -> None:
    store = await opener()
    for number in range(6):
        await store.audit_log.append(deed(number))
    kept = await head(at(store))
    await intruder(opener)(
        "DELETE FROM deed WHERE key > 4; UPDATE deed_head SET key = 4, hash = (SELECT hash FROM deed WHERE key = 4);"
    )
    assert await faults(at(store)) == []
    (problem,) = await faults(at(store), [kept])
    assert "ends with entry 4, but had 6 at" in problem
    for number in range(3):
        await store.audit_log.append(deed(number + 10))
    (problem,) = await faults(at(store), [kept])
    assert "up to entry 6 differs from the log of" in problem
    await store.close()
