"""The part of the composition root that listens: HTTP, HTTPS and health, each on its address."""

import errno
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from heliograph.app.ports import Journal
from heliograph.composition.watching import LocalAnswers, Watching
from heliograph.config import Settings, parse_address
from heliograph.http.asgi import Asgi, Headers
from heliograph.http.server import Server
from heliograph.net.clients import Clients, Shares
from heliograph.net.handshakes import most_handshakes
from heliograph.net.proxies import is_loopback
from heliograph.net.tls import Tls

if TYPE_CHECKING:
    from heliograph.api.app import Api
    from heliograph.composition.certificates import RenewableCertificate


class Listening:
    """The servers of a gateway. Limits for each client hold over HTTP and HTTPS together."""

    def __init__(self, settings: Settings, journal: Journal) -> None:
        """Loads the certificate. Raises Unusable."""
        self._settings = settings
        self._servers: list[Server] = []
        self._health: Server | None = None
        self._waiting: list[Server] = []
        self._journal = journal
        self.url = self.tls_url = ""
        self.further: list[Callable[[], Awaitable[str]]] = []
        """Other parts to reload; each returns "" on success, or the problem."""
        self.certificate = _certificate(settings, journal)

    async def wait(self, past_lost: Callable[[], bool]) -> None:
        """Answers 503 on all addresses until `open` or `stop`. Does nothing if it does so already. Raises OSError.

        `past_lost`: whether the store is refused because it lost commits, for the metrics."""
        from heliograph.adapters.metrics import MetricsPage
        from heliograph.composition.waiting import WaitingRoom, waiting_metrics
        from heliograph.http.server import serve

        if self._waiting:
            return
        http = self._settings.http
        metrics = MetricsPage(lambda: waiting_metrics(past_lost=past_lost()), self._settings.metrics.allowed_networks)
        room = WaitingRoom(self._journal, None if http.health_listen else metrics)
        health = WaitingRoom(self._journal, metrics)
        shares = Shares(http.connections, http.connections_per_address)
        secure = [] if self.tls is None else [(http.tls_listen, self.tls)]
        plain = [http.listen, http.health_listen] if http.health_listen else [http.listen]
        for listen, tls in (*((each, None) for each in plain), *secure):
            here = health if listen == http.health_listen else room
            self._waiting.append(await _at(listen, serve(here, here, *parse_address(listen), shares=shares, tls=tls)))

    async def _stop_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for server in waiting:
            await server.stop(0.0)

    async def open(self, api: "Api", watching: Watching, *, dev: bool) -> None:
        """Starts to serve. Raises OSError; its `filename` is the address where that is in use.

        A development run (`dev`) on loopback checks the `Host` of each request, because its passwords are public.
        """
        from heliograph.adapters.system.resources import most_connections
        from heliograph.api.serve import serve, serve_health

        await self._stop_waiting()
        http = self._settings.http
        smpp_server = self._settings.smpp_server
        smpp = smpp_server.connections if smpp_server.listen or smpp_server.tls_listen else 0
        wanted = http.connections + (0 if self.certificate is None else most_handshakes(http.connections))
        shares = Shares(
            most_connections(wanted, smpp) * http.connections // wanted,
            http.connections_per_address,
            http.unfinished_per_address,
            http.refused_work_per_address / 1_000,
            http.requests_per_address,
            http.octets_per_address,
        )
        clients = Clients(shares, api.note_turned_away)
        if http.health_listen:
            self._health = await _at(http.health_listen, serve_health(api, *parse_address(http.health_listen)))
        around, choose = watching.around, watching.choose
        host = parse_address(http.listen)[0]
        if dev and (host == "localhost" or is_loopback(host)):
            around, choose = _by_own_name(around, choose, self._settings.console.names)
        secure = [] if self.tls is None else [(http.tls_listen, self.tls)]
        for listen, tls in ((http.listen, None), *secure):
            host, port = parse_address(listen)
            server = await _at(
                listen,
                serve(
                    api,
                    host,
                    port,
                    trusted_proxies=http.trusted_proxies,
                    around=around,
                    choose=choose,
                    tls=tls,
                    clients=clients,
                ),
            )
            self._servers.append(server)
            shown = f"[{host}]" if ":" in host else host
            if tls is None:
                self.url = f"http://{shown}:{server.port}"
            else:
                self.tls_url = f"https://{shown}:{server.port}"

    @property
    def tls(self) -> Tls | None:
        return None if self.certificate is None else self.certificate.tls

    def local_answers(self) -> LocalAnswers:
        """Returns the handlers for commands on the same machine about the addresses and the certificate."""

        async def address() -> dict[str, Any]:
            return {"url": self.url}

        async def reload() -> dict[str, Any]:
            kept = await self.reload()
            return {"kept": kept, "until": None if self.certificate is None else self.certificate.until}

        return {"address": address, "reload": reload}

    async def reload(self) -> str:
        """Reloads the certificate and other parts that may change at run time. Returns "" on success, or the
        problem.
        """
        problems = [] if self.certificate is None else [await self.certificate.renew()]
        problems += [await reload() for reload in self.further]
        return "; ".join(filter(None, problems))

    def give_notice(self) -> None:
        """From now on the answers of the API close their connections. Everything is still served."""
        for server in self._servers:
            server.give_notice()

    async def stop(self, grace: float) -> None:
        """Stops accepting, and lets requests end for up to `grace` seconds."""
        await self._stop_waiting()
        for server in self._servers:
            await server.stop(grace)
            grace = 0.0  # connections count for all listeners
        if self._health is not None:
            await self._health.stop(0)
        if self.certificate is not None:
            await self.certificate.stop()


def _certificate(settings: Settings, journal: Journal) -> "RenewableCertificate | None":
    if not (settings.http.tls_listen or settings.admin.client_ca_file):
        return None
    from heliograph.composition.certificates import RenewableCertificate, files_of  # imported only to serve HTTPS

    files = files_of(settings)
    return None if files is None else RenewableCertificate(files, settings.http.hsts_days, journal)


def _by_own_name(
    around: Callable[[Asgi], Asgi] | None, choose: Callable[[Headers], bool] | None, names: Sequence[str]
) -> tuple[Callable[[Asgi], Asgi], Callable[[Headers], bool]]:
    """Returns `around` and `choose` of `serve` with the host check in front. Sends with a foreign name do not take the
    short cut, so that the check sees them."""
    from heliograph.admin_api.checks import HostCheck, OwnNames

    own = OwnNames(names)
    return (
        lambda application: HostCheck(application if around is None else around(application), own),
        lambda headers: not own.allow(headers) or (choose is not None and choose(headers)),
    )


async def _at(address: str, starting: Awaitable[Server]) -> Server:
    try:
        return await starting
    except OSError as problem:
        if problem.errno == errno.EADDRINUSE:
            raise OSError(problem.errno, problem.strerror, address) from None
        raise
