"""Connections to operators that are given up while they are opened."""

import asyncio
import gc
import socket
from typing import Any

from heliograph.adapters.smpp.dial import dial
from heliograph.adapters.smpp.options import Dialect

UNKNOWN = "no-such-operator.invalid"


async def _give_up_at_once() -> None:
    dialing = asyncio.ensure_future(dial(asyncio.Protocol, UNKNOWN, 2775, tls=False, dialect=Dialect(), timeout_s=30))
    await asyncio.sleep(0)
    dialing.cancel()
    await asyncio.gather(dialing, return_exceptions=True)


async def test_a_name_that_is_still_looked_up_when_its_connector_is_removed_leaves_no_exception_behind() -> None:
    loop = asyncio.get_running_loop()
    unheard: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: unheard.append(context))
    for _ in range(5):
        await _give_up_at_once()
    # The look-ups go on in threads; they are over when as many later ones are.
    later = [loop.getaddrinfo(UNKNOWN, 2775, type=socket.SOCK_STREAM) for _ in range(8)]
    assert all(isinstance(each, OSError) for each in await asyncio.gather(*later, return_exceptions=True))
    gc.collect()
    await asyncio.sleep(0)
    assert unheard == []
