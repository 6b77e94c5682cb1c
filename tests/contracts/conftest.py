from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from heliograph.app.configuration import Account
from heliograph.app.ports import Store
from tests.support.memory_store import MemoryOpener, SharedMemoryOpener
from tests.support.store import OPENERS, Given, LoopOpener, Opener

STORES: dict[str, Callable[[Path], Opener]] = {"memory": MemoryOpener} | OPENERS
OTHERS: dict[str, Callable[[Path], Opener]] = {"memory-shared": SharedMemoryOpener, "sqlite-on-loop": LoopOpener}
"""Stores that only some modules use."""


@pytest.fixture(params=STORES)
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Where the store under test keeps its data. Modules with `on_every_driver` run on one more."""
    return (STORES | OTHERS)[request.param](tmp_path)


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
