from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from heliograph.adapters.store.postgres import PostgresStore
from heliograph.app.configuration import Account
from tests.support.postgres import LIMITS, PostgresOpener, Server
from tests.support.store import Given


@pytest.fixture
async def url() -> AsyncIterator[str]:
    """A database of its own on the server that all tests of this process share."""
    opener = PostgresOpener(Path())
    await (await opener()).close()
    assert opener.url is not None
    yield opener.url
    del opener


@pytest.fixture
async def store(url: str) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(url, limits=LIMITS)
    yield store
    await store.close()


@pytest.fixture
def given(store: PostgresStore) -> Given:
    return Given(store)


@pytest.fixture
async def account(given: Given) -> Account:
    return await given.account()


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A server that may be killed."""
    server = Server()
    server.start()
    yield server
    server.remove()
