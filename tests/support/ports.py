"""Offers ports on loopback for what tests start, or mean to start: nobody else is given them."""

import atexit
import contextlib
import functools
import itertools
import random
import socket
from collections.abc import Iterator

PORTS = range(12_000, 32_000)
"""The system gives none of them to a connection. One of those that it does give (from 32768 on, as a rule) may be
somebody else's by the time that it is listened to; and who dials it meanwhile may be given it, and reach itself."""

BLOCK = 100
"""Ports of one process of tests, which it gives out by turns."""


def free_port() -> int:
    """Returns a port that nobody listens to. It is this process's own, and is not given out again soon."""
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
    """Takes a block of ports for as long as this process lives: whoever has the first one's port of UDP has it."""
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
