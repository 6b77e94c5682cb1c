"""The customers' API behind the HTTP server, with the short cut for sends in it."""

from collections.abc import Callable, Sequence

from heliograph.api.app import Api
from heliograph.api.fast_send.short_cut import FastSends
from heliograph.http.asgi import Asgi, Headers
from heliograph.http.server import MAX_CONNECTIONS, Server
from heliograph.http.server import serve as serve_http


async def serve(
    api: Api,
    host: str,
    port: int,
    *,
    max_connections: int = MAX_CONNECTIONS,
    trusted_proxies: Sequence[str] = (),
    around: Callable[[Asgi], Asgi] | None = None,
    choose: Callable[[Headers], bool] | None = None,
) -> Server:
    """Starts to serve the API, and what is mounted on it, as `http.server.serve` does. Raises OSError.

    `around` wraps the application. The wrapper sees no send on the short cut; `choose` says by their headers which
    sends must not take it.
    """
    return await serve_http(
        api if around is None else around(api),
        api,
        host,
        port,
        max_connections=max_connections,
        trusted_proxies=trusted_proxies,
        short_cut=FastSends(api, choose),
    )
