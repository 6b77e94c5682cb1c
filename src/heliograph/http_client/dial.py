"""Opening a connection: resolve the name, check every address, connect to exactly the checked address, check it
again.
"""

import asyncio
import contextlib
import errno
import socket
import ssl
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any, Protocol

from heliograph.http_client.request import OriginAddress
from heliograph.http_client.resolver import Resolver
from heliograph.http_client.settings import ClientSettings
from heliograph.net.address_guard import AddressGuard, IPAddress

TRIED_ADDRESSES = 4
"""Most addresses of a name that are tried, in the system's order."""

OWN_FAULT = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL))
"""Errors of this machine, which say nothing about the other side."""


class AddressRefused(Exception):
    """The guard refuses the address; the text is the reason."""


class AddressFull(OSError):
    """The address has as many connections as it may have."""

    def __init__(self, address: IPAddress) -> None:
        super().__init__(str(address))
        self.address = address


class NameUnknown(Exception):
    """The name has no address."""


class NoHandshake(TimeoutError):
    """The connection was made in time, but the TLS handshake was not."""


class ConnectionSlot(Protocol):
    """The slot of a connection among all possible connections."""

    @property
    def account(self) -> int:
        """The account of the connection."""

    def go_to(self, address: IPAddress) -> bool:
        """Counts the connection at this address only. Returns False if the address has no room."""


class Dialer:
    """Opens connections to addresses that the guard allows."""

    def __init__(self, settings: ClientSettings, guard: AddressGuard, names: Resolver) -> None:
        self._settings = settings
        self._guard = guard
        self._resolver = names
        self._seconds = min(settings.limits.connect_seconds, settings.limits.try_seconds)
        self._tls: asyncio.Task[ssl.SSLContext] | None = None

    async def dial(self, address: OriginAddress, factory: Callable[[], asyncio.Protocol], slot: ConnectionSlot) -> None:
        """Connects. `factory` makes the protocol, which gets the connection once TLS is verified. `slot` is assigned to
        the connected address.

        Raises AddressRefused, NameUnknown, AddressFull, TimeoutError (with its subclass NoHandshake) or OSError (with
        its subclass ssl.SSLError).
        """
        reason = self._guard.forbidden_port(address.port)
        if reason is not None:
            raise AddressRefused(reason)
        reached: list[IPAddress] = []
        try:
            async with asyncio.timeout(self._seconds):
                context = await self._context() if address.secure else None
                targets = await self._targets(address.host, slot.account)
                for left in range(len(targets), 1, -1):
                    # Each address gets a share of the time, and the last address all that is left. After any error the
                    # next is tried.
                    with contextlib.suppress(OSError):
                        async with asyncio.timeout(self._seconds / left / 2):
                            return await self._connect(targets[-left], address, context, factory, reached, slot)
                return await self._connect(targets[-1], address, context, factory, reached, slot)
        except TimeoutError:
            if address.secure and reached:
                raise NoHandshake from None
            raise

    async def _targets(self, host: str, account: int) -> list[IPAddress]:
        try:
            found = await self._resolver.addresses(host, account)
        except OSError:
            raise NameUnknown from None
        for target in found:
            # A single internal address is enough to refuse all: no public host has one.
            reason = self._guard.refusal(target)
            if reason is not None:
                raise AddressRefused(reason)
        return found[:TRIED_ADDRESSES]

    async def _connect(
        self,
        target: IPAddress,
        address: OriginAddress,
        context: ssl.SSLContext | None,
        factory: Callable[[], asyncio.Protocol],
        reached: list[IPAddress],
        slot: ConnectionSlot,
    ) -> None:
        """Appends the address to `reached` once TCP is connected, before TLS."""
        if not slot.go_to(target):
            raise AddressFull(target)
        loop = asyncio.get_running_loop()
        family = socket.AF_INET if target.version == 4 else socket.AF_INET6
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.sock_connect(sock, (str(target), address.port))
            self.confirm(sock.getpeername())
            reached.append(target)
            name = address.host if context is not None else None
            await loop.create_connection(factory, sock=sock, ssl=context, server_hostname=name)
        except BaseException:
            # uvloop that is cancelled while it takes the socket over has closed its file already
            with contextlib.suppress(OSError):
                sock.close()
            raise

    def confirm(self, peer: tuple[Any, ...]) -> None:
        """Checks the address that a socket is really connected to. Raises AddressRefused."""
        reason = self._guard.refusal(ip_address(peer[0]))
        if reason is not None:
            raise AddressRefused(reason)

    async def _context(self) -> ssl.SSLContext:
        # Reading the system's authorities takes tens of milliseconds: once, in a thread.
        if self._tls is None or (self._tls.done() and self._tls.exception() is not None):
            self._tls = asyncio.ensure_future(asyncio.to_thread(make_context, self._settings.ca_file))
        return await asyncio.shield(self._tls)


def make_context(ca_file: str | None) -> ssl.SSLContext:
    """Returns a context that verifies certificates and host names. Raises OSError if `ca_file` cannot be read."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    if ca_file is not None:
        context.load_verify_locations(cafile=ca_file)
    return context


def is_own_fault(error: Exception) -> bool:
    """True if the cause is on this machine, such as EMFILE (no file descriptor left)."""
    return isinstance(error, OSError) and not isinstance(error, ssl.SSLError) and error.errno in OWN_FAULT


def explain(error: BaseException) -> str:
    """Returns the reason for the customer, such as "its name has no address". It reveals no internal address."""
    match error:
        case AddressRefused():
            return f"its address is refused: {error}"
        case NameUnknown():
            return "its name has no address"
        case ssl.SSLCertVerificationError():
            return f"its certificate is not trusted: {error.verify_message}"
        case ssl.SSLError():
            # such as wrong_version_number, if the port speaks no TLS, or tlsv1_alert_protocol_version
            return f"TLS failed ({error.reason.replace('_', ' ').lower()})" if error.reason else "TLS failed"
        case NoHandshake():
            return "it took the connection and did not answer the TLS handshake in time"
        case TimeoutError():
            return "no connection in time"
        case ConnectionRefusedError():
            return "connection refused"
        case ConnectionError():
            return "the connection was closed while it was being set up"
        case _:
            return "it cannot be reached"
