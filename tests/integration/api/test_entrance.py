"""How connections come in, and those that are read once, written to once and closed."""

import asyncio
import contextlib
import errno
import gc
import re
import socket
import struct
from collections.abc import AsyncIterator
from typing import Any

import pytest

from heliograph.api import server as server_module
from heliograph.api.entrance import PAUSE_S
from heliograph.api.fast_send.connection import HotConnection
from heliograph.api.server import Server, serve
from heliograph.http.brief import BriefTransport
from heliograph.http.limits import MAX_HEAD_OCTETS
from tests.integration.api.test_server import BODY, SEND, Client, Hold, client, eventually, hold_commits
from tests.support.gateway import START, Gateway
from tests.support.patience import PATIENCE_S

LAST = SEND + b"Connection: close\r\n"


def last(body: bytes = BODY) -> bytes:
    """A request after which its client sends nothing more."""
    return LAST + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


@pytest.fixture
async def server(gateway: Gateway) -> AsyncIterator[Server]:
    """It knows the head of `last`."""
    running = await serve(gateway.app, "127.0.0.1", 0)
    for _ in range(2):  # the first one's credentials are checked, with the second one they are known
        async with client(running) as one:
            await one.write(last())
            assert (await one.read())[0] == 200
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


def told(octets: bytes) -> tuple[bytes, bytes]:
    """What an answer says, without what each answer has of its own."""
    head, _, body = octets.partition(b"\r\n\r\n")
    head = re.sub(rb"(date|x-request-id|connection): [^\r]*\r\n", b"", head + b"\r\n")
    return head, re.sub(rb'"Id":"[0-9a-f]{32}"', b"", body)


def briefs(server: Server) -> list[Any]:
    return [each for each in server._state.connections if isinstance(each.transport, BriefTransport)]


async def under_way(hold: Hold, server: Server) -> Any:
    """The brief connection that waits for the store."""
    async with asyncio.timeout(PATIENCE_S):
        await hold.arrived.wait()
    (found,) = briefs(server)
    return found


async def test_a_request_with_nothing_after_it_is_answered_without_the_loops_watching(
    gateway: Gateway, server: Server
) -> None:
    hold, accepted = hold_commits(gateway), len(gateway.intake.accepted)
    connected = at_once(server, last())
    connection = await under_way(hold, server)
    assert connection.address() == "127.0.0.1"
    hold.go.set()
    octets = await answer(connected)
    assert octets.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"\r\nconnection: close\r\n" in octets
    assert b'"Status":"00"' in octets
    assert len(gateway.intake.accepted) == accepted + 1
    assert server.connections == 0


async def test_nothing_of_it_is_left_for_the_collector(server: Server) -> None:
    await answer(at_once(server, last()))
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            await answer(at_once(server, last()))
        left = [each for each in gc.get_objects() if isinstance(each, BriefTransport | HotConnection)]
    finally:
        gc.enable()
    assert left == []


@pytest.mark.parametrize(
    "body",
    [
        BODY,
        b"",
        b"{",
        b'{"to":"447700900123"}',
        b'{"to":["447700900123","447700900124"],"from":"Helio","content":"Hello"}',
        b'{"to":"447700900123","from":"Helio","content":"Hello","from-where":1}',
        b'{"to":"12","from":"Helio","content":"' + b"Hello" * 300 + b'"}',
    ],
)
async def test_it_is_told_what_others_are_told(server: Server, body: bytes) -> None:
    async with client(server) as one:
        await one.write(last(body)[:9])  # in two pieces: that connection is watched
        await eventually(lambda: server.connections == 1)
        await one.write(last(body)[9:])
        usual = await rest(one)
    assert told(await answer(at_once(server, last(body)))) == told(usual)


async def rest(one: Client) -> bytes:
    async with asyncio.timeout(PATIENCE_S):
        return await one._reader.read()


async def test_a_key_that_was_revoked_is_refused_there_too(gateway: Gateway, server: Server) -> None:
    await gateway.store.accounts.revoke_key(1, "k-acme", START)
    await gateway.directory.refresh()
    octets = await answer(at_once(server, last()))
    assert octets.startswith(b"HTTP/1.1 401 ")
    assert octets.endswith(b"}")
    assert server.connections == 0


