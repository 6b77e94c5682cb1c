"""The listener of customers' SMPP clients."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from heliograph.adapters.smpp_server.connection import EsmeConnection
from heliograph.adapters.smpp_server.deliverer import BindDeliverer
from heliograph.adapters.smpp_server.registry import Binds, Connections
from heliograph.adapters.smpp_server.services import Services
from heliograph.app.ports import Unavailable
from heliograph.app.records import BindState
from heliograph.net.clients import Clients, Shares
from heliograph.net.handshakes import Handshakes
from heliograph.net.listener import Listener, listen
from heliograph.net.tls import Tls

REPORT_S: Final = 5.0
"""Seconds between two reports of this node's binds; see `app.records.BIND_ALIVE_MS`."""

SETTLE_S: Final = 1.0
"""Seconds between two looks at which answers have arrived."""

UNBOUND_OF_ONE: Final = 32
"""Connections of an address that may wait for their bind at once. Addresses of trusted proxies have no such limit."""

HANDSHAKES_OF_ONE: Final = 16
"""TLS handshakes that an address may have under way."""

END_S: Final = 1.0
"""Seconds that connections may take to close after the grace period of a stop."""

Watch = Callable[[asyncio.Task[None]], None]
"""Called with each task that must not end before `stop`."""


class SmppServer:
    """Accepts connections at its addresses, and ends them."""

    def __init__(
        self,
        services: Services,
        binds: Binds,
        deliverer: BindDeliverer,
        most_connections: int,
        watch: Watch,
    ) -> None:
        self._services = services
        self._binds = binds
        self._deliverer = deliverer
        self._most = most_connections
        self._watch = watch
        self._handshaking = Clients(Shares(most_connections, unfinished_of_one=HANDSHAKES_OF_ONE), lambda *_: None)
        self._listeners: list[Listener] = []
        self._connections: Connections[EsmeConnection] = binds.connections
        self._loops: list[asyncio.Task[None]] = []

    async def listen(self, host: str, port: int, tls: Tls | None = None) -> int:
        """Starts to accept connections, with TLS if it is given. Returns the port. Raises OSError."""
        sockets: Sequence[socket.socket] = await listen(host, port)
        listener = Listener(
            sockets,
            lambda: EsmeConnection(self._services, self._binds, self._deliverer, tls=tls is not None),
            lambda problem: self._services.journal.log("error", "esme.no_room", problem=str(problem)),
            None if tls is None else Handshakes(tls, self._handshaking),
            is_unwelcome=self._is_unwelcome,
            load_of=self._handshaking.load,
        )
        self._listeners.append(listener)
        if not self._loops:
            self._loops = [
                asyncio.create_task(self.report(), name="reports of binds"),
                asyncio.create_task(self._settle(), name="arrived answers"),
            ]
            for loop in self._loops:
                self._watch(loop)
        return listener.port

    async def report(self) -> None:
        """Reports the binds of this node while it runs, and unbinds binds that an administrator dropped."""
        services = self._services
        reported: dict[int, BindState] = {}
        while True:
            await asyncio.sleep(REPORT_S)
            bound = {each.id: each for each in self._connections if each.session.bound}
            changed = [each.entry() for number, each in bound.items() if reported.get(number) != each.state]
            with suppress(Unavailable):
                for number in list(services.departed):
                    await services.store.leave(number)
                    services.departed.discard(number)
                for number in await services.store.report(services.node, services.clock.now(), changed):
                    self._binds.drop(number)
                reported |= {each.id: replace(each.state) for each in changed}
                reported = {number: state for number, state in reported.items() if number in bound}
            # A bind may have ended, and left, before its report was written.
            services.departed |= {each.id for each in changed if not bound[each.id].session.bound}

    async def _settle(self) -> None:
        """Forgets submissions whose answers have arrived, and reads the lost ones of other nodes."""
        resubmissions = self._services.resubmissions
        while True:
            await asyncio.sleep(SETTLE_S)
            dedupe_s: dict[int, int] = {}
            for connection in self._connections:
                connection.settle()
                if connection.session.bound and connection.dedupe_s:
                    dedupe_s[connection.account] = connection.dedupe_s
            await resubmissions.reload(dedupe_s)
            await resubmissions.flush()

    async def stop(self, grace_s: float) -> None:
        """Stops accepting, answers pending requests, and unbinds. Cuts the remaining connections after `grace_s`
        seconds."""
        for loop in self._loops:
            loop.cancel()
        for listener in self._listeners:
            await listener.close()
        self._listeners = []
        for connection in list(self._connections):
            connection.unbind()
        await self._ended(grace_s)
        for connection in list(self._connections):
            connection.abort()
        await self._ended(END_S)
        if self._services.tasks:
            await asyncio.wait(self._services.tasks, timeout=END_S)
        await self._services.resubmissions.flush()

    async def _ended(self, seconds: float) -> None:
        ends = [connection.ended for connection in self._connections]
        if ends:
            await asyncio.wait(ends, timeout=seconds)

    def _is_unwelcome(self, host: str) -> bool:
        """True if a new connection of the host is closed at once: its host has too many unbound connections, or the
        server is full of bound clients. A full server first closes the connection that has taken longest to bind."""
        services, connections = self._services, self._connections
        host = services.host_of(host)
        if connections.unbound_of(host) >= UNBOUND_OF_ONE and not services.proxies.trust(host):
            return True
        if len(connections) < self._most:
            return False
        slowest = connections.slowest()
        if slowest is None:
            return True
        connections.leave(slowest)  # at once: more may be accepted in this turn of the loop
        slowest.abort()
        return False
