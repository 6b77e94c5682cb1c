from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.app.configuration import Account
from tests.support.store import Given, place_new_store

BUSY_MS = 300


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    place_new_store(path)
    store = await SqliteStore.open(path, busy_ms=BUSY_MS, calls=8)
    yield store
    await store.close()


@pytest.fixture
def given(store: SqliteStore) -> Given:
    return Given(store)


@pytest.fixture
async def account(given: Given) -> Account:
    return await given.account()
