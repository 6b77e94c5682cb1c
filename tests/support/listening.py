"""Offers `stop_listening`, which closes a server of asyncio without losing accepted connections."""

import asyncio

_ACCEPTING_TURNS = 4
"""Turns of the loop after which a connection that was accepted is served."""


async def stop_listening(server: asyncio.Server) -> None:
    """Closes the server after it has served all accepted connections. asyncio itself would drop these without closing
    them. The warning about that is an error in tests, and would hit the test that runs when they are collected."""
    loop = asyncio.get_running_loop()
    for listener in server.sockets:
        loop.remove_reader(listener.fileno())
    for _ in range(_ACCEPTING_TURNS):
        await asyncio.sleep(0)
    server.close()