async def test_who_has_gone_before_the_answer_has_sent_their_message(
    gateway: Gateway, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    hold, accepted = hold_commits(gateway), len(gateway.intake.accepted)
    connected = at_once(server, last())
    await under_way(hold, server)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connected.close()  # a reset
    hold.go.set()
    await eventually(lambda: server.connections == 0)
    assert len(gateway.intake.accepted) == accepted + 1
    assert gateway.journal.lines == []
    assert caplog.records == []


async def test_who_says_nothing_and_goes_is_no_matter(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    for linger in (0, 1):
        connected = socket.create_connection(("127.0.0.1", server.port))
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", linger, 0))
        connected.close()
    assert (await answer(at_once(server, last()))).startswith(b"HTTP/1.1 200 ")
    await eventually(lambda: server.connections == 0)
    assert caplog.records == []


async def test_what_is_sent_a_little_later_is_read_all_the_same(gateway: Gateway, server: Server) -> None:
    """While the loop looks at a connection, and after it has given up looking."""
    for turns in range(6):
        connected = at_once(server, b"")
        for _ in range(turns):
            await asyncio.sleep(0)
        connected.setblocking(True)
        connected.sendall(last())
        connected.setblocking(False)
        assert (await answer(connected)).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("more", [b"G", last()])
async def test_what_follows_is_not_mistaken_for_nothing(server: Server, more: bytes) -> None:
    """Such a connection is watched, and answers as it always did."""
    octets = await answer(at_once(server, last() + more))
    assert octets.count(b"HTTP/1.1 200 OK\r\n") == 1
    assert octets.count(b"HTTP/1.1") == 1


async def test_too_many_connections_are_refused_there_too(gateway: Gateway) -> None:
    running = await serve(gateway.app, "127.0.0.1", 0, max_connections=1)
    for _ in range(2):
        assert (await answer(at_once(running, last()))).startswith(b"HTTP/1.1 200 ")
    hold = hold_commits(gateway)
    first = at_once(running, last())
    await under_way(hold, running)
    async with client(running) as second:
        assert (await second.read())[0] == 503
    hold.go.set()
    assert (await answer(first)).startswith(b"HTTP/1.1 200 ")
    await running.stop(PATIENCE_S)


async def test_a_stop_lets_it_end(gateway: Gateway, server: Server) -> None:
    hold = hold_commits(gateway)
    connected = at_once(server, last())
    await under_way(hold, server)
    port = server.port
    stopping = asyncio.create_task(server.stop(PATIENCE_S))
    await asyncio.sleep(0)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    hold.go.set()
    assert (await answer(connected)).startswith(b"HTTP/1.1 200 ")
    await stopping


async def test_a_stop_that_cannot_wait_drops_it(gateway: Gateway, server: Server) -> None:
    hold = hold_commits(gateway)
    connected = at_once(server, last())
    await under_way(hold, server)
    await server.stop(0.0)
    assert await answer(connected) == b""
    hold.go.set()
    await eventually(lambda: not gateway.intake.tasks)
    assert server.connections == 0


@pytest.mark.parametrize("turns", range(6))
async def test_who_comes_as_the_server_stops_is_let_go(server: Server, turns: int) -> None:
    """Not accepted yet, accepted and not looked at again, or just left to the loop: no connection stays behind."""
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

    def _accept(self) -> tuple[int, Any]:
        if self.left:
            self.left -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        accepted: tuple[int, Any] = super()._accept()  # type: ignore[misc]
        return accepted


async def test_where_there_is_no_room_for_another_connection_it_is_accepted_later(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def listen(host: str, port: int) -> list[socket.socket]:
        listening = FullHouse()
        listening.bind((host, port))
        listening.listen()
        return [listening]

    monkeypatch.setattr(server_module, "_listen", listen)
    loop = asyncio.get_running_loop()
    running = await serve(gateway.app, "127.0.0.1", 0)
    asked = loop.time()
    octets = await answer(at_once(running, b"GET /health/live HTTP/1.0\r\n\r\n"))
    assert octets.startswith(b"HTTP/1.1 200 ")
    assert loop.time() - asked >= PAUSE_S * 0.9
    assert gateway.journal.lines == [("error", "http.no_room", {"problem": "Too many open files"})]
    running._entrance._listening[0].left = 1  # type: ignore[attr-defined]
    waiting = at_once(running, b"")
    await eventually(lambda: running._entrance._pause is not None)
    await running.stop(0.0)  # while nothing is accepted
    assert len(gateway.journal.lines) == 1, "it is not said each time"
    waiting.close()


async def test_each_address_of_a_host_is_listened_on(gateway: Gateway) -> None:
    running = await serve(gateway.app, "localhost", 0)
    found = {each.getsockname()[0] for each in running._entrance._listening}
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
    assert [each.family for each in running._entrance._listening] == [socket.AF_INET]
    await running.stop(0.0)
    resolves_to(monkeypatch, "127.0.0.1", family=unknown)
    with pytest.raises(OSError, match=r"name\.example"):
        await serve(gateway.app, "name.example", 0)


async def test_where_one_address_is_taken_the_others_are_given_up(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolves_to(monkeypatch, "127.0.0.1", "127.0.0.2")
    with socket.create_server(("127.0.0.2", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match="in use"):
            await serve(gateway.app, "name.example", port)
    with socket.create_server(("127.0.0.1", port)):
        pass


# --- the transport


class Told:
    """Who hears that a transport has closed."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, problem: Exception | None) -> None:
        self.times += 1


def pair() -> tuple[socket.socket, socket.socket]:
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
    theirs.setblocking(False)
    return ours, theirs


async def test_what_a_socket_has_no_room_for_follows(server: Server) -> None:
    ours, theirs = pair()
    lost = Told()
    transport = BriefTransport(ours, server._state, lost)
    octets = bytes(range(256)) * 4 * (MAX_HEAD_OCTETS // 256)
    transport.write(octets)
    transport.write(b"and more")
    transport.close()
    transport.close()
    transport.write(b"not this")
    assert (lost.times, transport.is_closing(), len(server._state.tasks)) == (1, True, 1)
    assert await answer(theirs) == octets + b"and more"
    await eventually(lambda: not server._state.tasks)


async def test_a_transport_that_is_dropped_sends_nothing_more(server: Server) -> None:
    ours, theirs = pair()
    lost = Told()
    transport = BriefTransport(ours, server._state, lost)
    octets = bytes(1 << 20)
    transport.write(octets)
    transport.abort()
    assert len(await answer(theirs)) < len(octets)
    assert (lost.times, server._state.tasks) == (1, set())


async def test_a_client_who_has_gone_closes_it(server: Server) -> None:
    ours, theirs = pair()
    lost = Told()
    transport = BriefTransport(ours, server._state, lost)
    theirs.close()
    transport.write(b"nobody reads this")
    assert (lost.times, transport.is_closing()) == (1, True)
    assert transport.get_extra_info("peername") is None


async def test_a_client_who_goes_before_the_rest_is_no_matter(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    ours, theirs = pair()
    transport = BriefTransport(ours, server._state, Told())
    transport.write(bytes(1 << 20))
    transport.close()
    theirs.close()
    await eventually(lambda: not server._state.tasks)
    assert caplog.records == []
