"""The HTTP server: how it is made, and how it stops."""

import asyncio
from collections.abc import Callable, Sequence
from email.utils import formatdate

import uvicorn
from uvicorn.server import ServerState

from heliograph.api.app import Api, Asgi
from heliograph.api.connection import Common, Connection
from heliograph.api.hot import HotConnection
from heliograph.runtime.ending import end

MAX_CONNECTIONS = 4_096
"""Open connections of one server; beyond, a new one is answered 503 and closed."""

BACKLOG = 2_048
"""Connections that wait to be accepted; the operating system may allow fewer."""

DRAIN_STEP_S = 0.02
"""Seconds between two looks at what is left while the server stops."""

TICK_S = 1.0
"""Seconds between two looks at the connections; the timeouts are late by up to this."""


class Server:
    """A server that runs."""

    def __init__(self, listener: asyncio.Server, state: ServerState, app: Api) -> None:
        self._listener = listener
        self._app = app
        self._state = state
        self._ticking = asyncio.get_running_loop().create_task(self._tick())

    @property
    def port(self) -> int:
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    @property
    def connections(self) -> int:
        return len(self._state.connections)

    async def stop(self, grace: float) -> None:
        """Accepts nothing more, lets requests end for up to `grace` seconds, then drops what is left."""
        loop = asyncio.get_running_loop()
        self._listener.close()
        deadline = loop.time() + grace
        while self._state.connections or self._state.tasks:
            if loop.time() >= deadline:
                break
            for connection in list(self._state.connections):
                connection.shutdown()
            await asyncio.sleep(DRAIN_STEP_S)
        for connection in list(self._state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)  # the connections learn of it before their requests end
        for task in list(self._state.tasks):
            task.cancel()
        await end(self._ticking)

    async def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._state.default_headers = [(b"date", formatdate(usegmt=True).encode())]
            self._app.flush_counts()
            now = loop.time()
            for connection in list(self._state.connections):
                if isinstance(connection, Connection) and connection.overdue(now):
                    connection.transport.abort() if connection.flow.write_paused else connection.transport.close()
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
    """Starts to serve on the running loop; port 0 takes a free one. Raises OSError where it cannot listen there.

    Of requests that come from `trusted_proxies` (addresses or networks) the client's address is the one that
    X-Forwarded-For tells. `around` puts something around the application; it does not see
    sends that are answered from the connection (see `Api.choose`).
    """
    config = uvicorn.Config(
        app if around is None else around(app),
        http=HotConnection,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=list(trusted_proxies),
    )
    config.load()
    state = ServerState()
    # Behind a proxy the client's address is known only after uvicorn's own layer for it.
    connection = Connection if trusted_proxies else HotConnection
    common = Common(config, state, app, max_connections)
    listener = await asyncio.get_running_loop().create_server(lambda: connection(common), host, port, backlog=BACKLOG)
    return Server(listener, state, app)
