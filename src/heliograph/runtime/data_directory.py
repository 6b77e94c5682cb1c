"""The data directory of a running gateway: its lock, and its control socket for commands on the same machine.

Only users who may read the data directory can connect, and no client over a network. A client writes a line, a JSON
object with `ask`, and reads lines of JSON until the gateway closes.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK_FILE = "engine.lock"
FILE_NAME = "engine.sock"

_LONGEST = 100
"""Octets. The longest path of a socket that works on every system; Linux allows 107."""

LINE_OCTETS = 1 << 20
"""The longest line either side reads."""


@contextmanager
def socket_path(data: Path) -> Iterator[str]:
    """Yields a path of the socket that is short enough to bind or to connect, however deep the data directory lies,
    such as `/proc/self/fd/7/engine.sock`.

    The path may be used only inside the `with`. Raises OSError if the directory cannot be opened.
    """
    path = str(data / FILE_NAME)
    if len(os.fsencode(path)) <= _LONGEST:
        yield path
        return
    folder = os.open(data, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{FILE_NAME}"
    finally:
        os.close(folder)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class AlreadyRunning(Exception):
    """Another gateway runs on the data directory."""


@contextmanager
def only_engine(data: Path) -> Iterator[None]:
    """Locks the data directory, which must exist, so that a single process writes facts. Raises AlreadyRunning.

    Only the gateway's user may open the file. A user who may read it could hold the lock and keep the gateway down.
    """
    with open(data / LOCK_FILE, "a+", opener=_private) as lock:
        os.fchmod(lock.fileno(), 0o600)  # earlier versions made it readable for all
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise AlreadyRunning(f"another gateway runs on {data}") from None
        yield
