"""Offers `stop_listening`, which closes a server of asyncio and leaves nobody in between."""

import asyncio

_ACCEPTING_TURNS = 4
"""Turns of the loop after which a connection that was accepted is served."""


async def stop_listening(server: asyncio.Server) -> None:
    """Closes the server. Whoever it has accepted is served by then: asyncio itself would drop their connections and not
    close them, and the warning of that, an error in tests, meets whichever test runs when they are collected."""
    loop = asyncio.get_running_loop()
    for listener in server.sockets:
        loop.remove_reader(listener.fileno())
    for _ in range(_ACCEPTING_TURNS):
        await asyncio.sleep(0)
    server.close()
