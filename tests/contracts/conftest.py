from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from heliograph.app.configuration import Account
from heliograph.app.ports import Store
from tests.support.memory_store import MemoryOpener
from tests.support.store import ENCRYPTED_OPENERS, OPENERS, EncryptedOpener, EncryptedPostgresOpener, Given, Opener

EVERY = OPENERS | ENCRYPTED_OPENERS | {"memory": MemoryOpener}


@pytest.fixture(params=EVERY)
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Where the store under test keeps its data."""
    return EVERY[request.param](tmp_path)


@pytest.fixture
def whole_numbers(opener: Opener) -> bool:
    """Whether messages are found by whole numbers only, and numbers have no order."""
    return isinstance(opener, EncryptedOpener | EncryptedPostgresOpener)


@pytest.fixture
async def store(opener: Opener) -> AsyncIterator[Store]:
    store = await opener()
    yield store
    await store.close()


@pytest.fixture
def given(store: Store) -> Given:
    return Given(store)


@pytest.fixture
async def account(given: Given) -> Account:
    """A customer with 100 credits."""
    return await given.account()
