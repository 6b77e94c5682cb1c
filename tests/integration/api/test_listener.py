"""Accepting connections, with room for more in the system and without; the addresses to listen on."""

import asyncio
import contextlib
import errno
import socket
import ssl
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from heliograph.api.serve import serve
from heliograph.http import server as server_module
from heliograph.http.asgi import Receive, Scope, Send, respond
from heliograph.http.reply import Reply
from heliograph.http.server import Server
from heliograph.http.server import serve as serve_http
from heliograph.net.listener import PAUSE_S
from heliograph.net.tls import CertificateFiles, Tls
from tests.integration.api.test_server import BODY, SEND, eventually
from tests.support.gateway import Gateway
from tests.support.ports import free_port
from tests.support.timeouts import PATIENCE_S

CERTIFICATES = Path(__file__).parents[1] / "webhook" / "certificates"
LAST = SEND + b"Connection: close\r\n"


def last(body: bytes = BODY) -> bytes:
    """A request after which its client sends nothing more."""
    return LAST + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


@pytest.fixture
async def server(gateway: Gateway) -> AsyncIterator[Server]:
    running = await serve(gateway.app, "127.0.0.1", 0)
    yield running
    await running.stop(PATIENCE_S)


def at_once(server: Server, octets: bytes) -> socket.socket:
    """A client whose request is there when its connection is accepted: the loop does not turn in between."""
    connected = socket.create_connection(("127.0.0.1", server.port))
    connected.sendall(octets)
    connected.setblocking(False)
    return connected


async def answer(connected: socket.socket) -> bytes:
    """All that the client gets before the server hangs up."""
    octets = b""
    with connected:
        async with asyncio.timeout(PATIENCE_S):
            while more := await asyncio.get_running_loop().sock_recv(connected, 65_536):
                octets += more
    return octets


