"""The server on a socket: what raw clients may and may not do."""

import asyncio
import contextlib
import http.client
import json
import socket
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

import pytest
import uvloop

from heliograph.api import answer as answer_module
from heliograph.api import checks
from heliograph.api.fast_send.head import SHORT_BODY
from heliograph.api.serve import serve
from heliograph.app.facts import Facts
from heliograph.http import limits, seat
from heliograph.http import server as server_module
from heliograph.http.limits import MAX_HEAD_OCTETS
from heliograph.http.server import DRAIN_STEP_S, Server
from heliograph.net import clients
from heliograph.net.clients import Shares
from tests.support.gateway import API_KEY, Gateway, basic, open_gateway
from tests.support.ports import free_port
from tests.support.timeouts import PATIENCE_S

BODY = b'{"to":"447700900123","from":"Helio","content":"Hello"}'
AUTH = b"Authorization: " + basic("acme", API_KEY) + b"\r\n"
JSON = b"Content-Type: application/json\r\n"
SEND = b"POST /api/v1/messages HTTP/1.1\r\nHost: x\r\n" + AUTH + JSON
HEALTH = b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n"
WHOLE = SEND + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY


@pytest.fixture
async def server(gateway: Gateway) -> AsyncIterator[Server]:
    running = await serve(gateway.app, "127.0.0.1", 0)
    yield running
    await running.stop(1.0)


class Client:
    """A raw connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def read(self, *, head: bool = False) -> tuple[int, dict[str, str], bytes]:
        """One response."""
        async with asyncio.timeout(PATIENCE_S):
            start, *lines = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
            headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
            body = b"" if head else await self._reader.readexactly(int(headers.get("content-length", 0)))
        assert start.startswith("HTTP/1.1 ")
        assert headers["x-request-id"]
        assert headers["content-type"] == "application/json"
        if body:
            json.loads(body)
        return int(start.split(" ")[1]), headers, body

    async def skip(self, octets: bytes) -> None:
        """What comes next."""
        async with asyncio.timeout(PATIENCE_S):
            assert await self._reader.readexactly(len(octets)) == octets

    async def closed(self) -> bool:
        """Whether the server hangs up, with nothing more to say."""
        async with asyncio.timeout(PATIENCE_S):
            try:
                return await self._reader.read(1) == b""
            except ConnectionResetError:
                return True

    def say_no_more(self) -> None:
        self._writer.write_eof()

    def close(self) -> None:
        self._writer.close()


@contextlib.asynccontextmanager
async def client(server: Server) -> AsyncIterator[Client]:
    one = Client(*await asyncio.open_connection("127.0.0.1", server.port))
    try:
        yield one
    finally:
        one.close()


def connections(server: Server) -> list[Any]:
    """The connections of a server, with all that they are."""
    return list(server._state.connections)


async def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


class Hold(NamedTuple):
    """What holds up the store's commits: `arrived` is set once there is one, and to set `go` lets them all through."""

    arrived: asyncio.Event
    go: asyncio.Event


def hold_commits(gateway: Gateway) -> Hold:
    hold, record = Hold(asyncio.Event(), asyncio.Event()), gateway.store.commits.record

    async def held(facts: Facts) -> None:
        hold.arrived.set()
        await hold.go.wait()
        await record(facts)

    gateway.store.commits.record = held  # type: ignore[method-assign]
    return hold


async def test_a_library_keeps_its_connection(server: Server) -> None:
    def talk() -> list[int]:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
        headers = {"Authorization": basic("acme", API_KEY).decode(), "Content-Type": "application/json"}
        statuses: list[int] = []
        sockets = set()
        for method, path in (("POST", "/api/v1/messages"), ("GET", "/nowhere"), ("POST", "/api/v1/account/balance")):
            connection.request(method, path, BODY if path.endswith("messages") else None, headers)
            sockets.add(connection.sock)
            response = connection.getresponse()
            response.read()
            assert response.getheader("date")
            assert response.getheader("server") is None
            statuses.append(response.status)
        connection.close()
        assert len(sockets) == 1
        return statuses

    assert await asyncio.to_thread(talk) == [200, 404, 200]


