"""The part of the composition root that serves customers' SMPP clients."""

import errno
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from heliograph.app.notice import Deliverer, KnownAccounts
from heliograph.app.observing.counters import BindCounters
from heliograph.app.ports import Clock, Gathering
from heliograph.config import Settings, parse_address
from heliograph.domain.message.way import Way
from heliograph.runtime.environment import MakeDeliverer

if TYPE_CHECKING:
    from heliograph.adapters.smpp_server.deliverer import BindDeliverer
    from heliograph.adapters.smpp_server.registry import Binds
    from heliograph.adapters.smpp_server.server import SmppServer
    from heliograph.adapters.smpp_server.services import Services


DEV_LISTEN: Final = "127.0.0.1:2775"
"""Where a development run listens; at a free port if another program has this one."""


class CustomerBinds:
    """The SMPP server of a gateway: nothing of it is imported while it is off."""

    def __init__(self, settings: Settings, clock: Clock, counts: BindCounters, *, dev: bool) -> None:
        """`dev`: without an address it listens on loopback, at the usual port if that is free."""
        self._settings = settings.smpp_server
        self._listen = self._settings.listen or (DEV_LISTEN if dev else "")
        self._falls_back = not self._settings.listen
        self._clock = clock
        self._counts = counts
        self._binds: Binds | None = None
        self._deliverer: BindDeliverer | None = None
        self._server: SmppServer | None = None
        self.address = ""
        """Host and port at which it listens; empty while it is off."""

    @property
    def ways(self) -> Mapping[Way, MakeDeliverer]:
        """The way of notices over binds, if the server is on."""
        return {Way.BIND: self._make_deliverer} if self._listen else {}

    def _make_deliverer(self, _: Gathering, accounts: KnownAccounts) -> Deliverer:
        from heliograph.adapters.smpp_server.deliverer import BindDeliverer
        from heliograph.adapters.smpp_server.registry import Binds

        self._binds = Binds(self._counts)
        self._deliverer = BindDeliverer(self._binds, accounts, self._clock, self._settings.retry_hours)
        return self._deliverer

    async def open(self, services: "Services", *, embedded: bool) -> None:
        """Starts to listen, if the server is on. Raises OSError; its `filename` is the address where that is in use.

        `embedded`: no other node uses the store.
        """
        listen = self._listen
        if not listen or self._binds is None or self._deliverer is None:
            return
        from heliograph.adapters.smpp_server.server import SmppServer

        if embedded:
            await services.store.clear()
        host, port = parse_address(listen)
        self._server = SmppServer(services, self._binds, self._deliverer, self._settings.connections)
        try:
            found = await self._server.listen(host, port)
        except OSError as problem:
            if problem.errno != errno.EADDRINUSE:
                raise
            if not self._falls_back:
                raise OSError(problem.errno, problem.strerror, listen) from None
            found = await self._server.listen(host, 0)
        self.address = f"[{host}]:{found}" if ":" in host else f"{host}:{found}"
        services.journal.log("info", "smpp_server.ready", address=self.address)

    async def stop(self, grace_s: float) -> None:
        """Accepts nothing more, answers what came, unbinds, and waits for at most `grace_s` seconds."""
        if self._server is not None:
            await self._server.stop(grace_s)
