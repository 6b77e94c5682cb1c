"""Connecting to an operator: addresses, TLS, time limits."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import TypeVar

from heliograph.adapters.smpp.options import Dialect

P = TypeVar("P", bound=asyncio.Protocol)


def tls_context(dialect: Dialect) -> ssl.SSLContext:
    """Makes a TLS context that verifies the operator's certificate and its name, unless the dialect says otherwise.
    Reads files: raises OSError, ssl.SSLError."""
    context = ssl.create_default_context(cafile=dialect.ca_file or None)
    if not dialect.tls_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if dialect.cert_file:
        context.load_cert_chain(dialect.cert_file, dialect.key_file or None)
    return context


async def dial(
    make: Callable[[], P], host: str, port: int, *, tls: bool, dialect: Dialect, timeout_s: float
) -> tuple[asyncio.Transport, P]:
    """Opens a connection whose protocol is `make()`. Raises OSError, TimeoutError and ssl.SSLError among them."""
    async with asyncio.timeout(timeout_s):
        # Loading the system's certificates takes tens of milliseconds, which the loop does not have.
        context = await asyncio.to_thread(tls_context, dialect) if tls else None
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.create_connection(
            make,
            host,
            port,
            ssl=context,
            server_hostname=(dialect.tls_server_name or host) if tls else None,
        )
    return transport, protocol


def send_at_once(transport: asyncio.Transport) -> None:
    """Sets TCP_NODELAY."""
    sock = transport.get_extra_info("socket")
    if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
