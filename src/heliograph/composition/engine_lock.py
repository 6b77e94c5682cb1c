"""The lock of a data directory: only one process at a time writes facts."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from heliograph.config import Settings

LOCK_FILE = "engine.lock"


class AlreadyRunning(Exception):
    """Another gateway runs on the data directory."""


@contextmanager
def only_engine(settings: Settings) -> Iterator[None]:
    """Holds the data directory, which must be there. Raises AlreadyRunning."""
    with (settings.data / LOCK_FILE).open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise AlreadyRunning(f"another gateway runs on {settings.data}") from None
        yield
