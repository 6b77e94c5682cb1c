"""The HTTP server: an ASGI application behind sockets that listen, until it stops."""

import asyncio
from collections.abc import Sequence
from functools import partial

from heliograph.http.asgi import Asgi
from heliograph.http.connection import Connection
from heliograph.http.reply import Replies
from heliograph.http.server_state import ServerState
from heliograph.http.short_cut import ShortCut
from heliograph.net.clients import Clients, Shares
from heliograph.net.handshakes import Handshakes
from heliograph.net.listener import Listener, listen
from heliograph.net.proxies import Proxies
from heliograph.net.tls import Tls

WHOLE = Shares()
"""Shares without a limit for a single client."""

DRAIN_STEP_S = 0.02
"""Seconds between two checks for open connections while the server stops."""

TICK_S = 1.0
"""Seconds between two checks of the connections. Timeouts are late by up to twice this."""


class Server:
    """A running server."""

    def __init__(self, listener: Listener, state: ServerState) -> None:
        self._listener = listener
        self._state = state
        self._loop = asyncio.get_running_loop()
        self._tick()

    @property
    def port(self) -> int:
        return self._listener.port

    @property
    def connections(self) -> int:
        return len(self._state.connections)

    def give_notice(self) -> None:
        """From now on each answer has `Connection: close`, so that clients turn to other servers before a stop."""
        self._state.is_leaving = True

    async def stop(self, grace: float) -> None:
        """Accepts no new connection, lets requests end for up to `grace` seconds, then closes all connections."""
        state = self._state
        await self._listener.close()
        deadline = self._loop.time() + grace
        while state.connections or state.tasks:
            if self._loop.time() >= deadline:
                break
            for connection in list(state.connections):
                connection.shutdown()
            await asyncio.sleep(DRAIN_STEP_S)
        for connection in list(state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)  # connections must know of the stop before their requests end
        for task in list(state.tasks):
            task.cancel()
        self._ticking.cancel()

    def _tick(self) -> None:
        state, now = self._state, self._loop.time()
        self._ticking = self._loop.call_later(TICK_S, self._tick)
        state.tick(now + TICK_S)
        for connection in list(state.connections):
            if connection.overdue(now):
                connection.cut()


async def serve(
    application: Asgi,
    replies: Replies,
    host: str,
    port: int,
    *,
    shares: Shares = WHOLE,
    trusted_proxies: Sequence[str] = (),
    short_cut: ShortCut | None = None,
    tls: Tls | None = None,
    clients: Clients | None = None,
) -> Server:
    """Starts to serve on the running loop. Port 0 chooses a free port; the host `::` listens on all addresses, IPv4
    included. Raises OSError if it cannot listen. A process may run several servers.

    `shares`: limits of the server for all clients, and for each client.

    `trusted_proxies`: addresses or networks, for example `10.0.0.0/8`. Their requests count for the client in
    X-Forwarded-For.

    `short_cut`: answers some requests without the application.

    `tls`: serves HTTPS.

    `clients`: servers with the same `clients` share the limits for all clients and for each client.
    """
    proxies = Proxies(trusted_proxies) if trusted_proxies else None
    clients = clients or Clients(shares, replies.note_turned_away)
    scheme, head = ("http", b"") if tls is None else ("https", tls.hsts)
    state = ServerState(application, replies, clients, proxies, scheme, short_cut, extra_head=head)
    listener = Listener(
        await listen(host, port),
        partial(Connection, state),
        replies.note_no_room,
        None if tls is None else Handshakes(tls, clients),
        state.is_unwelcome,
        state.load_of_host,
    )
    return Server(listener, state)
