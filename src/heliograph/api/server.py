"""The HTTP server: how it is made, and how it stops."""

import asyncio
import errno
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from heliograph.api.app import Api
from heliograph.api.entrance import Entrance
from heliograph.http.asgi import Asgi
from heliograph.http.proxies import Proxies
from heliograph.http.state import State
from heliograph.runtime.ending import end

MAX_CONNECTIONS = 4_096
"""Open connections of one server; beyond, a new one is answered 503 and closed."""

BACKLOG = 2_048
"""Connections that wait to be accepted; the operating system may allow fewer."""

EVERYWHERE = "::"
"""The host that stands for all addresses of this machine."""

DRAIN_STEP_S = 0.02
"""Seconds between two looks at what is left while the server stops."""

TICK_S = 1.0
"""Seconds between two looks at the connections; the timeouts are late by up to twice this."""


class Server:
    """A server that runs."""

    def __init__(self, entrance: Entrance, state: State) -> None:
        self._entrance = entrance
        self._state = state
        self._ticking = state.loop.create_task(self._tick())

    @property
    def port(self) -> int:
        return self._entrance.port

    @property
    def connections(self) -> int:
        return len(self._state.connections)

    async def stop(self, grace: float) -> None:
        """Accepts nothing more, lets requests end for up to `grace` seconds, then drops what is left."""
        state = self._state
        await self._entrance.close()
        deadline = state.loop.time() + grace
        while state.connections or state.tasks:
            if state.loop.time() >= deadline:
                break
            for connection in list(state.connections):
                connection.shutdown()
            await asyncio.sleep(DRAIN_STEP_S)
        for connection in list(state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)  # the connections learn of it before their requests end
        for task in list(state.tasks):
            task.cancel()
        await end(self._ticking)

    async def _tick(self) -> None:
        state = self._state
        while True:
            now = state.loop.time()
            state.tick(now + TICK_S)
            state.api.flush_counts()
            for connection in list(state.connections):
                if connection.overdue(now):
                    connection.cut()
            await asyncio.sleep(TICK_S)


async def serve(
    app: Api,
    host: str,
    port: int,
    *,
    max_connections: int = MAX_CONNECTIONS,
    trusted_proxies: Sequence[str] = (),
    around: Callable[[Asgi], Asgi] | None = None,
) -> Server:
    """Starts to serve on the running loop; port 0 takes a free one, and the host `::` all addresses, those of IPv4 too.
    Raises OSError where it cannot listen there.

    Of requests that come from `trusted_proxies` (addresses or networks) the client's address is the one that
    X-Forwarded-For tells. `around` puts something around the application; it does not see
    sends that are answered from the connection (see `Api.choose`).
    """
    proxies = Proxies(trusted_proxies) if trusted_proxies else None
    state = State(app, app if around is None else around(app), max_connections, proxies)
    return Server(Entrance(state, await _listen(host, port)), state)


async def _listen(host: str, port: int) -> list[socket.socket]:
    """A socket for each address of the host: all of them, or OSError; families that the system does not know are left
    out."""
    if host == EVERYWHERE and socket.has_dualstack_ipv6():
        return [socket.create_server((host, port), family=socket.AF_INET6, backlog=BACKLOG, dualstack_ipv6=True)]
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    listening: list[socket.socket] = []
    with ExitStack() as opened:
        for family, address in dict.fromkeys((info[0], info[4]) for info in found):
            try:
                one = socket.create_server(address, family=family, backlog=BACKLOG)
            except OSError as problem:
                if problem.errno != errno.EAFNOSUPPORT:
                    raise
            else:
                listening.append(opened.enter_context(one))
        if not listening:
            raise OSError(errno.EAFNOSUPPORT, f"The system knows no family of {host}'s addresses")
        opened.pop_all()
    return listening
