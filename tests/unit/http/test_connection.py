"""The connection by itself: octets and time go in, octets come out. There is no socket, no event loop and no API."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from heliograph.http import limits
from heliograph.http.asgi import Asgi, Event, Headers, Receive, Scope, Send, read_body, respond
from heliograph.http.connection import Connection
from heliograph.http.reply import Reply
from heliograph.http.seat import BODY, HEAD, IDLE, LEAVING
from heliograph.http.server_state import ServerState
from heliograph.http.short_cut import Channel, DirectRequest, ShortCut
from heliograph.net.clients import Clients, Shares

GET = b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"


class Task:
    """Runs a coroutine that never waits, when the loop turns."""

    def __init__(self, work: Coroutine[Any, Any, None]) -> None:
        self._work = work
        self._done: list[Callable[[Any], object]] = []

    def add_done_callback(self, done: Callable[[Any], object]) -> None:
        self._done.append(done)

    def run(self) -> None:
        with pytest.raises(StopIteration):
            self._work.send(None)
        for done in self._done:
            done(self)


class HandLoop:
    """A loop whose time is set, and which turns, by hand."""

    def __init__(self) -> None:
        self.now = 100.0
        self._due: list[Callable[[], object]] = []

    def time(self) -> float:
        return self.now

    def call_soon(self, callback: Callable[[], None], /) -> None:
        self._due.append(callback)

    def create_task(self, coro: Coroutine[Any, Any, None], /) -> asyncio.Task[None]:
        task: Any = Task(coro)
        self._due.append(task.run)
        return task  # type: ignore[no-any-return]

    def turn(self) -> None:
        while self._due:
            self._due.pop(0)()


class Wire:
    """A transport that keeps what is written."""

    def __init__(self, host: str = "192.0.2.7") -> None:
        self.peer = (host, 50_000)
        self.written = b""
        self.closing = self.ended = self.paused = False

    def write(self, data: bytes) -> None:
        self.written += data

    def write_eof(self) -> None:
        self.ended = True

    def close(self) -> None:
        self.closing = True

    def abort(self) -> None:
        self.closing = True

    def is_closing(self) -> bool:
        return self.closing

    def get_extra_info(self, name: str) -> object:
        return self.peer

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False


class Words:
    """Replies that keep what they were asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, str]] = []
        self.counted: list[int] = []
        self.turned_away: list[tuple[str, str]] = []

    def malformed(self, problem: str) -> Reply:
        return self._reply(400, problem)

    def overloaded(self, problem: str) -> Reply:
        return self._reply(503, problem)

    def too_many(self, problem: str, seconds: int) -> Reply:
        return self._reply(429, problem)

    def failed(self, error: Exception, method: str, request_id: bytes | None) -> Reply:
        return self._reply(500, f"{method} {error}")

    def next_request_id(self) -> bytes:
        return b"r"

    def note_response(self, status: int) -> None:
        self.counted.append(status)

    def note_no_room(self, problem: OSError) -> None:
        """Nothing is accepted here."""

    def note_turned_away(self, why: str, client: str) -> None:
        self.turned_away.append((why, client))

    def _reply(self, status: int, problem: str) -> Reply:
        self.asked.append((status, problem))
        return Reply(status, b"page")


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with method, path and body."""
    body = f"{scope['method']} {scope['path']} ".encode() + await read_body(receive, 1_000)
    await respond(scope, send, 200, [(b"content-length", b"%d" % len(body))], body)


NINE = Shares(9)


class Line:
    """A connection between a loop and a wire."""

    def __init__(self, application: Asgi = echo, short_cut: ShortCut | None = None, shares: Shares = NINE) -> None:
        self.loop, self.wire, self.words = HandLoop(), Wire(), Words()
        clients = Clients(shares, self.words.note_turned_away)
        self.state = ServerState(application, self.words, clients, short_cut=short_cut, loop=self.loop)
        self.connection = Connection(self.state)
        self.connection.connection_made(self.wire)

    def hear(self, octets: bytes) -> None:
        self.connection.data_received(octets)
        self.loop.turn()

    def answers(self) -> list[tuple[int, bytes]]:
        """Status and body of each."""
        found, rest = [], self.wire.written
        while rest:
            head, _, rest = rest.partition(b"\r\n\r\n")
            length = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0])
            found.append((int(head.split()[1]), rest[:length]))
            rest = rest[length:]
        return found


def test_a_request_becomes_a_call_of_the_application_and_its_answer() -> None:
    line = Line()
    line.hear(POST)
    assert line.answers() == [(200, b"POST /x abc")]
    assert (line.connection.phase, line.wire.closing, line.state.tasks) == (IDLE, False, set())


def test_pipelined_requests_are_answered_in_order() -> None:
    line = Line()
    line.hear(GET + POST + GET)
    assert [body for _, body in line.answers()] == [b"GET /x ", b"POST /x abc", b"GET /x "]


def test_octets_that_are_no_request_are_refused_in_the_words_of_the_application() -> None:
    line = Line()
    line.hear(GET.replace(b"Host: x\r\n", b""))
    assert line.answers() == [(400, b"page")]
    assert line.words.asked[0][0] == 400
    assert "Host" in line.words.asked[0][1]
    assert line.words.counted == [400]
    assert line.connection.phase == LEAVING


def test_what_the_application_raises_is_answered_in_the_words_of_the_application() -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise KeyError("nothing here")

    line = Line(broken)
    line.hear(GET)
    assert line.answers() == [(500, b"page")]
    assert line.words.asked == [(500, "GET 'nothing here'")]
    assert (line.words.counted, line.wire.closing) == ([500], True)


def test_one_connection_too_many_is_refused() -> None:
    line = Line(shares=Shares(0))
    assert line.answers() == [(503, b"page")]


@pytest.mark.parametrize(
    ("octets", "phase", "seconds"),
    [
        (b"", IDLE, limits.IDLE_TIMEOUT_S),
        (GET[:9], HEAD, limits.HEAD_TIMEOUT_S),
        (POST[:-1], BODY, limits.BODY_TIMEOUT_S),
        (b"nonsense\r\n\r\n" + GET, LEAVING, limits.LEAVE_TIMEOUT_S),
    ],
)
def test_a_client_may_be_silent_for_so_long(octets: bytes, phase: int, seconds: float) -> None:
    async def never(scope: Scope, receive: Receive, send: Send) -> None:
        """Answers nothing."""

    line = Line(never)
    if octets:
        line.connection.data_received(octets)
    assert line.connection.phase == phase
    assert not line.connection.overdue(100.0 + seconds)
    assert line.connection.overdue(100.1 + seconds)
    line.loop.turn()


class Upper(DirectRequest):
    """Answers the body in capitals, when it is told to."""

    def __init__(self, channel: Channel, headers: Headers) -> None:
        super().__init__(b"/x", headers)
        self.channel = channel
        self.body = b""

    def run(self, body: bytes) -> bool:
        self.body = body
        return body != b"no!"

    def finish(self) -> None:
        close = b"" if self.keep_alive else b"connection: close\r\n"
        rest = b"content-length: %d\r\n%b\r\n%b" % (len(self.body), close, self.body.upper())
        self.channel.answer(self, 200, rest)


class UpperShortCut(ShortCut):
    def __init__(self) -> None:
        self.taken: list[Upper] = []

    def take(self, channel: Channel, target: bytes, headers: Headers) -> DirectRequest | None:
        if target != b"/x":
            return None
        self.taken.append(Upper(channel, headers))
        return self.taken[-1]


def test_a_short_cut_answers_without_a_task() -> None:
    short_cut = UpperShortCut()
    line = Line(short_cut=short_cut)
    for number in range(2):
        line.connection.data_received(POST)
        assert line.state.tasks == set()
        short_cut.taken[number].finish()
    assert line.answers() == [(200, b"ABC"), (200, b"ABC")]
    assert line.connection.phase == IDLE


def test_what_a_short_cut_gives_back_goes_to_the_application() -> None:
    short_cut = UpperShortCut()
    line = Line(short_cut=short_cut)
    line.hear(POST.replace(b"abc", b"no!"))
    line.hear(POST.replace(b"/x", b"/y"))
    line.hear(GET)
    assert line.answers() == [(200, b"POST /x no!"), (200, b"POST /y abc"), (200, b"GET /x ")]
    assert len(short_cut.taken) == 1


def test_requests_behind_a_direct_one_wait_for_its_answer() -> None:
    short_cut = UpperShortCut()
    line = Line(short_cut=short_cut)
    line.hear(POST + POST + GET)
    assert (len(short_cut.taken), line.wire.written) == (1, b"")
    short_cut.taken[0].finish()
    line.loop.turn()
    assert line.answers() == [(200, b"ABC"), (200, b"POST /x abc"), (200, b"GET /x ")]


def test_a_direct_request_of_a_client_that_has_gone_is_answered_to_nobody() -> None:
    short_cut = UpperShortCut()
    line = Line(short_cut=short_cut)
    line.hear(POST)
    line.wire.closing = True
    line.connection.connection_lost(None)
    short_cut.taken[0].finish()
    assert (line.wire.written, line.state.connections, line.connection.latest) == (b"", set(), None)


def test_a_server_that_stops_closes_behind_a_direct_request() -> None:
    short_cut = UpperShortCut()
    line = Line(short_cut=short_cut)
    line.hear(POST)
    line.connection.shutdown()
    assert not line.wire.closing
    short_cut.taken[0].finish()
    assert b"connection: close\r\n" in line.wire.written
    assert line.wire.closing


def test_events_of_asgi_have_their_order() -> None:
    async def twice(scope: Scope, receive: Receive, send: Send) -> None:
        start: Event = {"type": "http.response.start", "status": 200, "headers": []}
        await send(start)
        await send(start)

    line = Line(twice)
    line.hear(GET)
    assert line.answers() == [(500, b"page")]
