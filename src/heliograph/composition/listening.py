"""The part of the composition root that listens: HTTP and health, each on its address."""

import errno
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from heliograph.composition.watching import LocalAnswers, Watching
from heliograph.config import Settings, parse_address
from heliograph.http.clients import Clients, Shares
from heliograph.http.server import Server

if TYPE_CHECKING:
    from heliograph.api.app import Api


class Listening:
    """The servers of a gateway."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._server: Server | None = None
        self._health: Server | None = None
        self.url = ""

    async def open(self, api: "Api", watching: Watching) -> None:
        """Starts to serve. Raises OSError; its `filename` is the address where that is in use."""
        from heliograph.adapters.system.files import most_connections
        from heliograph.api.serve import serve, serve_health

        http = self._settings.http
        shares = Shares(
            most_connections(http.connections),
            http.connections_per_address,
            http.unfinished_per_address,
            http.refused_work_per_address / 1_000,
            http.requests_per_address,
            http.octets_per_address,
        )
        clients = Clients(shares, api.note_turned_away)
        if http.health_listen:
            self._health = await _at(http.health_listen, serve_health(api, *parse_address(http.health_listen)))
        host, port = parse_address(http.listen)
        self._server = await _at(
            http.listen,
            serve(
                api,
                host,
                port,
                trusted_proxies=http.trusted_proxies,
                around=watching.around,
                choose=watching.choose,
                clients=clients,
            ),
        )
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self._server.port}"

    def local_answers(self) -> LocalAnswers:
        """Returns what commands on the same machine may ask about the address."""

        async def address() -> dict[str, Any]:
            return {"url": self.url}

        return {"address": address}

    async def stop(self, grace: float) -> None:
        """Accepts nothing more, and lets requests end for up to `grace` seconds."""
        if self._server is not None:
            await self._server.stop(grace)
        if self._health is not None:
            await self._health.stop(0)


async def _at(address: str, starting: Awaitable[Server]) -> Server:
    try:
        return await starting
    except OSError as problem:
        if problem.errno == errno.EADDRINUSE:
            raise OSError(problem.errno, problem.strerror, address) from None
        raise
