"""What an ASGI application finds behind a connection, and its client before it: on sockets, of both event loops."""

import asyncio
import http.client
import subprocess
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
import uvloop

from heliograph.api.serve import serve
from heliograph.http import limits
from heliograph.http.asgi import Asgi, Receive, Scope, Send
from heliograph.http.server import Server
from tests.support.gateway import Gateway, open_gateway
from tests.support.hanging_up import reset
from tests.support.peers import foreign_program
from tests.support.timeouts import PATIENCE_S

OK: dict[str, Any] = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
HEAD = b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
GET = b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n"
LIVE = b"GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def piece(body: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more}


async def rest(reader: asyncio.StreamReader) -> bytes:
    """What still comes, before the server hangs up in one way or the other."""
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""


async def tells_ok(scope: Scope, receive: Receive, send: Send) -> None:
    await send(OK)
    await send(piece(b"ok"))


@pytest.fixture(params=[asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def on(request: pytest.FixtureRequest) -> Callable[[Asgi, Talk], Gateway]:
    """Runs a server with an application at /x, and a talk with it."""

    def run(application: Asgi, talk: Talk) -> Gateway:
        async def both() -> Gateway:
            gateway = await open_gateway()
            gateway.app.mount("/x", application)
            running = await serve(gateway.app, "127.0.0.1", 0)
            reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
            async with asyncio.timeout(PATIENCE_S):
                await talk(reader, writer)
                writer.close()
                await running.stop(PATIENCE_S)
            return gateway

        gateway: Gateway = request.param(both())
        return gateway

    return run


On = Callable[[Asgi, Talk], Gateway]


def test_a_body_comes_as_it_is_asked_for(on: On) -> None:
    """A megabyte, to an application that takes its time: little more than is allowed waits for it."""
    seen: list[int] = []
    whole = bytes(range(256)) * 4_096

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        body, more = b"", True
        while more:
            await asyncio.sleep(0.001)
            message = await receive()
            seen.append(len(message["body"]))
            body, more = body + message["body"], message["more_body"]
        assert body == whole
        await tells_ok(scope, receive, send)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD % len(whole) + whole + LIVE)
        answers = await reader.read()
        assert answers.count(b"HTTP/1.1 200 OK\r\n") == 2

    on(slow, talk)
    assert max(seen) <= limits.BODY_AHEAD_OCTETS + 256 * 1024, "what one read of the loop may bring in addition"


@pytest.mark.parametrize("last", [b"", b"!"])
def test_an_answer_may_come_in_pieces(on: On, last: bytes) -> None:
    async def talks(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})
        await send(piece(b"ab", more=True))
        await send(piece(b"", more=True))
        await send(piece(last))

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(GET + LIVE)
        head = await reader.readuntil(b"\r\n\r\n")
        assert b"transfer-encoding: chunked\r\n" in head
        assert b"date: " in head
        assert b"x-request-id: " in head
        rest = await reader.read()
        assert rest.startswith(b"2\r\nab\r\n" + (b"1\r\n!\r\n" if last else b"") + b"0\r\n\r\nHTTP/1.1 200 OK\r\n")

    on(talks, talk)


def test_who_knows_no_chunks_reads_to_the_end(on: On) -> None:
    async def talks(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})
        await send(piece(b"ab", more=True))
        await send(piece(b"cd"))

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(GET.replace(b"1.1", b"1.0"))
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        assert b"connection: close" in head
        assert b"transfer-encoding" not in head
        assert body == b"abcd"

    on(talks, talk)


@pytest.mark.parametrize(
    ("method", "status"), [(b"HEAD", 200), (b"HEAD", 204), (b"HEAD", 304), (b"GET", 204), (b"GET", 304)]
)
def test_a_body_that_must_not_be_is_not_written(on: On, method: bytes, status: int) -> None:
    async def says_too_much(scope: Scope, receive: Receive, send: Send) -> None:
        await send(OK | {"status": status})
        await send(piece(b"ok"))

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(GET.replace(b"GET", method) + LIVE)
        await reader.readuntil(b"\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 200 OK\r\n"), "the next answer follows at once"

    on(says_too_much, talk)


