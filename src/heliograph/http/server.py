"""The HTTP server: an ASGI application behind sockets that listen, until it stops."""

import asyncio
import ssl
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol

from heliograph.http.asgi import Asgi
from heliograph.http.connection import Connection
from heliograph.http.listener import Listener, listen
from heliograph.http.proxies import Proxies
from heliograph.http.reply import Replies
from heliograph.http.server_state import ServerState

MAX_CONNECTIONS = 4_096
"""Open connections of one server; beyond, a new one is answered 503 and closed."""

DRAIN_STEP_S = 0.02
"""Seconds between two looks at what is left while the server stops."""

TICK_S = 1.0
"""Seconds between two looks at the connections; the timeouts are late by up to twice this."""


class Extension(Protocol):
    """Connections of one's own kind: the hook for requests that are answered without the application.

    A connection of an extension is a `Connection` that overrides some of the parser's calls (`data_received`,
    `on_headers_complete`, `on_body`, `on_message_complete`) and leaves what it does not know to the class above.
    """

    def connection(self, state: ServerState) -> Connection:
        """Returns the protocol of a connection that was just accepted."""

    def tick(self, now: float) -> None:
        """Called about once a second, with the loop's time."""


class Server:
    """A server that runs."""

    def __init__(self, listener: Listener, state: ServerState, extension: Extension | None) -> None:
        self._listener = listener
        self._state = state
        self._extension = extension
        self._ticking = state.loop.create_task(self._tick())

    @property
    def port(self) -> int:
        return self._listener.port

    @property
    def connections(self) -> int:
        return len(self._state.connections)

    async def stop(self, grace: float) -> None:
        """Accepts nothing more, lets requests end for up to `grace` seconds, then drops what is left."""
        state = self._state
        await self._listener.close()
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
        self._ticking.cancel()
        with suppress(asyncio.CancelledError):
            await self._ticking

    async def _tick(self) -> None:
        state = self._state
        while True:
            now = state.loop.time()
            state.tick(now + TICK_S)
            if self._extension is not None:
                self._extension.tick(now)
            for connection in list(state.connections):
                if connection.overdue(now):
                    connection.cut()
            await asyncio.sleep(TICK_S)


async def serve(
    application: Asgi,
    replies: Replies,
    host: str,
    port: int,
    *,
    max_connections: int = MAX_CONNECTIONS,
    trusted_proxies: Sequence[str] = (),
    extension: Extension | None = None,
    tls: ssl.SSLContext | None = None,
) -> Server:
    """Starts to serve on the running loop; port 0 takes a free one, and the host `::` all addresses, those of IPv4 too.
    Raises OSError where it cannot listen there. A process may run several servers.

    Of requests that come from `trusted_proxies` (addresses or networks) the client's address is the one that
    X-Forwarded-For tells.
    """
    proxies = Proxies(trusted_proxies) if trusted_proxies else None
    scheme = "http" if tls is None else "https"
    state = ServerState(application, replies, max_connections, proxies, scheme)
    connect = partial(Connection if extension is None else extension.connection, state)
    return Server(Listener(state, await listen(host, port), connect, tls), state, extension)
