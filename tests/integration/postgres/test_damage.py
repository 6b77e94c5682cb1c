"""A page of the database that the disk changed is found, by its name."""

import pytest

from heliograph.adapters.store.postgres import PostgresStore
from tests.support.postgres import LIMITS, Server
from tests.support.store import Given


async def test_a_changed_page_is_found(own_server: Server) -> None:
    store = await PostgresStore.open(own_server.url(), limits=LIMITS)
    given = Given(store)
    account = await given.account()
    for _ in range(20):
        await given.sent(account.id)
    assert await store.upkeep.damage() == []
    await store.close()
    [(name,)] = await own_server.fetch("SELECT pg_relation_filepath('message')")
    own_server.stop()
    file = own_server.data / name
    octets = bytearray(file.read_bytes())
    octets[5_000] ^= 0x10
    file.write_bytes(octets)
    own_server.start()
    store = await PostgresStore.open(own_server.url(), limits=LIMITS)
    [found] = [each for each in await store.upkeep.damage() if "message" in each]
    assert "The table message is damaged: invalid page in block 0" in found
    await store.close()


async def test_indexes_are_checked_where_the_extension_is(own_server: Server) -> None:
    store = await PostgresStore.open(own_server.url(), limits=LIMITS)
    try:
        await own_server.execute("CREATE EXTENSION amcheck SCHEMA public")
    except Exception as problem:  # noqa: BLE001 - the wheel may come without it
        await store.close()
        pytest.skip(f"LEFT OUT: the extension amcheck is not here: {problem}")
    account = await Given(store).account()
    await Given(store).sent(account.id)
    assert await store.upkeep.damage() == []
    await store.close()