def test_one_that_takes_nothing_is_written_no_more(on: On) -> None:
    """And when it hangs up then, the application hears of it."""
    sent, told = [0], asyncio.Event()

    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()  # the request, so that what comes next is its end
        await send({"type": "http.response.start", "status": 200})
        while not told.is_set():
            await send(piece(b"x" * 65_536, more=True))
            sent[0] += 65_536
        assert (await receive())["type"] == "http.disconnect"

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(GET)
        await reader.readuntil(b"\r\n\r\n")
        seen = 0
        while not sent[0] or seen != sent[0]:
            seen = sent[0]
            await asyncio.sleep(0.1)
        assert sent[0] < 1 << 26
        told.set()
        reset(writer)

    gateway = on(endless, talk)
    assert gateway.journal.lines == []


@pytest.mark.parametrize("octets", [HEAD % 9 + b"abc", GET])
def test_the_application_hears_that_its_client_has_gone(on: On, octets: bytes) -> None:
    """In the midst of a body, and while the answer is made."""
    heard: list[str] = []
    waits = asyncio.Event()

    async def listens(scope: Scope, receive: Receive, send: Send) -> None:
        message = await receive()
        while message["type"] == "http.request":
            waits.set()
            message = await receive()
        heard.append(message["type"])
        await send(OK)
        await send(piece(b"ok"))

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(octets)
        await waits.wait()
        reset(writer)
        while not heard:  # noqa: ASYNC110 - the application has no event for it
            await asyncio.sleep(0.01)

    gateway = on(listens, talk)
    assert heard == ["http.disconnect"]
    assert gateway.journal.lines == []


