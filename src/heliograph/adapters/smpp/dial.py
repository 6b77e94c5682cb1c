"""Connecting to an operator: addresses, TLS, time limits."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from heliograph import files
from heliograph.adapters.smpp.options import Dialect
from heliograph.domain.security.host import AllowedHosts

ANYWHERE: Final = AllowedHosts()

P = TypeVar("P", bound=asyncio.Protocol)


def tls_context(dialect: Dialect) -> ssl.SSLContext:
    """Makes a TLS context that verifies the operator's certificate and its name, unless the dialect says otherwise.
    Reads files: raises UnusableFile, ssl.SSLError."""
    for name in (dialect.ca_file, dialect.cert_file, dialect.key_file):
        if name:
            files.usable(Path(name))
    context = ssl.create_default_context(cafile=dialect.ca_file or None)
    if not dialect.tls_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if dialect.cert_file:
        context.load_cert_chain(dialect.cert_file, dialect.key_file or None)
    return context


async def resolve(host: str, port: int, allowed: AllowedHosts) -> list[str]:
    """Returns the allowed addresses of the host, in the order in which to try them. Raises OSError, also if no address
    is allowed."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    usable = [address for address in addresses if allowed.allows(host, address)]
    if not usable:
        shown = host if host in addresses else f"{host}, which is {', '.join(addresses)}"
        raise OSError(f"the setting smpp.allowed_hosts does not allow {shown}")
    return usable


async def dial(
    make: Callable[[], P],
    host: str,
    port: int,
    *,
    tls: bool,
    dialect: Dialect,
    timeout_s: float,
    allowed: AllowedHosts = ANYWHERE,
) -> tuple[asyncio.Transport, P]:
    """Opens a connection with the protocol `make()`. Raises OSError, and its subclasses TimeoutError and
    ssl.SSLError.
    """
    async with asyncio.timeout(timeout_s):
        # The checked address is the address of the connection: the name is not resolved a second time. Resolving here
        # also avoids an error of uvloop: a cancelled create_connection that fails later leaves an exception that no
        # code handles.
        addresses = await resolve(host, port, allowed)
        # Loading the system's certificates takes tens of milliseconds, which the loop does not have.
        context = await asyncio.to_thread(tls_context, dialect) if tls else None
        loop = asyncio.get_running_loop()
        for last, address in enumerate(addresses, 1 - len(addresses)):
            try:
                return await loop.create_connection(
                    make,
                    address,
                    port,
                    ssl=context,
                    server_hostname=(dialect.tls_server_name or host) if tls else None,
                )
            except OSError:
                if last == 0:
                    raise
    raise AssertionError("not reached: a host that is resolved has an address")


def send_at_once(transport: asyncio.Transport) -> None:
    """Sets TCP_NODELAY."""
    sock = transport.get_extra_info("socket")
    if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
