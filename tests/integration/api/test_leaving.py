"""Whoever is answered for the last time while it still sends reads its answer: the server passes over the rest."""

import asyncio
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest
import uvloop

from heliograph.api.serve import serve
from heliograph.http import limits, seat
from heliograph.http import server as server_module
from heliograph.http.server import Server
from tests.integration.api.test_server import AUTH, SEND, client, connections, eventually
from tests.properties.api.test_short_cut import GOOD, Protocol, fast, opened, usual
from tests.support.gateway import Gateway, basic, open_gateway
from tests.support.timeouts import PATIENCE_S

SIZE = 3 << 20
CLOSE = SEND.replace(b"Host: x\r\n", b"Host: x\r\nConnection: close\r\n")
STRANGER = CLOSE.replace(AUTH, b"Authorization: " + basic("acme", "wrong") + b"\r\n")
LENGTH = b"Content-Length: %d\r\n\r\n" % SIZE
CHUNK = b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n"


def talk(port: int, head: bytes, rest: bytes) -> bytes:
    """As programs do that write all before they read: where the server resets the connection one of these raises."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as link:
        link.sendall(head)
        answer = link.recv(65_536)
        for start in range(0, len(rest), 65_536):
            link.sendall(rest[start : start + 65_536])
        while more := link.recv(65_536):
            answer += more
    return answer


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (STRANGER + LENGTH, b"401"),
        (STRANGER.replace(b"HTTP/1.1", b"HTTP/1.0") + LENGTH, b"401"),
        (CLOSE + LENGTH, b"413"),
        (SEND.replace(b"Host: x\r\n", b"Host: x\r\nExpect: 100-continue\r\n") + LENGTH, b"413"),
        (SEND.replace(b"Host: x\r\n", b"") + LENGTH, b"400"),
        (SEND + CHUNK + b"nonsense\r\n", b"400"),
    ],
    ids=["a stranger", "a stranger of 1.0", "too much", "too much to be asked for", "no host", "no chunk"],
)
@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_who_still_sends_reads_the_answer(run: Callable[[Any], None], head: bytes, status: bytes) -> None:
    async def both() -> None:
        gateway = await open_gateway()
        running = await serve(gateway.app, "127.0.0.1", 0)
        answer = await asyncio.to_thread(talk, running.port, head, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * (SIZE // 25))
        assert answer.startswith(b"HTTP/1.1 %b " % status)
        assert answer.count(b"HTTP/1.1 ") == 1, "what it sends is no request"
        assert b"\r\nconnection: close\r\n" in answer
        await eventually(lambda: running.connections == 0)
        await running.stop(1.0)

    run(both())


async def leaver(running: Server) -> None:
    await eventually(lambda: [each.phase for each in connections(running)] == [seat.LEAVING])


async def test_who_does_not_leave_is_hung_up_on(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "TICK_S", 0.01)
    running = await serve(gateway.app, "127.0.0.1", 0)
    async with client(running) as one:
        await one.write(STRANGER + LENGTH)
        assert (await one.read())[0] == 401
        await leaver(running)
        monkeypatch.setattr(limits, "LEAVE_TIMEOUT_S", 0.05)
        await eventually(lambda: running.connections == 0)
    await running.stop(1.0)


async def test_a_stop_does_not_wait_for_who_does_not_leave(gateway: Gateway) -> None:
    running = await serve(gateway.app, "127.0.0.1", 0)
    async with client(running) as one:
        await one.write(STRANGER + LENGTH)
        assert (await one.read())[0] == 401
        await leaver(running)
        started = time.monotonic()
        await running.stop(PATIENCE_S)
        assert time.monotonic() - started < PATIENCE_S / 2


async def test_an_application_hears_that_its_client_is_refused(gateway: Gateway) -> None:
    """In the midst of a body; and what it answers then goes nowhere."""
    heard: list[str] = []

    async def listens(scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        while message["type"] == "http.request":
            message = await receive()
        heard.append(message["type"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    gateway.app.mount("/x", listens)
    running = await serve(gateway.app, "127.0.0.1", 0)
    async with client(running) as one:
        await one.write(b"POST /x HTTP/1.1\r\nHost: x\r\n" + CHUNK)
        await eventually(lambda: bool(running._state.tasks))
        await one.write(b"nonsense\r\n")
        assert (await one.read())[0] == 400
        assert await one.closed()
        await eventually(lambda: heard == ["http.disconnect"])
    await running.stop(1.0)


@pytest.mark.parametrize("protocol", [fast, usual])
async def test_who_takes_no_answers_makes_no_more_requests(protocol: Protocol) -> None:
    """On the short cut nothing else held answers back: whoever read none of them could fill the memory."""
    line = await opened(protocol, credit="100")
    await line.hear(GOOD)
    await line.settle()
    line.connection.pause_writing()
    assert line.wire.paused
    before = len(line.wire.written)
    for octets in (GOOD, GOOD * 30, GOOD[:40]):  # what the loop had read already
        line.connection.data_received(octets)
        await line.settle()
    assert len(line.gateway.intake.accepted) <= 2
    assert len(line.wire.written) - before <= 1_000
    line.connection.resume_writing()
    await line.settle()
    assert len(line.gateway.intake.accepted) == 32
    await line.hear(GOOD[40:])
    await line.settle()
    assert [status for status, _, _ in line.answers()] == [b"HTTP/1.1 200 OK"] * 33
    assert not line.wire.paused


async def test_who_takes_no_answers_and_goes_leaves_nothing_behind() -> None:
    line = await opened(fast)
    line.connection.pause_writing()
    line.connection.data_received(GOOD * 30)
    line.wire.closing = True
    line.connection.resume_writing()
    line.connection.connection_lost(None)
    await line.settle()
    assert line.gateway.intake.accepted == []