async def test_of_two_requests_the_one_under_way_hears_that_they_are_dropped(gateway: Gateway) -> None:
    heard: list[str] = []

    async def listens(scope: Scope, receive: Receive, send: Send) -> None:
        assert (await receive())["type"] == "http.request"
        heard.append((await receive())["type"])

    gateway.app.mount("/x", listens)
    running: Server = await serve(gateway.app, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    writer.write(GET + GET)
    while not running._state.tasks:  # noqa: ASYNC110 - the server has no event for it
        await asyncio.sleep(0.01)
    for connection in running._state.connections:
        connection.cut()
    while running._state.tasks:  # noqa: ASYNC110 - as above
        await asyncio.sleep(0.01)
    await running.stop(PATIENCE_S)
    assert heard == ["http.disconnect"], "and the one that waits is not begun"
    assert await rest(reader) == b""
    writer.close()


async def fails(scope: Scope, receive: Receive, send: Send) -> None:
    raise KeyError("text of a customer")


async def fails_after_its_start(scope: Scope, receive: Receive, send: Send) -> None:
    await send(OK)
    raise KeyError("text of a customer")


async def splits(scope: Scope, receive: Receive, send: Send) -> None:
    await send(OK | {"headers": [(b"a", b"b\r\nc: d")]})


async def says_nothing(scope: Scope, receive: Receive, send: Send) -> None: ...


async def begins_with_the_body(scope: Scope, receive: Receive, send: Send) -> None:
    await send(piece(b"ok"))


@pytest.mark.parametrize("application", [fails, fails_after_its_start, splits, says_nothing, begins_with_the_body])
def test_an_application_that_fails_before_its_answer_is_a_fault_of_ours(on: On, application: Asgi) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(GET + LIVE)
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
        assert b"\r\nconnection: close" in head
        assert b'"Status":"99"' in body
        assert body.endswith(b"}")

    gateway = on(application, talk)
    assert [line[1] for line in gateway.journal.lines] == ["http.request_failed"]
    assert "text of a customer" not in str(gateway.journal.lines)


@pytest.mark.parametrize("how", ["raises", "returns", "says too little", "says too much"])
def test_an_answer_that_breaks_off_is_seen_to(on: On, how: str) -> None:
    async def breaks_off(scope: Scope, receive: Receive, send: Send) -> None:
        await send(OK | {"headers": [(b"content-length", b"9")]})
        await send(piece(b"ok", more=True))
        if how == "raises":
            raise KeyError
        if how != "returns":
            await send(piece(b"x" if how == "says too little" else b"x" * 8))

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(GET + LIVE)
        assert (await reader.read()).endswith(b"\r\n\r\nok"), "and nothing after it"

    gateway = on(breaks_off, talk)
    assert [line[1] for line in gateway.journal.lines] == ["http.request_failed"]


def test_an_answer_that_is_complete_stays_so(on: On) -> None:
    async def says_more(scope: Scope, receive: Receive, send: Send) -> None:
        await tells_ok(scope, receive, send)
        assert (await receive())["type"] == "http.disconnect"
        await send(piece(b"more"))

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(GET)
        assert (await reader.readuntil(b"\r\n\r\nok")).startswith(b"HTTP/1.1 200 OK\r\n")
        writer.write(LIVE)
        assert (await reader.read()).startswith(b"HTTP/1.1 200 OK\r\n")

    gateway = on(says_more, talk)
    assert [line[1] for line in gateway.journal.lines] == ["http.request_failed"]


def test_who_waits_to_send_a_body_that_nobody_wants_is_hung_up_on(on: On) -> None:
    """Whether it comes all the same nobody can tell: it must not be taken for a request."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD.replace(b"Host: x", b"Host: x\r\nExpect: 100-Continue") % len(LIVE))
        assert b"connection: close\r\n" in await reader.readuntil(b"\r\n\r\nok")
        writer.write(LIVE)
        assert await rest(reader) == b""

    on(tells_ok, talk)


def test_a_body_that_cannot_be_read_does_not_end_up_in_an_answer(on: On) -> None:
    """Neither in one that has begun, nor does another one come after the refusal."""
    chunked = b"POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"

    async def echoes(scope: Scope, receive: Receive, send: Send) -> None:
        await send(OK | {"headers": []})
        message = await receive()
        while message["type"] == "http.request" and message["more_body"]:
            await send(piece(message["body"], more=True))
            message = await receive()
        await send(piece(b"end"))

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(chunked)
        await reader.readuntil(b"\r\n\r\n1\r\na\r\n")
        writer.write(b"nonsense\r\n")
        assert await reader.read() == b""

    on(echoes, talk)


@pytest.mark.peer
def test_programs_that_people_use(on: On) -> None:
    """Each with a body in pieces and one of a known length, twice on one connection."""
    curl = foreign_program("curl")

    async def echoes(scope: Scope, receive: Receive, send: Send) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        await send(piece(body[:3], more=True))
        await send(piece(body[3:]))

    def by_library(port: int) -> list[bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        found = []
        for body in (b"abcdef", iter([b"abc", b"def"])):
            connection.request("POST", "/x", body, encode_chunked=True)
            found.append(connection.getresponse().read())
        connection.close()
        return found

    def by_httpx(port: int) -> list[bytes]:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=PATIENCE_S) as session:
            return [session.post("/x", content=body).content for body in (b"abcdef", iter([b"abc", b"def"]))]

    def by_curl(port: int) -> list[bytes]:
        url, found = f"http://127.0.0.1:{port}/x", []
        for options in ([], ["--http2", "-H", "Transfer-Encoding: chunked", "-H", "Expect: 100-continue"]):
            command = [curl, "--silent", "--noproxy", "*", "--max-time", str(PATIENCE_S), "-d", "abcdef", *options, url]
            found.append(subprocess.run(command, check=True, capture_output=True).stdout)
        return found

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        port = writer.get_extra_info("peername")[1]
        for program in (by_library, by_httpx, by_curl):
            assert await asyncio.to_thread(program, port) == [b"abcdef", b"abcdef"], program.__name__

    on(echoes, talk)


async def test_a_stop_ends_what_does_not_end_by_itself(gateway: Gateway) -> None:
    async def stuck(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.Event().wait()

    gateway.app.mount("/x", stuck)
    running: Server = await serve(gateway.app, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    writer.write(GET)
    while not running._state.tasks:  # noqa: ASYNC110 - the server has no event for it
        await asyncio.sleep(0.01)
    await running.stop(0.05)
    assert await rest(reader) == b""
    writer.close()
    assert gateway.journal.lines == []
