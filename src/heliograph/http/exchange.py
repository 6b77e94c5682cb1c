"""A request and its answer, between the connection and the ASGI application."""

import asyncio
from collections.abc import Iterable
from typing import Protocol

from heliograph.http import limits
from heliograph.http.asgi import WORK, Asgi, Event, Headers, Scope
from heliograph.http.response import Response
from heliograph.http.server_state import ServerState
from heliograph.http.short_cut import PendingRequest
from heliograph.net.flow import Flow, Transport
from heliograph.net.limits import WORK_OF_OCTET_S

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class ExchangeConnection(Protocol):
    """The part of a connection that an exchange uses."""

    transport: Transport
    flow: Flow
    state: ServerState

    def charge(self, headers: Headers, work: float) -> None:
        """Charges the client of a refused request for seconds of work, for example 0.004."""

    def ended(self) -> None:
        """Starts the next request, because this request has its answer."""

    def hang_up(self) -> None:
        """Closes the connection after this last answer."""


class Exchange(PendingRequest):
    """Speaks ASGI 3, `http`, with `spec_version` 2.3: sending to a client that has gone does nothing."""

    __slots__ = ("_body", "_gone", "_line", "_more", "_news", "_octets", "_response", "_waits_to_send", "scope")

    def __init__(self, line: ExchangeConnection, scope: Scope, keep_alive: bool) -> None:
        super().__init__(keep_alive)
        self.scope = scope
        self._line = line
        self._body = bytearray()
        self._octets = 0
        self._more = True
        self._news: asyncio.Event | None = None
        """Set when an event can be received; made when the application first waits."""
        self._gone = False
        self._response: Response | None = None
        self._waits_to_send = scope["http_version"] != "1.0" and any(
            name == b"expect" and value.strip().lower() == b"100-continue" for name, value in scope["headers"]
        )

    @property
    def begun(self) -> bool:
        """Whether anything of the answer has been written."""
        return self._response is not None and self._response.begun

    # --- from the connection

    def feed(self, body: bytes) -> None:
        """Takes another piece of the body; drops it once there is an answer."""
        if self.complete:
            return
        self._body += body
        self._octets += len(body)
        if len(self._body) > limits.BODY_AHEAD_OCTETS:
            self._line.flow.pause_reading()
        self._tell()

    def end(self) -> None:
        """Marks the body as whole."""
        self._more = False
        self._tell()

    def disconnect(self) -> None:
        """Tells the application that the client has gone."""
        self._gone = True
        self._tell()

    async def run(self, application: Asgi) -> None:
        """Calls the application. Closes the connection if the answer cannot be completed."""
        try:
            await application(self.scope, self.receive, self.send)
            if not self._is_over():
                raise RuntimeError("the application returned without an answer")  # noqa: TRY301 - told as any other
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told, and the client hears of it
            self._fail(error)
        finally:
            if not self._is_over():
                self._line.transport.close()

    # --- from the application

    async def receive(self) -> Event:
        if not self.complete and not self._gone:
            if self._waits_to_send:
                self._waits_to_send = False
                self._line.transport.write(CONTINUE)
            await self._hear()
        if self.complete or self._gone:
            return {"type": "http.disconnect"}
        body, self._body = bytes(self._body), bytearray()
        return {"type": "http.request", "body": body, "more_body": self._more}

    async def send(self, message: Event) -> None:
        flow = self._line.flow
        if flow.writing_paused and not self._gone:
            await flow.drain()
        if self._gone or self._line.transport.is_closing():
            return
        kind: str = message["type"]
        response = self._response
        if response is None and kind == "http.response.start":
            status: int = message["status"]
            if 400 <= status < 500:
                work: float = message.get(WORK, 0.0)
                self._line.charge(self.scope["headers"], work + self._octets * WORK_OF_OCTET_S)
            self._response = self._open(status, message.get("headers", ()))
        elif response is not None and kind == "http.response.body" and not self.complete:
            self._write(response, message.get("body", b""), message.get("more_body", False))
        else:
            raise RuntimeError(f"{kind} has no place here in an answer")

    # --- inside

    def _is_over(self) -> bool:
        """True if the client expects no more of the answer."""
        return self.complete or self._gone or self._line.transport.is_closing()

    def _tell(self) -> None:
        if self._news is not None:
            self._news.set()

    async def _hear(self) -> None:
        """Waits for more of the body or the client's end; returns at once after the first call if something came
        before."""
        news = self._news
        if news is None:
            news = self._news = asyncio.Event()
            if self._body or not self._more:
                news.set()
        if self._more:
            self._line.flow.resume_reading()
        await news.wait()
        news.clear()

    def _open(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> Response:
        scope = self.scope
        # A client that waits for "100 Continue" and gets a final answer instead may send its body or not (RFC 9110,
        # 10.1.1).
        keep = self.keep_alive and not self._waits_to_send
        request = (scope["method"], scope["http_version"])
        return Response(self._line.state.opening(status), status, headers, request, keep)

    def _write(self, response: Response, body: bytes, more: bool) -> None:
        octets = response.octets(body, more)
        if octets:
            self._line.transport.write(octets)
        if not more:
            self.complete = True
            self._tell()
            if not (response.keep_alive and self.keep_alive):
                self._line.hang_up()
            self._line.ended()

    def _fail(self, error: Exception) -> None:
        """Reports an error of the application, and answers with it if nothing of another answer has been written."""
        replies = self._line.state.replies
        request_id = replies.next_request_id()
        reply = replies.failed(error, self.scope["method"], request_id)
        if self._is_over() or self.begun:
            return
        replies.note_response(reply.status)
        self.keep_alive = False
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(reply.body)),
            (b"x-request-id", request_id),
        ]
        self._response = self._open(reply.status, headers)
        self._write(self._response, reply.body, False)
