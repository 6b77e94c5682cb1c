"""Offers ports on loopback for servers of tests. No other process gets them."""

import atexit
import contextlib
import functools
import itertools
import random
import socket
from collections.abc import Iterator

PORTS = range(12_000, 32_000)
"""The system does not assign these ports to connections. A port that it assigns (usually from 32768 on) may be taken
before the test listens on it. A client that dials it meanwhile may even get it as its own, and reach itself."""

BLOCK = 100
"""Ports of a test process, which it assigns in turn."""


def free_port() -> int:
    """Returns a port without a listener. It belongs to this process, and is not assigned again soon."""
    for port in _own_ports():
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@functools.cache
def _own_ports() -> Iterator[int]:
    """Takes a block of ports while this process lives. The process with the UDP port of the first number owns the
    block."""
    blocks = list(range(PORTS.start, PORTS.stop, BLOCK))
    random.Random().shuffle(blocks)
    for first in blocks:
        mine = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            mine.bind(("127.0.0.1", first))
        except OSError:
            mine.close()
            continue
        atexit.register(mine.close)
        return itertools.cycle(range(first, first + BLOCK))
    raise AssertionError("all ports are taken")
