"""A connection of the HTTP server: uvicorn's httptools protocol with the limits of a server that faces the internet.

uvicorn has no limit on the size of a head and no time in which one must arrive, and answers some errors in plain text.
Each connection here knows since when it waits for what; once a second those that wait too long are closed, which costs
a request no timer.

Requests may be sent ahead of their answers. What is read ahead is bounded: beyond a slice, octets wait until what was
in them before has been answered, and nothing more is read meanwhile.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

import httptools
import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.utils import get_local_addr, get_remote_addr
from uvicorn.server import ServerState

from heliograph.api import answer
from heliograph.api.app import Api
from heliograph.domain.error import MALFORMED, UNAVAILABLE, Fault

MAX_HEAD_OCTETS = 65_536
"""Octets of a request line and its headers that may arrive without completing the head."""

MAX_HEADERS = 200
"""Headers that may arrive without completing the head, about: each takes many times its octets."""

IDLE_TIMEOUT_S = 75.0
"""Seconds that a connection may be open without a request."""

HEAD_TIMEOUT_S = 10.0
"""Seconds from the first octet of a request to the end of its headers."""

BODY_TIMEOUT_S = 60.0
"""Seconds from the end of the headers to the end of the body."""

WRITE_TIMEOUT_S = 60.0
"""Seconds in which a client must begin to take an answer that does not fit the socket."""

SLICE_OCTETS = 4_096
"""Octets that are parsed at once: requests in them may wait for one another, what follows waits for all of them."""

_FRAMING = (b"content-length", b"transfer-encoding")

Local = tuple[str, int | None] | None
Remote = tuple[str, int] | None

IDLE, HEAD, BODY, ANSWER = range(4)
"""What a connection waits for: a request, its head, its body, our answer."""


class _Flow(FlowControl):
    """Reads on only when nothing waits that was read before."""

    def __init__(self, transport: asyncio.Transport, behind: Callable[[], bool]) -> None:
        super().__init__(transport)
        self._behind = behind

    def resume_reading(self) -> None:
        if self.read_paused and not self._behind():
            super().resume_reading()

    def end(self) -> None:
        """Lets go of the connection, which is lost: of two that hold each other the collector would have to hear."""
        self.resume_writing()
        self._behind = bool


class Common:
    """What the connections of one server have in common."""

    def __init__(self, config: uvicorn.Config, state: ServerState, app: Api, max_connections: int) -> None:
        """Must be made on the running loop."""
        self.app = app
        self.max_connections = max_connections
        self.attributes = common_attributes(HttpToolsProtocol(config, state, {}))


def common_attributes(connection: HttpToolsProtocol) -> dict[str, Any]:
    """What uvicorn gives to each connection and is no connection's own: loggers, settings, None for what is to come.

    To gather them for each connection anew is a tenth of the work on one that has a single request.
    """
    own = ("parser", "pipeline")
    return {name: value for name, value in vars(connection).items() if name not in own} | {"scheme": "http"}


class Connection(HttpToolsProtocol):
    """A connection, and since when (`since`, the loop's time) it waits for what (`phase`)."""

    def __init__(self, common: Common) -> None:
        vars(self).update(common.attributes)
        self.parser = httptools.HttpRequestParser(self)
        # what uvicorn sets too: an answer may come before the rest of what a pipelining client has sent
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.pipeline = deque()
        self._addresses: tuple[Local, Remote] | None = None
        self.phase = IDLE
        self.since = self.loop.time()
        self._head_octets = 0
        self._repeated_head = False
        self._held = b""
        """What was read, and is parsed when the requests that came before it have their turn."""
        self._refusal: str | None = None
        """Why nothing more is read: it is told when the requests before it have been answered."""
        self._common = common

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        # As the base class does it, but for the addresses.
        self.connections.add(self)
        self.transport = transport
        self.flow = self._flow = _Flow(transport, self._is_behind)
        if len(self.connections) > self._common.max_connections:
            self._refuse(503, answer.of_fault(Fault(UNAVAILABLE, "Too many connections are open; try again.")).body)

    def connection_lost(self, exc: Exception | None) -> None:
        # As the base class does it, but for what it says to a log, and for the timer that is never set here.
        self.connections.discard(self)
        if self.cycle is not None:
            if not self.cycle.response_complete:
                self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._flow.end()
        if exc is None:
            self.transport.close()
        self.parser = None  # type: ignore[assignment]

    @property
    def server(self) -> Local:
        """Our address. Both are asked for when somebody wants to know: it costs a tenth of a connection's work."""
        return self._ask_addresses()[0]

    @server.setter
    def server(self, nothing: Local) -> None: ...

    @property
    def client(self) -> Remote:
        """The client's address; None if it had gone when it was first asked for."""
        return self._ask_addresses()[1]

    @client.setter
    def client(self, nothing: Remote) -> None: ...

    def _ask_addresses(self) -> tuple[Local, Remote]:
        if self._addresses is None:
            self._addresses = (get_local_addr(self.transport), get_remote_addr(self.transport))
        return self._addresses

    def data_received(self, data: bytes) -> None:
        if self._held:
            self._held += data  # it was on its way when reading was paused
        elif self._refusal is None:
            self._parse(data)

    def _parse(self, data: bytes) -> None:
        """Slice by slice; what is left when requests wait for their turn is held."""
        for start in range(0, len(data), SLICE_OCTETS):
            if self.transport.is_closing() or self._refusal is not None:
                return
            if self.pipeline:
                self._held = data[start:]
                self.flow.pause_reading()
                return
            self._feed(data if len(data) <= SLICE_OCTETS else data[start : start + SLICE_OCTETS])

    def eof_received(self) -> bool:  # type: ignore[override]
        """A client that has said all may still wait for an answer: it has it, and then the connection ends.

        It is the last one, since nothing is read, the end neither, while a request waits for those before it.
        """
        cycle: Any = self.cycle  # None before the first
        if self.phase == BODY or cycle is None or cycle.response_complete:
            return False
        cycle.keep_alive = False
        return True

    def _feed(self, octets: bytes) -> None:
        rest = memoryview(octets)
        while rest:
            try:
                self.parser.feed_data(rest)
            except httptools.HttpParserUpgrade as upgrade:
                rest = rest[upgrade.args[0] :]
                self._decline_upgrade()
            except httptools.HttpParserError:
                self._give_up("The HTTP request cannot be read.")
                return
            else:
                break
        if self.phase == HEAD:
            self._head_octets += len(octets)
            if self._head_octets > MAX_HEAD_OCTETS or len(self.headers) > MAX_HEADERS:
                self._give_up("The headers are too large.")

    def _parse_held(self) -> None:
        if not self.transport.is_closing():
            held, self._held = self._held, b""
            self._parse(held)
            self.flow.resume_reading()

    def _is_behind(self) -> bool:
        """Whether something waits that was read, or nothing is to be read any more."""
        return bool(self.pipeline) or bool(self._held) or self._refusal is not None

    def _give_up(self, problem: str) -> None:
        """Refuses what cannot be read, once the whole requests before it have been answered: for all that their
        client knows, an error in the place of such an answer is that answer."""
        if self.transport.is_closing():
            return
        cycle: Any = self.cycle  # None before the first
        if self.phase == BODY and self.pipeline:
            self.pipeline.popleft()  # it cannot be read to its end; at least one before it is under way
        elif self.phase == BODY or cycle is None or cycle.response_complete:
            self.send_400_response(problem)
            return
        self._refusal = problem
        self.phase = ANSWER
        self.flow.pause_reading()

    def _decline_upgrade(self) -> None:
        """Goes on with HTTP/1.1 where a client offers HTTP/2 (as some do with every first request) or a web socket.

        The parser takes an offer for the end of the request and its body for another protocol. So the body is left
        to a new parser, which is told the framing once more.
        """
        framing = b"".join(b"%b: %b\r\n" % header for header in self.headers if header[0] in _FRAMING)
        self.parser = httptools.HttpRequestParser(self)
        self._repeated_head = True
        self.parser.feed_data(b"POST / HTTP/1.1\r\n%b\r\n" % framing)

    def on_message_begin(self) -> None:
        if self._repeated_head:
            return
        super().on_message_begin()
        self.phase = HEAD
        self.since = self.loop.time()
        self._head_octets = 0

    def on_url(self, url: bytes) -> None:
        if not self._repeated_head:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.phase == HEAD:  # else it comes after the body, where nothing of ours is expected
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._repeated_head:
            self._repeated_head = False
            return
        self.phase = BODY
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return  # its body is still to come
        super().on_message_complete()
        # The answer may be out already: to a request that was refused by its headers alone.
        self.phase = IDLE if self.cycle.response_complete else ANSWER
        self.since = self.loop.time()

    def on_response_complete(self) -> None:
        # As the base class does it, but for the timer that closes an idle connection.
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.since = self.loop.time()
        if self.pipeline:
            cycle, app = self.pipeline.pop()
            self._start_asgi_task(cycle, app)
        elif self._refusal is not None:
            self.send_400_response(self._refusal)
            return
        elif self.phase == ANSWER:
            self.phase = IDLE
        if self._held and not self.pipeline:
            self.loop.call_soon(self._parse_held)
        self.flow.resume_reading()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.since = self.loop.time()

    def overdue(self, now: float) -> bool:
        """Whether the client has taken too long for what it is to do next."""
        waited = now - self.since
        if self.flow.write_paused:
            return waited > WRITE_TIMEOUT_S
        if self.phase == ANSWER or self.flow.read_paused:
            return False
        return waited > (IDLE_TIMEOUT_S, HEAD_TIMEOUT_S, BODY_TIMEOUT_S)[self.phase]

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, answer.of_fault(Fault(MALFORMED, msg)).body)

    def _refuse(self, status: int, body: bytes) -> None:
        """Answers before there is a request to answer, and closes."""
        line = b"400 Bad Request" if status == 400 else b"503 Service Unavailable\r\nretry-after: 1"
        self.transport.write(
            b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
            b"x-request-id: %b\r\nconnection: close\r\n\r\n%b"
            % (line, len(body), self._common.app.next_request_id(), body)
        )
        self.transport.close()
