"""The customers' API behind the HTTP server, with the short cut for sends in it."""

from collections.abc import Callable, Sequence

from heliograph.api.app import Api
from heliograph.api.fast_send.short_cut import FastSends
from heliograph.http.asgi import Asgi, Headers, Receive, Scope, Send
from heliograph.http.server import WHOLE, Server
from heliograph.http.server import serve as serve_http
from heliograph.net.clients import Clients, Shares
from heliograph.net.tls import Tls

HEALTH_CONNECTIONS = 128
"""Connections of the listener for health and metrics."""

NOWHERE = "/nowhere"
"""A path without a resource of the API."""

HEALTH = "heliograph.health"
"""The extension of ASGI by which an application knows a request of that listener."""

_HEALTH = frozenset(("/health/live", "/health/ready", "/metrics"))


async def serve(
    api: Api,
    host: str,
    port: int,
    *,
    shares: Shares = WHOLE,
    trusted_proxies: Sequence[str] = (),
    around: Callable[[Asgi], Asgi] | None = None,
    choose: Callable[[Headers], bool] | None = None,
    tls: Tls | None = None,
    clients: Clients | None = None,
) -> Server:
    """Starts to serve the API and its mounted applications, through `http.server.serve`. Raises OSError.

    `around` wraps the application. The wrapper sees no send on the short cut; `choose` says by their headers which
    sends must not take it.
    """
    return await serve_http(
        api if around is None else around(api),
        api,
        host,
        port,
        shares=shares,
        trusted_proxies=trusted_proxies,
        short_cut=FastSends(api, choose),
        tls=tls,
        clients=clients,
    )


async def serve_health(api: Api, host: str, port: int) -> Server:
    """Starts to serve only /health and /metrics, to HEALTH_CONNECTIONS at once. Raises OSError."""

    async def only_health(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].rstrip("/") not in _HEALTH:
            scope["path"] = NOWHERE
        scope["extensions"] = {HEALTH: {}}
        await api(scope, receive, send)

    return await serve_http(only_health, api, host, port, shares=Shares(HEALTH_CONNECTIONS))
