"""Servers side by side in one process, with and without TLS, for applications that are no API."""

import asyncio
import ssl
from pathlib import Path

from heliograph.http.asgi import Asgi, Receive, Scope, Send, respond
from heliograph.http.server import serve
from heliograph.net.tls import CertificateFiles, Tls
from tests.support.timeouts import PATIENCE_S
from tests.unit.http.test_connection import Words

CERTIFICATES = Path(__file__).parents[1] / "carrier" / "certificates"


def says(text: bytes) -> Asgi:
    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        await respond(scope, send, 200, [(b"content-length", b"%d" % len(text))], text)

    return application


async def asked(port: int, tls: ssl.SSLContext | None = None) -> bytes:
    """All that a server answers to one request."""
    async with asyncio.timeout(PATIENCE_S):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = await reader.read()
        writer.close()
        return answer


async def test_several_listeners_serve_their_own_applications() -> None:
    ours = Tls(CertificateFiles(CERTIFICATES / "smsc.pem").load())
    theirs = ssl.create_default_context(cafile=CERTIFICATES / "authority.pem")
    theirs.check_hostname = False
    plain = await serve(says(b"messages"), Words(), "127.0.0.1", 0)
    secure = await serve(says(b"health"), Words(), "127.0.0.1", 0, tls=ours)
    assert (await asked(plain.port)).endswith(b"\r\n\r\nmessages")
    assert (await asked(secure.port, theirs)).endswith(b"\r\n\r\nhealth")
    await plain.stop(PATIENCE_S)
    assert (await asked(secure.port, theirs)).endswith(b"\r\n\r\nhealth"), "each stops by itself"
    await secure.stop(PATIENCE_S)


async def test_a_client_without_tls_gets_nothing_from_a_listener_with_it() -> None:
    ours = Tls(CertificateFiles(CERTIFICATES / "smsc.pem").load())
    secure = await serve(says(b"health"), Words(), "127.0.0.1", 0, tls=ours)
    assert b"health" not in await asked(secure.port)
    assert secure.connections == 0
    await secure.stop(PATIENCE_S)