async def test_http_1_0_is_answered_and_closed(server: Server) -> None:
    async with client(server) as one:
        await one.write(WHOLE.replace(b"HTTP/1.1", b"HTTP/1.0").replace(b"Host: x\r\n", b""))
        status, headers, _ = await one.read()
        assert (status, headers["connection"]) == (200, "close")
        assert await one.closed()


async def test_requests_may_be_sent_ahead(server: Server) -> None:
    async with client(server) as one:
        await one.write(WHOLE + b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n" + WHOLE)
        assert [(await one.read())[0] for _ in range(3)] == [200, 404, 200]


async def test_a_request_may_come_octet_by_octet(server: Server) -> None:
    async with client(server) as one:
        for octet in WHOLE:
            await one.write(bytes([octet]))
        assert (await one.read())[0] == 200


async def test_a_body_may_come_in_chunks(server: Server) -> None:
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (BODY[:7], BODY[7:20], BODY[20:]))
    async with client(server) as one:
        await one.write(SEND + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\nX-Trailer: y\r\n\r\n" + WHOLE)
        assert [(await one.read())[0] for _ in range(2)] == [200, 200]


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_that_is_too_large_is_refused_and_the_connection_stays(server: Server, chunked: bool) -> None:
    size = (1 << 20) + 1
    async with client(server) as one:
        if chunked:
            await one.write(SEND + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % size + b"x" * size + b"\r\n0\r\n\r\n")
        else:
            await one.write(SEND + b"Content-Length: %d\r\n\r\n" % size + b"x" * size)
        status, _, body = await one.read()
        assert (status, json.loads(body)["Status"]) == (413, "10")
        await one.write(WHOLE)
        assert (await one.read())[0] == 200


async def test_a_long_body_is_not_kept_before_its_sender_is_known(server: Server) -> None:
    wrong = SEND.replace(AUTH, b"Authorization: " + basic("acme", "wrong") + b"\r\n")
    async with client(server) as one:
        await one.write(wrong + b"Content-Length: %d\r\n\r\n" % (SHORT_BODY + 1))
        assert (await one.read())[0] == 401, "though nothing of the body has come"


async def test_of_long_bodies_each_account_has_only_so_much_on_its_way(
    gateway: Gateway, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 100_000
    monkeypatch.setattr(checks, "ACCOUNT_OCTETS", 3 * size // 2)
    padding = b" " * (size - len(BODY))
    long = SEND + b"Content-Length: %d\r\n\r\n" % size + padding
    other = long.replace(basic("acme", API_KEY), basic("other", API_KEY))
    async with client(server) as first, client(server) as second, client(server) as third:
        await first.write(long)
        await eventually(lambda: gateway.app.checks.bodies._octets.get(1, 0) == len(padding))
        await second.write(long)
        status, headers, body = await second.read()
        assert (status, headers["retry-after"], json.loads(body)["Status"]) == (429, "1", "12")
        await third.write(other + BODY)
        assert (await third.read())[0] == 200, "another account's"
        await first.write(BODY)
        assert (await first.read())[0] == 200
        await second.write(BODY + long + BODY)
        assert (await second.read())[0] == 200
    assert gateway.app.checks.bodies._octets == {}


async def test_a_body_is_asked_for_only_where_it_is_wanted(server: Server) -> None:
    expect = WHOLE.replace(b"Host: x\r\n", b"Host: x\r\nExpect: 100-continue\r\n").removesuffix(BODY)
    async with client(server) as one:
        await one.write(expect)
        async with asyncio.timeout(PATIENCE_S):
            assert await one._reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        await one.write(BODY)
        assert (await one.read())[0] == 200
    async with client(server) as one:
        await one.write(expect.replace(AUTH, b""))
        status, headers, _ = await one.read()
        assert (status, headers["connection"]) == (401, "close")
        assert await one.closed()


@pytest.mark.parametrize("offer", [b"h2c", b"websocket"])
async def test_an_offer_of_another_protocol_is_passed_over(server: Server, offer: bytes) -> None:
    upgrade = b"Host: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: " + offer + b"\r\nHTTP2-Settings: AAA\r\n"
    offered = WHOLE.replace(b"Host: x\r\n", upgrade)
    async with client(server) as one:
        await one.write(offered + WHOLE)
        assert [(await one.read())[0] for _ in range(2)] == [200, 200]
        for octet in offered:
            await one.write(bytes([octet]))
        assert (await one.read())[0] == 200
        chunked = SEND.replace(b"Host: x\r\n", upgrade) + b"Transfer-Encoding: chunked\r\n\r\n"
        await one.write(chunked + b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY))
        assert (await one.read())[0] == 200
        await one.write(b"GET /health/live HTTP/1.1\r\n" + upgrade + b"\r\n" + WHOLE)
        assert [(await one.read())[0] for _ in range(2)] == [200, 200]


async def test_head_has_no_body(server: Server) -> None:
    async with client(server) as one:
        await one.write(b"HEAD /health/live HTTP/1.1\r\nHost: x\r\n\r\n" + WHOLE)
        status, headers, _ = await one.read(head=True)
        assert (status, int(headers["content-length"]) > 0) == (200, True)
        assert (await one.read())[0] == 200


@pytest.mark.parametrize(
    "request_head",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"nonsense\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n", b"CONNECT example.com:80 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nA : b\r\n\r\n", b"GET / HTTP/1.1\r\nA\x00: b\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"a" * MAX_HEAD_OCTETS + b"\r\n", b"GET /" + b"a" * (MAX_HEAD_OCTETS + 1),
        b"GET / HTTP/1.1\r\n" + b"A:\r\n" * (MAX_HEAD_OCTETS // 8),
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1 1\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: 0x1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: " + b"9" * 25 + b"\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
        b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"f" * 18 + b"\r\n",
        b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n",
        b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1 \r\na\r\n0\r\n\r\n",
        b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab0\r\n\r\n",
        b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\na\r\n0\r\n\r\n",
        b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 5\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", b"GET / HTTP/1.1\r\n A: b\r\n\r\n", b"GET / HTTP/1.1\nA: b\n\n",
        b"GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n", b"GET / HTTP/1.1\r\nA: b\0c\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: b\rc\r\n\r\n", b"GET / HTTP/1.1\r\nA\r\n\r\n", b"GET / HTTP/1.1\r\n: b\r\n\r\n",
        b"GET /\0 HTTP/1.1\r\n\r\n", b"GET /x y HTTP/1.1\r\n\r\n", b"GET x HTTP/1.1\r\n\r\n",
        b"FOO\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)  # fmt: skip
async def test_what_is_no_http_is_answered_in_json(server: Server, request_head: bytes) -> None:
    start, line, rest = request_head.partition(b" HTTP/1.1\r\n")
    async with client(server) as one:
        await one.write(start + line + b"Host: x\r\n" * (bool(line) and b"Host" not in rest) + rest)
        status, headers, body = await one.read()
        if status == 404:  # refused by its head, and then by its body
            status, headers, body = await one.read()
        assert (status, json.loads(body)["Status"], headers["connection"]) == (400, "01", "close")
        assert await one.closed()


async def test_strange_paths_are_just_unknown(server: Server) -> None:
    async with client(server) as one:
        for path in (
            b"*",
            b"http://x",
            b"//x/y",
            b"/%ff%fe",
            b"/%00",
            b"/api/v1/messages/%2e%2e",
            b"http://x/nowhere",
            b"/a?%ff=%",
        ):
            await one.write(b"GET " + path + b" HTTP/1.1\r\nHost: x\r\n" + AUTH + b"\r\n")
            assert (await one.read())[0] == 404


async def test_sends_ahead_of_their_answers_are_answered_in_order(server: Server) -> None:
    numbers = [f"4477009001{n:02}".encode() for n in range(20)]
    sends = [WHOLE.replace(b"447700900123", number) for number in numbers]
    ask = b"POST /api/v1/account/balance HTTP/1.1\r\nHost: x\r\n" + AUTH + b"\r\n"
    async with client(server) as one:
        await one.write(b"".join(send + ask for send in sends))
        for _ in sends:
            assert b'"Id"' in (await one.read())[2]
            assert b'"Message"' in (await one.read())[2]


@pytest.mark.parametrize("rest", [b"", WHOLE[:20], WHOLE[:-1]], ids=["nothing", "half a head", "half a body"])
@pytest.mark.parametrize("ahead", [0, 40])
@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_who_has_said_all_still_gets_its_answers(run: Callable[[Any], None], ahead: int, rest: bytes) -> None:
    """As `nc` does, whose input ends. What is begun and not whole is not done."""
    usual = WHOLE.replace(b"Host: x\r\n", b"Host: x\r\nContent-Encoding: identity\r\n")

    async def talk(last: bytes) -> None:
        gateway = await open_gateway()
        hold = hold_commits(gateway)
        running = await serve(gateway.app, "127.0.0.1", 0)
        async with client(running) as one:
            await one.write(WHOLE * ahead + last + rest)
            one.say_no_more()
            if not ahead and rest != WHOLE[:-1]:  # else the end is read when the others have their answers
                (connection,) = await found(running)
                await eventually(lambda: connection.latest is not None and not connection.latest.keep_alive)
            hold.go.set()
            assert [(await one.read())[0] for _ in range(ahead + 1)] == [200] * (ahead + 1)
            assert await one.closed()
        assert await gateway.balance() == str(1000 - ahead - 1)
        await running.stop(1.0)

    for last in (WHOLE, usual):
        run(talk(last))


async def found(server: Server) -> list[Any]:
    """Its connections, once there are some."""
    await eventually(lambda: server.connections > 0)
    return list(server._state.connections)


async def test_a_send_may_ask_to_be_hung_up_on(server: Server) -> None:
    async with client(server) as one:
        await one.write(WHOLE)
        assert (await one.read())[0] == 200
        await one.write(WHOLE.replace(b"Host: x", b"Host: x\r\nConnection: close"))
        status, headers, _ = await one.read()
        assert (status, headers["connection"]) == (200, "close")
        assert await one.closed()


async def test_a_send_keeps_its_request_id_and_its_errors(server: Server) -> None:
    named = WHOLE.replace(b"Host: x", b"Host: x\r\nX-Request-Id: mine-1")
    async with client(server) as one:
        for send, expected in (
            (named, 200),
            (named.replace(b"Hello", b"     "), 200),
            (named.replace(b"to", b"ot"), 400),
        ):
            await one.write(send)
            status, headers, _ = await one.read()
            assert (status, headers["x-request-id"]) == (expected, "mine-1")
        await one.write(WHOLE.replace(b"Host: x", b"Host: x\r\nX-Request-Id: \x01\x7f not one"))
        assert "not one" not in (await one.read())[1]["x-request-id"]


async def test_an_answer_that_cannot_be_made_is_a_fault_of_ours_and_not_a_silence(
    server: Server, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> None:
        raise KeyError("text of a customer")

    async with client(server) as one:
        await one.write(WHOLE)
        assert (await one.read())[0] == 200
        monkeypatch.setattr(answer_module, "of_accept", broken)
        await one.write(WHOLE)
        status, _, body = await one.read()
        assert (status, json.loads(body)["Status"]) == (500, "99")
        monkeypatch.undo()
        await one.write(WHOLE)
        assert (await one.read())[0] == 200
    assert "text of a customer" not in str(gateway.journal.lines)


async def test_a_client_that_hangs_up_has_sent_all_the_same(server: Server, gateway: Gateway) -> None:
    async with client(server) as one:
        await one.write(WHOLE)
        assert (await one.read())[0] == 200
    found = await gateway.store.accounts.find("acme")
    assert found is not None
    account = found[0].id
    before = await gateway.store.customers.balance(account)
    async with client(server) as one:
        await one.write(WHOLE)
    async with asyncio.timeout(PATIENCE_S):
        while await gateway.store.customers.balance(account) == before:  # noqa: ASYNC110 - the store has no event for it
            await asyncio.sleep(0.01)
    async with client(server) as one:
        await one.write(WHOLE)
        assert (await one.read())[0] == 200


@pytest.mark.parametrize(
    ("limit", "start"),
    [
        ("IDLE_TIMEOUT_S", b""),
        ("HEAD_TIMEOUT_S", WHOLE[:30]),
        ("BODY_TIMEOUT_S", WHOLE[:-1]),
        ("BODY_TIMEOUT_S", WHOLE[:-1].replace(AUTH, b"")),
    ],
)
async def test_a_slow_client_is_hung_up_on(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, limit: str, start: bytes
) -> None:
    monkeypatch.setattr(limits, limit, 0.05)
    monkeypatch.setattr(server_module, "TICK_S", 0.02)
    running = await serve(gateway.app, "127.0.0.1", 0)
    async with client(running) as one:
        await one.write(start)
        if limit == "BODY_TIMEOUT_S" and AUTH not in start:
            assert (await one.read())[0] == 401
        assert await one.closed()
    await running.stop(1.0)


@pytest.mark.parametrize("rest", [b"", WHOLE[:20]], ids=["alone", "before half a head"])
async def test_a_request_that_waits_for_the_store_is_not_hung_up_on(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, rest: bytes
) -> None:
    monkeypatch.setattr(server_module, "TICK_S", 0.01)
    hold = hold_commits(gateway)
    running = await serve(gateway.app, "127.0.0.1", 0)
    async with client(running) as one:
        await one.write(WHOLE + rest)
        await hold.arrived.wait()
        for timeout in ("IDLE_TIMEOUT_S", "HEAD_TIMEOUT_S", "BODY_TIMEOUT_S"):
            monkeypatch.setattr(limits, timeout, 0.05)
        await asyncio.sleep(0.3)
        hold.go.set()
        assert (await one.read())[0] == 200
    await running.stop(1.0)


async def test_there_is_a_limit_to_connections(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SPARE_TIMEOUT_S", PATIENCE_S)
    running = await serve(gateway.app, "127.0.0.1", 0, shares=Shares(2))
    async with client(running) as first, client(running) as second:
        await first.write(WHOLE)
        await second.write(WHOLE)
        assert ((await first.read())[0], (await second.read())[0]) == (200, 200)
        async with client(running) as third:
            status, headers, body = await third.read()
            assert (status, headers["retry-after"], json.loads(body)["Status"]) == (503, "1", "13")
            assert await third.closed()
        first.close()
        await eventually(lambda: running.connections == 1)
        async with client(running) as third:
            await third.write(WHOLE)
            assert (await third.read())[0] == 200
    await running.stop(1.0)


async def test_those_that_have_said_nothing_for_the_longest_make_room(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "TICK_S", 0.01)
    monkeypatch.setattr(clients, "ROOM", 1)
    hold = hold_commits(gateway)
    running = await serve(gateway.app, "127.0.0.1", 0, shares=Shares(3))
    async with client(running) as busy, client(running) as silent, client(running) as idle:
        await busy.write(WHOLE)
        await hold.arrived.wait()
        await eventually(lambda: running.connections == 3)
        latest = max(each.since for each in running._state.connections)
        await eventually(lambda: running._state.now > latest)
        await idle.write(HEALTH)
        assert (await idle.read())[0] == 200
        monkeypatch.setattr(limits, "SPARE_TIMEOUT_S", -PATIENCE_S)
        async with client(running) as late:
            await late.write(HEALTH)
            assert (await late.read())[0] == 200
            assert await silent.closed()
            await idle.write(HEALTH)
            assert (await idle.read())[0] == 200
            monkeypatch.setattr(limits, "SPARE_TIMEOUT_S", PATIENCE_S)
            async with client(running) as later:
                assert (await later.read())[0] == 503
        hold.go.set()
        assert (await busy.read())[0] == 200
    await running.stop(1.0)


async def test_a_stop_lets_requests_end_and_takes_no_more(gateway: Gateway) -> None:
    hold = hold_commits(gateway)
    port = free_port()
    running = await serve(gateway.app, "127.0.0.1", port)
    async with client(running) as busy, client(running) as idle:
        await idle.write(HEALTH)
        await idle.read()
        await busy.write(WHOLE)
        await hold.arrived.wait()
        stopping = asyncio.create_task(running.stop(PATIENCE_S))
        assert await idle.closed()
        with pytest.raises(OSError, match=r".*"):
            await asyncio.open_connection("127.0.0.1", port)
        hold.go.set()
        status, headers, _ = await busy.read()
        assert (status, headers["connection"]) == (200, "close")
        await stopping


async def test_a_notice_of_a_stop_serves_all_and_closes_after_each_answer(server: Server) -> None:
    """An idle connection is not closed before its next request, which could be on its way."""
    async with client(server) as sends, client(server) as asks:
        await sends.write(WHOLE)
        assert (await sends.read())[0] == 200
        await asks.write(HEALTH)
        await asks.read()
        server.give_notice()
        for link, request in ((sends, WHOLE), (asks, HEALTH)):
            await link.write(request)
            status, headers, _ = await link.read()
            assert (status, headers["connection"]) == (200, "close")
            assert await link.closed()
    async with client(server) as late:
        await late.write(WHOLE)
        status, headers, _ = await late.read()
        assert (status, headers["connection"]) == (200, "close")


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 500\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Content-Length: 500\r\nExpect: 100-continue\r\n",
        b"Content-Length: 500\r\nContent-Encoding: identity\r\n",
    ],
    ids=["plain", "chunked", "expected", "unusual"],
)
async def test_a_stop_does_not_wait_for_the_rest_of_a_body(gateway: Gateway, head: bytes) -> None:
    running = await serve(gateway.app, "127.0.0.1", 0)
    async with client(running) as one:
        await one.write(b"POST /api/v1/messages HTTP/1.1\r\nHost: x\r\n%b%b\r\n1" % (AUTH, head))
        if b"Expect" in head:
            await one.skip(b"HTTP/1.1 100 Continue\r\n\r\n")
        await eventually(lambda: [each.phase for each in connections(running)] == [seat.BODY])
        await running.stop(PATIENCE_S)
        status, headers, body = await one.read()
        assert (status, headers["connection"], headers["retry-after"]) == (503, "close", "1")
        assert b"about to stop" in body
        assert await one.closed()


async def test_what_was_whole_before_half_a_body_is_answered_before_a_stop(gateway: Gateway) -> None:
    hold = hold_commits(gateway)
    running = await serve(gateway.app, "127.0.0.1", 0)
    async with client(running) as one:
        await one.write(WHOLE + WHOLE[:-1])
        await hold.arrived.wait()
        stopping = asyncio.create_task(running.stop(PATIENCE_S))
        await asyncio.sleep(2 * DRAIN_STEP_S)
        assert not stopping.done()
        hold.go.set()
        assert [(await one.read())[0] for _ in range(2)] == [200, 503]
        assert await one.closed()
        await stopping


async def test_a_stop_does_not_wait_for_ever(gateway: Gateway, caplog: pytest.LogCaptureFixture) -> None:
    hold_commits(gateway)
    running = await serve(gateway.app, "127.0.0.1", 0)
    async with client(running) as one:
        await one.write(WHOLE)
        await eventually(lambda: running.connections == 1)
        started = time.monotonic()
        await running.stop(0.1)
        assert time.monotonic() - started < PATIENCE_S
        assert await one.closed()
    for task in gateway.intake.tasks:
        task.cancel()
    assert caplog.records == []


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_all_addresses_are_those_of_both_families(gateway: Gateway, host: str) -> None:
    running = await serve(gateway.app, "::", 0)
    reader, writer = await asyncio.open_connection(host, running.port)
    one = Client(reader, writer)
    await one.write(WHOLE)
    assert (await one.read())[0] == 200
    assert [each.ends.peer()[0] for each in connections(running)] == [host]
    one.close()
    await running.stop(1.0)


def test_it_is_the_same_on_the_loop_that_is_used_in_earnest() -> None:
    async def talk() -> list[int]:
        running = await serve((await open_gateway()).app, "127.0.0.1", 0)
        async with client(running) as one:
            await one.write(WHOLE + WHOLE + WHOLE.replace(AUTH, b""))
            statuses = [(await one.read())[0] for _ in range(3)]
            await running.stop(1.0)
            assert await one.closed()
        return statuses

    assert uvloop.run(talk()) == [200, 200, 401]


async def test_the_address_behind_a_trusted_proxy(gateway: Gateway) -> None:
    await gateway.change_account(networks=("198.51.100.0/24",))
    forwarded = WHOLE.replace(b"Host: x\r\n", b"Host: x\r\nX-Forwarded-For: 198.51.100.5\r\n")
    for trusted, expected in (((), 403), (("127.0.0.1",), 200)):
        running = await serve(gateway.app, "127.0.0.1", 0, trusted_proxies=trusted)
        async with client(running) as one:
            await one.write(forwarded)
            assert (await one.read())[0] == expected
            await one.write(forwarded + forwarded.replace(b"198.51.100.5", b"203.0.113.5"))
            assert [(await one.read())[0] for _ in range(2)] == [expected, 403], (
                "each request has an address of its own"
            )
        await running.stop(1.0)


async def test_a_port_that_is_taken(gateway: Gateway) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="in use"):
            await serve(gateway.app, "127.0.0.1", taken.getsockname()[1])