async def test_who_says_nothing_and_goes_is_no_matter(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    for linger in (0, 1):
        connected = socket.create_connection(("127.0.0.1", server.port))
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", linger, 0))
        connected.close()
    assert (await answer(at_once(server, last()))).startswith(b"HTTP/1.1 200 ")
    await eventually(lambda: server.connections == 0)
    assert caplog.records == []


async def test_what_is_sent_a_little_later_is_read_all_the_same(gateway: Gateway, server: Server) -> None:
    for turns in range(6):
        connected = at_once(server, b"")
        for _ in range(turns):
            await asyncio.sleep(0)
        connected.setblocking(True)
        connected.sendall(last())
        connected.setblocking(False)
        assert (await answer(connected)).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("turns", range(6))
async def test_who_comes_as_the_server_stops_is_let_go(server: Server, turns: int) -> None:
    """Not accepted yet, or just accepted: no connection stays behind."""
    connected = at_once(server, b"")
    for _ in range(turns):
        await asyncio.sleep(0)
    await server.stop(0.0)
    with contextlib.suppress(ConnectionResetError):  # where it was never accepted
        assert await answer(connected) == b""
    assert server.connections == 0


class FullHouse(socket.socket):
    """A socket that listens, where the system has no room for one more connection."""

    left = 1
    """So many times."""

    def accept(self) -> tuple[socket.socket, Any]:
        if self.left:
            self.left -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


async def test_where_there_is_no_room_for_another_connection_it_is_accepted_later(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def listen(host: str, port: int) -> list[socket.socket]:
        listening = FullHouse()
        listening.bind((host, port))
        listening.listen()
        return [listening]

    monkeypatch.setattr(server_module, "listen", listen)
    loop = asyncio.get_running_loop()
    running = await serve(gateway.app, "127.0.0.1", 0)
    asked = loop.time()
    octets = await answer(at_once(running, b"GET /health/live HTTP/1.0\r\n\r\n"))
    assert octets.startswith(b"HTTP/1.1 200 ")
    assert loop.time() - asked >= PAUSE_S * 0.9
    assert gateway.journal.lines == [("error", "http.no_room", {"problem": "Too many open files"})]
    running._listener._listening[0].left = 1  # type: ignore[attr-defined]
    waiting = at_once(running, b"")
    await eventually(lambda: running._listener._pause is not None)
    await running.stop(0.0)  # while nothing is accepted
    assert len(gateway.journal.lines) == 1, "it is not said each time"
    waiting.close()


async def test_each_address_of_a_host_is_listened_on(gateway: Gateway) -> None:
    running = await serve(gateway.app, "localhost", free_port())
    found = {each.getsockname()[0] for each in running._listener._listening}
    expected = {info[4][0] for info in socket.getaddrinfo("localhost", 0, type=socket.SOCK_STREAM)}
    assert found == expected
    await running.stop(0.0)


def resolves_to(monkeypatch: pytest.MonkeyPatch, *hosts: str, family: int = socket.AF_INET) -> None:
    """A name has these addresses, the first one of `family`."""

    async def look_up(_host: str, port: int, **_: Any) -> list[Any]:
        families = [family] + [socket.AF_INET] * (len(hosts) - 1)
        return [(each, socket.SOCK_STREAM, 6, "", (host, port)) for each, host in zip(families, hosts, strict=True)]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", look_up)


@pytest.mark.parametrize("hosts", [("127.0.0.1", "198.51.100.1"), ("198.51.100.1", "127.0.0.1")])
async def test_an_address_that_the_machine_does_not_have_is_an_error(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, hosts: tuple[str, str]
) -> None:
    """Rather than that nobody notices who cannot connect."""
    resolves_to(monkeypatch, *hosts)
    with pytest.raises(OSError, match=r"198\.51\.100\.1"):
        await serve(gateway.app, "name.example", 0)


async def test_a_family_that_the_system_does_not_know_is_left_out(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = 255
    resolves_to(monkeypatch, "127.0.0.1", "127.0.0.1", family=unknown)
    running = await serve(gateway.app, "name.example", 0)
    assert [each.family for each in running._listener._listening] == [socket.AF_INET]
    await running.stop(0.0)
    resolves_to(monkeypatch, "127.0.0.1", family=unknown)
    with pytest.raises(OSError, match=r"name\.example"):
        await serve(gateway.app, "name.example", 0)


async def test_where_one_address_is_taken_the_others_are_given_up(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolves_to(monkeypatch, "127.0.0.1", "127.0.0.2")
    port = free_port()
    with socket.create_server(("127.0.0.2", port)), pytest.raises(OSError, match="in use"):
        await serve(gateway.app, "name.example", port)
    with socket.create_server(("127.0.0.1", port)):
        pass


# --- any application, with TLS if wanted, beside others


class Words:
    """`http.reply.Replies` of an application that is not the customers' API."""

    def malformed(self, problem: str) -> Reply:
        return Reply(400, problem.encode())

    def overloaded(self, problem: str) -> Reply:
        return Reply(503, problem.encode())

    def too_many(self, problem: str, seconds: int) -> Reply:
        return Reply(429, problem.encode())

    def failed(self, error: Exception, method: str, request_id: bytes | None) -> Reply:
        return Reply(500, repr(error).encode())

    def next_request_id(self) -> bytes:
        return b"one"

    def note_response(self, status: int) -> None: ...

    def note_no_room(self, problem: OSError) -> None: ...

    def note_turned_away(self, why: str, client: str) -> None: ...


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["path"] == "/fails":
        raise ValueError("here")
    await respond(scope, send, 200, [], f"{scope['scheme']} {scope['path']}".encode())


async def test_two_servers_of_one_process_have_applications_of_their_own() -> None:
    one = await serve_http(echo, Words(), "127.0.0.1", 0)
    other = await serve_http(echo, Words(), "127.0.0.1", 0)
    assert one.port != other.port
    for server in (one, other):
        assert (await answer(at_once(server, b"GET /a HTTP/1.0\r\n\r\n"))).endswith(b"\r\n\r\nhttp /a")
    await one.stop(0.0)
    assert b" 500 " in await answer(at_once(other, b"GET /fails HTTP/1.0\r\n\r\n"))
    assert (await answer(at_once(other, b"nonsense\r\n\r\n"))).startswith(b"HTTP/1.1 400 ")
    await other.stop(0.0)


async def test_a_server_speaks_tls_where_it_is_given_a_context() -> None:
    tls = Tls(CertificateFiles(CERTIFICATES / "receiver.pem").load())
    running = await serve_http(echo, Words(), "127.0.0.1", 0, tls=tls)
    trusting = ssl.create_default_context(cafile=CERTIFICATES / "authority.pem")
    trusting.check_hostname = False
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port, ssl=trusting)
    writer.write(b"GET /a HTTP/1.0\r\n\r\n")
    assert (await reader.read()).endswith(b"\r\n\r\nhttps /a")
    writer.close()
    with contextlib.suppress(ConnectionResetError):  # who does not speak it is let go
        assert b"200" not in await answer(at_once(running, b"GET /a HTTP/1.0\r\n\r\n"))
    await running.stop(0.0)
