"""The part of the composition root that serves customers' SMPP clients."""

import errno
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from heliograph.app.notice import Deliverer, KnownAccounts
from heliograph.app.observing.counters import BindCounters
from heliograph.app.ports import Clock, Gathering, Journal
from heliograph.composition.watching import Unusable
from heliograph.config import Settings, parse_address
from heliograph.config.settings import SmppServerSettings
from heliograph.domain.message.way import Way
from heliograph.net.tls import CertificateFiles
from heliograph.runtime.environment import MakeDeliverer

if TYPE_CHECKING:
    from heliograph.adapters.smpp_server.deliverer import BindDeliverer
    from heliograph.adapters.smpp_server.registry import Binds
    from heliograph.adapters.smpp_server.server import SmppServer, Watch
    from heliograph.adapters.smpp_server.services import Services
    from heliograph.composition.certificates import RenewableCertificate
    from heliograph.net.tls import Tls


DEV_LISTEN: Final = "127.0.0.1:2775"
"""The address of a development run, or a free port if another program uses this port."""


class CustomerBinds:
    """The SMPP server of a gateway. Its modules are imported only if it is on."""

    def __init__(self, settings: Settings, clock: Clock, counts: BindCounters, *, dev: bool) -> None:
        """`dev`: without an address it listens on loopback, at the usual port if that is free."""
        self._settings = settings.smpp_server
        self._certificate: RenewableCertificate | None = None
        self._listen = self._settings.listen or (DEV_LISTEN if dev else "")
        self._falls_back = not self._settings.listen
        self._clock = clock
        self._counts = counts
        self._binds: Binds | None = None
        self._deliverer: BindDeliverer | None = None
        self._server: SmppServer | None = None
        self.address = ""
        """Host and port at which it listens, for example `127.0.0.1:2775`; empty while it is off."""
        self.tls_address = ""
        """The same with TLS."""

    @property
    def tls(self) -> "Tls | None":
        """The certificate in use; None without TLS, and before it listens."""
        return None if self._certificate is None else self._certificate.tls

    @property
    def ways(self) -> Mapping[Way, MakeDeliverer]:
        """The way of notices over binds, if the server is on."""
        return {Way.BIND: self._make_deliverer} if self._listen or self._settings.tls_listen else {}

    def _make_deliverer(self, gathering: Gathering, accounts: KnownAccounts) -> Deliverer:
        from heliograph.adapters.smpp_server.deliverer import BindDeliverer
        from heliograph.adapters.smpp_server.registry import Binds

        self._binds = Binds(self._counts)
        self._deliverer = BindDeliverer(
            self._binds, accounts, self._clock, self._settings.retry_hours, gathering.wake_feeder
        )
        return self._deliverer

    async def open(self, services: "Services", watch: "Watch", *, embedded: bool) -> None:
        """Starts to listen, if the server is on. Raises OSError; its `filename` is the address where that is in use.

        `embedded`: no other node uses the store.
        """
        if self._binds is None or self._deliverer is None:
            return
        from heliograph.adapters.smpp_server.server import SmppServer

        if embedded:
            await services.store.clear()
        server = self._server = SmppServer(services, self._binds, self._deliverer, self._settings.connections, watch)
        if self._listen:
            self.address = await self._listen_at(server, self._listen, None)
        if self._settings.tls_listen:
            self._certificate = _certificate(self._settings, services.journal)
            self.tls_address = await self._listen_at(server, self._settings.tls_listen, self._certificate.tls)
        addresses = " ".join(filter(None, (self.address, self.tls_address)))
        services.journal.log("info", "smpp_server.ready", address=addresses)

    async def _listen_at(self, server: "SmppServer", address: str, tls: "Tls | None") -> str:
        """Returns the address with the port that was found, for example `127.0.0.1:40113` for port 0."""
        host, port = parse_address(address)
        try:
            found = await server.listen(host, port, tls)
        except OSError as problem:
            if problem.errno != errno.EADDRINUSE:
                raise
            if not self._falls_back:
                raise OSError(problem.errno, problem.strerror, address) from None
            found = await server.listen(host, 0, tls)
        return f"[{host}]:{found}" if ":" in host else f"{host}:{found}"

    async def reload(self) -> str:
        """Reloads the certificate. Returns "" on success, or the problem."""
        return "" if self._certificate is None else await self._certificate.renew()

    async def stop(self, grace_s: float) -> None:
        """Stops accepting, answers pending requests, unbinds, and waits for at most `grace_s` seconds."""
        if self._server is not None:
            await self._server.stop(grace_s)
        if self._certificate is not None:
            await self._certificate.stop()


def _certificate(settings: SmppServerSettings, journal: Journal) -> "RenewableCertificate":
    from heliograph.composition.certificates import RenewableCertificate

    files = files_of(settings)
    assert files is not None
    return RenewableCertificate(files, 0, journal)


def files_of(settings: SmppServerSettings) -> CertificateFiles | None:
    """Returns the files of the server's certificate, or None without TLS. Raises Unusable if none is named."""
    if not settings.tls_listen:
        return None
    if not settings.cert_file:
        raise Unusable(
            "smpp_server.tls_listen is set and smpp_server.cert_file is not: there is no certificate to show"
        )
    key = Path(settings.key_file) if settings.key_file else None
    return CertificateFiles(Path(settings.cert_file), key, protocols=())
