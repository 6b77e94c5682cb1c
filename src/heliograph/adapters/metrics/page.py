"""`/metrics` for a scraper: an ASGI application, open to the networks that the settings name."""

import json
from collections.abc import Callable, Iterable
from ipaddress import ip_network

from heliograph.adapters.metrics.exposition import OPENMETRICS, TEXT, Sample, render
from heliograph.domain.error import FORBIDDEN, METHOD, NOT_FOUND, Fault
from heliograph.domain.security.host import is_within, network_of
from heliograph.http.asgi import Headers, Receive, Scope, Send, asked_host, is_own_name, respond

PATH = "/metrics"

_LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))

_FORWARDED = frozenset({b"forwarded", b"x-forwarded-for", b"x-real-ip", b"via"})
"""Headers by which a proxy reports its client. The page checks only that they are present."""


class MetricsPage:
    """Serves the samples of `collect`.

    A request through a proxy is refused, whatever its address: behind a proxy on the same machine, the whole internet
    has the address of loopback. A proxy without such headers is recognised by the Host of the request, which is not a
    name of this machine. With a listener for health, metrics are available there only.
    """

    def __init__(
        self, collect: Callable[[], Iterable[Sample]], networks: Iterable[str], *, only_on: str | None = None
    ) -> None:
        """`only_on` is the extension of ASGI that requests of the only listener with metrics have."""
        self._collect = collect
        self._only_on = only_on
        self._networks = tuple(network_of(network) for network in networks)

    async def __call__(self, scope: Scope, _: Receive, send: Send) -> None:
        problem = self._problem(scope)
        if problem is not None:
            await _answer(
                send,
                scope,
                problem.entry.http,
                [(b"content-type", b"application/json")]
                + ([(b"allow", b"GET, HEAD")] if problem.entry is METHOD else []),
                json.dumps(problem.body(), separators=(",", ":")).encode(),
            )
            return
        # Prometheus lists OpenMetrics first if it can read it, so a mention in `accept` is enough.
        accepted = (value for name, value in scope["headers"] if name == b"accept")
        openmetrics = any(b"application/openmetrics-text" in value for value in accepted)
        body = render(self._collect(), openmetrics=openmetrics)
        headers = [(b"content-type", OPENMETRICS if openmetrics else TEXT), (b"vary", b"accept")]
        await _answer(send, scope, 200, headers, body)

    def _problem(self, scope: Scope) -> Fault | None:
        if scope["path"].rstrip("/") != PATH:
            return Fault(NOT_FOUND, "There is no such path; the metrics are at /metrics.")
        if scope["method"] not in ("GET", "HEAD"):
            return Fault(METHOD, "The method is not allowed here; use GET, HEAD.")
        if self._only_on is not None and self._only_on not in scope.get("extensions", {}):
            return Fault(FORBIDDEN, "Metrics are at the address of the setting http.health_listen.")
        if any(name in _FORWARDED for name, _ in scope["headers"]) or not self._allows(scope.get("client"), scope):
            return Fault(FORBIDDEN, "Metrics are not for this address; see the setting metrics.allowed_networks.")
        return None

    def _allows(self, client: tuple[str, int] | None, scope: Scope) -> bool:
        if client is None or not is_within(client[0], self._networks):
            return False
        return not is_within(client[0], _LOOPBACK) or is_own_name(asked_host(scope["headers"]))


async def _answer(send: Send, scope: Scope, status: int, headers: Headers, body: bytes) -> None:
    headers = [*headers, (b"content-length", b"%d" % len(body)), (b"cache-control", b"no-store")]
    await respond(scope, send, status, headers, body)
