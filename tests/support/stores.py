"""The stores that long runs of the installed program may have: `make crash STORE=postgres`."""

from collections.abc import Iterator
from contextlib import contextmanager

STORES = ("sqlite", "postgres")


@contextmanager
def store_settings(store: str) -> Iterator[dict[str, str]]:
    """Yields the settings by which gateways use one of STORES. A PostgreSQL server runs meanwhile."""
    if store == "sqlite":
        yield {}
        return
    from tests.support.postgres import Server  # it is looked for where it is wanted only

    server = Server()
    server.start()
    try:
        yield {"HELIOGRAPH_DATABASE_URL": server.url()}
    finally:
        server.remove()
