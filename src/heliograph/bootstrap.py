"""The composition root: the one place that names adapters and puts the parts together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from heliograph.app.administer import Administration
from heliograph.app.ports import Store, Unavailable
from heliograph.config import Settings

STORE_FILE = "heliograph.db"


async def open_store(settings: Settings) -> Store:
    """The store in the data directory; both are made if they are not there yet. Raises Unavailable."""
    from heliograph.adapters.store.sqlite import SchemaChanged, SchemaTooNew, SqliteStore

    settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        return await SqliteStore.open(settings.data / STORE_FILE)
    except (SchemaTooNew, SchemaChanged) as error:
        raise Unavailable(str(error)) from error


@asynccontextmanager
async def administration(settings: Settings) -> AsyncIterator[Administration]:
    """The operator's use cases on the store, which works while a gateway runs on it and while none does."""
    from heliograph.adapters.system.clock import SystemClock
    from heliograph.adapters.system.secrets import Argon2Secrets

    store = await open_store(settings)
    try:
        yield Administration(store, Argon2Secrets(), SystemClock())
    finally:
        await store.close()
