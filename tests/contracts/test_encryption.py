"""An encrypted store on each engine: what its rows have, who can open it, and how rows that are there change over."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from heliograph.adapters.encryption.aes_gcm import AesGcmVault
from heliograph.app.configuration import Account, Connector
from heliograph.app.facts import (
    CallbackRetry,
    EarlyReceipt,
    Facts,
    InboundMessage,
    InboundPart,
    MessageEnd,
    PartSet,
)
from heliograph.app.ports import Store
from heliograph.app.ports.encryption import Encryption, KeyRefused, KeyVault
from heliograph.app.ports.factors import FactorKind, SecondFactor
from heliograph.app.records import AdminUser, InboundQuery, Search, UserRole
from heliograph.composition.encryption import OpenedStore, sealed
from heliograph.domain.message.receipt import Delivery
from tests.support.postgres import PostgresOpener, plain_rows
from tests.support.store import NODE, START, Given, SqliteOpener

Openers = SqliteOpener | PostgresOpener

PHONE, OTHER, SENDER = "4917099887766", "447700911223", "4917011223344"
TEXT, ANSWER, BODY = "a marked text", "a marked answer", b"a marked body"
PASSWORD, SECRET, FACTOR = "marked-password", b"a marked signing secret, 32 oct.", b"a marked factor"
MARKERS = (TEXT, ANSWER, BODY.decode(), PASSWORD, SECRET.decode(), FACTOR.decode())

LATER = 10**15
"""A time by which every key counts, and the processes have settled."""


@pytest.fixture(params=[SqliteOpener, PostgresOpener])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Openers:
    made: Openers = request.param(tmp_path)
    return made


VAULT = AesGcmVault("the master key of tests")


@asynccontextmanager
async def opened(opener: Openers, vault: KeyVault | None = VAULT, now: int = LATER) -> AsyncIterator[OpenedStore]:
    store = await opener()
    try:
        yield await sealed(store, vault, now)
    finally:
        await store.close()


async def octets(opener: Openers, store: Store) -> bytes:
    """Everything that is at rest: the files of the folder, or the rows of all tables."""
    if isinstance(opener, SqliteOpener):
        return b"".join(file.read_bytes() for file in sorted(opener.path.parent.iterdir()))
    assert opener.url is not None
    return await plain_rows(opener.url)


async def found_in(opener: Openers, store: Store) -> set[str]:
    at_rest = await octets(opener, store)
    return {marker for marker in MARKERS if marker.encode() in at_rest or marker.encode().hex().encode() in at_rest}


async def plant(given: Given) -> Account:
    """Writes every marker through the store."""
    store = given.store
    account = await given.account(signing=SECRET)
    await store.network.add_connector(
        Connector(0, "op", "smpp", settings={"system_id": "acme", "password": PASSWORD}, created=START)
    )
    await store.users.create(AdminUser("ada", "hash", UserRole.ADMIN, START))
    await store.factors.add(SecondFactor("ada", "f1", FactorKind.APP, "phone", FACTOR, 0, START), [])
    await store.suppressions.suppress(account.id, [OTHER], "import", START)
    message = await given.sent(account.id, destination=PHONE, sender=SENDER, content=TEXT)
    await given.scheduled(account.id, destination=PHONE, content=TEXT)
    inbound = InboundMessage(account.id, 1, PHONE, SENDER, ANSWER, ANSWER.encode(), 0, START, key=given.key(), tail=1)
    parts = PartSet(1, PHONE, SENDER, 7, 2)
    await store.commits.record(
        Facts(
            inbound=[inbound],
            inbound_parts=[InboundPart(parts, 1, 0, True, ANSWER.encode(), START)],
            early=[EarlyReceipt(1, "x1", PHONE, Delivery.DELIVRD, "", START)],
            finals=[MessageEnd(account.id, message.key, Delivery.DELIVRD, "", START, owed=True)],
            callback_retries=[CallbackRetry(account.id, message.key, START, 1, BODY, "no answer", START)],
        )
    )
    await store.upkeep.index_numbers(START + 3_600_000, 1)
    return account


async def check(store: Store, account: Account) -> None:
    """All that was planted is read as it was."""
    read = await store.accounts.by_id(account.id)
    assert read is not None
    assert read.signing_secret == SECRET
    assert [each.secret for each in await store.factors.of("ada")] == [FACTOR]
    tables = await store.network.tables()
    assert tables.connectors[0].settings["password"] == PASSWORD
    assert [each.number for each in await store.suppressions.page(account.id, "", 9)] == [OTHER]
    assert await store.suppressions.find(account.id, OTHER) is not None
    assert await store.suppressions.find(account.id, PHONE) is None
    hits = (await store.messages.search(Search(limit=9))).hits
    assert [(hit.message.destination, hit.message.content) for hit in hits] == [(PHONE, TEXT)] * 2
    assert {hit.message.sender for hit in hits} == {SENDER, "Heliograph"}
    (inbound,) = await store.inbound.find(InboundQuery(limit=9))
    told = inbound.message
    assert (told.sender, told.recipient, told.content, told.octets) == (PHONE, SENDER, ANSWER, ANSWER.encode())
    assert [each.destination for each in await store.receipts.orphans(9)] == [PHONE]


async def check_searches(store: Store) -> None:
    """Whole numbers are found."""
    assert len((await store.messages.search(Search(number=PHONE, limit=9))).hits) == 2
    assert (await store.messages.search(Search(number=OTHER, limit=9))).hits == []
    assert len(await store.inbound.find(InboundQuery(number=PHONE, limit=9))) == 1
    assert len(await store.inbound.find(InboundQuery(number=SENDER, limit=9))) == 1


async def finish(keys: Encryption, limit: int = 50) -> int:
    rounds = 1
    while await keys.advance(LATER, limit):
        rounds += 1
        assert rounds < 100
    return rounds


async def test_nothing_at_rest_can_be_read(opener: Openers) -> None:
    async with opened(opener) as (store, keys):
        await keys.begin(0, delay=0)
        await keys.refresh(LATER)
        account = await plant(Given(store))
        await check(store, account)
        await check_searches(store)
        assert await found_in(opener, store) == set()
        await finish(keys)
        assert await found_in(opener, store) == set()
    async with opened(opener) as (store, keys):
        await check(store, account)
        await check_searches(store)


async def test_a_store_is_encrypted_while_it_is_used(opener: Openers) -> None:
    async with opened(opener) as (store, keys):
        account = await plant(Given(store))
        assert await found_in(opener, store) == set(MARKERS)
        await keys.begin(0, delay=0)
        await keys.refresh(LATER)
        await check(store, account)
        await finish(keys)
        await check(store, account)
        await check_searches(store)
        state = await keys.state()
        assert (state.encrypted, state.keys, state.table) == (True, 1, None)
        await store.upkeep.index_numbers(LATER, 1)
        await check_searches(store)
        if isinstance(opener, PostgresOpener):  # a file has traces of earlier rows
            assert await found_in(opener, store) == set()


async def test_and_decrypted_again(opener: Openers) -> None:
    async with opened(opener) as (store, keys):
        await keys.begin(0, delay=0)
        await keys.refresh(LATER)
        account = await plant(Given(store))
        await finish(keys)
        assert await keys.begin(0, plain=True, delay=0) == 2
        await keys.refresh(LATER)
        await check(store, account)
        await finish(keys)
        await check(store, account)
        await check_searches(store)
        assert not (await keys.state()).encrypted
        with pytest.raises(KeyRefused, match="not encrypted"):
            await keys.begin(0, plain=True)
    async with opened(opener, vault=None) as (store, keys):
        await check(store, account)
        await check_searches(store)
        assert await found_in(opener, store) >= set(MARKERS) - {BODY.decode()}


@pytest.mark.parametrize("plain", [False, True])
async def test_parts_that_wait_or_were_joined_change_over_too(opener: Openers, *, plain: bool) -> None:
    names = ("My Shop", "4917099887766", "")
    sets = [PartSet(1, sender, SENDER, 7, 2) for sender in names]
    parts = [InboundPart(of, n, 0, False, b"part%d" % n, START) for of in sets for n in (1, 2)]
    async with opened(opener) as (store, keys):
        await keys.begin(0, delay=0)
        await keys.refresh(LATER)
        given = Given(store)
        await store.commits.recover(0, NODE)
        await store.commits.record(Facts(inbound_parts=parts))
        (joined,) = await store.inbound.gather(sets[:1], NODE)
        whole = InboundMessage(
            0,
            1,
            names[0],
            SENDER,
            ANSWER,
            ANSWER.encode(),
            0,
            START,
            parts=2,
            parts_of=sets[0],
            key=given.key(),
            tail=1,
        )
        assert len(joined) == 2
        await store.commits.record(Facts(inbound=[whole]))
        await keys.begin(0, delay=0, plain=plain)
        await keys.refresh(LATER)
        await finish(keys, 4)
    # an ended encryption needs no key
    async with opened(opener, None if plain else VAULT) as (store, _):
        await store.commits.record(Facts(inbound_parts=parts[:2]))  # the operator repeats them
        assert await store.inbound.gather(sets[:1], NODE) == []
        found = await store.inbound.gather(sets[1:], NODE)
        assert [[part.octets for part in each] for each in found] == [[b"part1", b"part2"]] * 2


async def test_a_rotation_goes_on_where_it_was_interrupted(opener: Openers) -> None:
    async with opened(opener) as (store, keys):
        await keys.begin(0, delay=0)
        await keys.refresh(LATER)
        account = await plant(Given(store))
        await finish(keys)
        assert await keys.begin(0, delay=0) == 2
        for _ in range(5):
            assert await keys.advance(LATER, 1)
        before = await keys.state()
    async with opened(opener) as (store, keys):
        assert await keys.state() == before
        assert before.table is not None
        await check(store, account)
        await finish(keys, 1)
        await check(store, account)
        await check_searches(store)
        state = await keys.state()
        assert (state.keys, state.newest, state.table) == (2, 2, None)


async def test_a_process_learns_a_key_that_another_made(opener: Openers) -> None:
    async with opened(opener) as (store, keys), opened(opener, now=0) as (other, _):
        await keys.begin(0, delay=0)
        await keys.refresh(LATER)
        account = await plant(Given(store))
        await check(other, account)


async def test_a_key_counts_after_a_while(opener: Openers) -> None:
    async with opened(opener, now=START) as (_, keys):
        await keys.begin(START)
        assert not await keys.refresh(START + 14_999)
        assert await keys.refresh(START + 15_000)
        assert not await keys.advance(START + 29_999, 50)
        assert await keys.advance(START + 30_000, 50)


async def test_without_the_key_nothing_is_opened(opener: Openers) -> None:
    async with opened(opener) as (_, keys):
        await keys.begin(0, delay=0)
    for vault, why in ((None, "settings give no key"), (AesGcmVault("x" * 32), "another master key")):
        with pytest.raises(KeyRefused, match=why):
            async with opened(opener, vault):
                pass


async def test_the_master_key_is_changed_at_once(opener: Openers) -> None:
    new = AesGcmVault("another master key of tests")
    async with opened(opener) as (store, keys):
        await keys.begin(0, delay=0)
        await keys.refresh(LATER)
        account = await plant(Given(store))
        assert await keys.rewrap(new) == 1
        await check(store, account)
    async with opened(opener, new) as (store, keys):
        await check(store, account)
    with pytest.raises(KeyRefused, match="another master key"):
        async with opened(opener):
            pass


async def test_rows_that_were_swapped_are_not_read(opener: Openers) -> None:
    async with opened(opener) as (store, keys):
        await keys.begin(0, delay=0)
        await keys.refresh(LATER)
        given = Given(store)
        account = await given.account()
        one = await given.sent(account.id, destination=PHONE, content=TEXT)
        two = await given.sent(account.id, destination=OTHER, content=ANSWER)
        await opener.execute(
            f"UPDATE message SET content = (SELECT o.content FROM message AS o WHERE o.key = {two.key}) "
            f"WHERE key = {one.key}"
        )
        read = await store.customers.message(account.id, one.key, one.tail)
        assert read is not None
        assert (read.content, read.is_unreadable) == ("", True)
