"""The short cut for sends: `POST /api/v1/messages` and v2 without a task, an ASGI call or a future a request.

uvicorn's way costs more than the request itself does. A send with nothing unusual about it is answered straight from
the connection; whether it is one is seen by its head. All else, also a send whose credentials must be checked first,
goes uvicorn's way as if nothing had been tried.
"""

from functools import lru_cache, partial
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from heliograph.api.answer import Answer
from heliograph.api.app import CHOSEN, REQUEST_ID
from heliograph.api.connection import ANSWER, BODY, HEAD, Common, Connection

_SENDS = {b"/api/v1/messages": 1, b"/api/v2/messages": 2}

SHORT_BODY = 16_384
"""Octets of a body, at most, with which a send goes by the short cut: it is kept before anybody knows whose it is."""

_UNUSUAL = frozenset((b"transfer-encoding", b"content-encoding", b"expect", b"upgrade", b"x-forwarded-for"))
"""Headers with which a send goes the usual way."""


class _NoEvent:
    """What uvicorn sets when a client hangs up; a send that waits for its commit is stored all the same."""

    def set(self) -> None: ...


class _Waiting:
    """Stands where uvicorn keeps the request under way, so that pipelined ones wait their turn."""

    __slots__ = ("disconnected", "keep_alive", "response_complete")
    message_event = _NoEvent()

    def __init__(self) -> None:
        self.response_complete = True
        self.keep_alive = True
        self.disconnected = False


class HotConnection(Connection):
    """`_version` is that of the send whose body is being read, 0 for anything else."""

    def __init__(self, common: Common) -> None:
        super().__init__(common)
        self._api = common.app
        self._waiting: Any = _Waiting()
        self._longest = min(SHORT_BODY, common.app.max_body)
        self._version = 0
        self._chosen: bool | None = None
        """What `Api.choose` said of the request whose head was read last; None where it was not asked."""
        self._body = b""
        self._authorization: bytes | None = None
        self._content_type: bytes | None = None
        self._request_id: bytes | None = None

    def on_message_begin(self) -> None:
        # As the base classes do it, but for the ASGI scope, which the short cut does without.
        if self._repeated_head:
            return
        self.url = b""
        self.headers = []
        self.expect_100_continue = False
        self.phase = HEAD
        self.since = self.loop.time()
        self._head_octets = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.phase == HEAD:
            name = name.lower()
            self.headers.append((name, value))
            if name == b"expect" and value.lower() == b"100-continue":
                self.expect_100_continue = True

    def on_headers_complete(self) -> None:
        if self.transport.is_closing():
            raise ConnectionAbortedError  # who said that there is nothing more has more all the same
        self._version = 0
        self._chosen = None
        version = _SENDS.get(self.url)
        if version is not None and self._is_plain_send():
            self._version = version
            self._body = b""
            self.phase = BODY
        else:
            self._go_the_usual_way()

    def on_body(self, body: bytes) -> None:
        if self._version:
            self._body = self._body + body if self._body else body
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        version = self._version
        if not version:
            super().on_message_complete()
            return
        self._version = 0
        waiting = self._waiting
        waiting.response_complete = False
        waiting.keep_alive = self.parser.should_keep_alive()
        self.cycle = waiting
        self.phase = ANSWER
        if not self._api.submit_at_once(
            version,
            self._authorization,
            self._content_type,
            self._body,
            self._address,
            partial(self._answer, self._request_id),
        ):
            self._start_over()

    def _address(self) -> str:
        client = self.client
        return client[0] if client else ""

    def _is_plain_send(self) -> bool:
        """Whether the request, whose head is read, is a send that the short cut takes. Keeps what it needs of it."""
        parser = self.parser
        cycle: Any = self.cycle
        if (
            parser.get_method() != b"POST"
            or parser.get_http_version() != "1.1"
            or (cycle is not None and not cycle.response_complete)
            or self._repeated_head
        ):
            return False
        authorization = content_type = request_id = length = None
        for name, value in self.headers:
            if name == b"authorization":
                authorization = value
            elif name == b"content-type":
                content_type = value
            elif name == b"content-length":
                length = value
            elif name == b"x-request-id":
                request_id = value
            elif name in _UNUSUAL:
                return False
        if authorization is None or length is None or len(length) > 9 or int(length) > self._longest:
            return False
        choose = self._api.choose
        if choose is not None:
            self._chosen = choose(self.headers)
            if self._chosen:
                return False
        self._authorization = authorization
        self._content_type = content_type
        self._request_id = request_id if request_id is not None and REQUEST_ID(request_id) else None
        return True

    def _go_the_usual_way(self) -> None:
        """The head is read; now there is need of a scope."""
        if not self._repeated_head:
            url, headers, expects = self.url, self.headers, self.expect_100_continue
            HttpToolsProtocol.on_message_begin(self)
            self.url, self.expect_100_continue = url, expects
            self.headers += headers
            if self._chosen is not None:
                scope: dict[str, Any] = self.scope  # type: ignore[assignment]
                scope[CHOSEN] = self._chosen
        super().on_headers_complete()

    def _start_over(self) -> None:
        """The usual way, with the body that is already here."""
        body, self._body = self._body, b""
        self._waiting.response_complete = True
        self._go_the_usual_way()
        super().on_body(body)
        super().on_message_complete()

    def _answer(self, request_id: bytes | None, reply: Answer) -> None:
        transport = self.transport
        waiting = self._waiting
        waiting.response_complete = True
        if request_id is None:
            request_id = self._api.next_request_id()
        if self._api.overhear is not None:
            self._api.overhear(request_id, reply)
        if not transport.is_closing():
            self._write(request_id, reply, waiting.keep_alive)
        self.on_response_complete()

    def _write(self, request_id: bytes, reply: Answer, keep_alive: bool) -> None:
        more = b"" if keep_alive else b"connection: close\r\n"
        for name, value in reply.headers:
            more += b"%b: %b\r\n" % (name, value)
        self.transport.write(
            b"%bcontent-length: %d\r\nx-request-id: %b\r\n%b\r\n%b"
            % (
                _head(reply.status, self.server_state.default_headers[0][1]),
                len(reply.body),
                request_id,
                more,
                reply.body,
            )
        )
        if not keep_alive:
            self.transport.close()


@lru_cache(maxsize=64)
def _head(status: int, date: bytes) -> bytes:
    """Status line, date and content type: made once a second for each status."""
    phrase = HTTPStatus(status).phrase.encode()
    return b"HTTP/1.1 %d %b\r\ndate: %b\r\ncontent-type: application/json\r\n" % (status, phrase, date)
