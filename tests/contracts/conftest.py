from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from heliograph.app.accounts import Account
from heliograph.app.ports import Store
from tests.support.store import Given, Opener, SqliteOpener


@pytest.fixture(params=["sqlite"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Where the store under test keeps its data; every implementation has its place here."""
    assert request.param == "sqlite"
    return SqliteOpener(tmp_path)


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
