"""A connection of the HTTP server, without I/O: octets become requests, which are answered in order.

    octets --> data_received --> [held] --> parser --> on_headers_complete --+--> Exchange (ASGI application)
                                                                             +--> DirectRequest (short cut)
    time   --> overdue                      transport <-- answers, in the order of the requests

1. Clients may pipeline. The parser gets a slice of `SLICE_OCTETS` at a time. If requests wait for their turn, the rest
   of the octets is held and reading pauses, so read-ahead is bounded.
2. Each request is answered by the application (`Exchange`) or by the short cut (`DirectRequest`).
3. `ended` starts the next request. After the last answer, or a refusal, `hang_up` closes the connection.
4. `overdue` tells the server to close a connection on which the client is too slow.

Octets go out by a `flow.Transport`. The parser of httptools calls the `on_` methods. The event loop calls the methods
of `asyncio.Protocol`; the class does not inherit from it, so that it can be compiled.
"""

from typing import Final

import httptools

from heliograph.http import limits
from heliograph.http.asgi import Scope
from heliograph.http.exchange import Exchange
from heliograph.http.head import body_parser, declared_length, inspect, new_parser, problem_of, unheard_of_method
from heliograph.http.reply import Declined, Reply
from heliograph.http.request_scope import Endpoints, request_scope
from heliograph.http.seat import ANSWER, BODY, HEAD, IDLE, LEAVING, Seat
from heliograph.http.server_state import ServerState
from heliograph.http.short_cut import DirectRequest, RepeatedHead, repeated_head
from heliograph.net.clients import TOO_MANY
from heliograph.net.flow import Flow, Transport
from heliograph.net.limits import WORK_OF_HANDSHAKE_S
from heliograph.net.proxies import Address

TOO_MUCH: Final = "This address has asked for too much, or too much of it had to be refused; come again a little later."

_STAND_IN: Final = b"PUT"
"""Replaces a method that the parser does not know."""


class Connection(Seat):
    """A client's connection."""

    __slots__ = (
        "_begun", "_direct", "_direct_body", "_head_octets", "_held", "_left_octets", "_method", "_octets_without_body",
        "_parser", "_reading", "_refusal", "_repeated", "_told_again", "_under_way", "url",
    )  # fmt: skip

    def __init__(self, state: ServerState) -> None:
        super().__init__(state)
        self.url = b""
        self._under_way: Exchange | None = None
        self._reading: Exchange | None = None
        """The exchange that waits for its body."""
        self._direct: DirectRequest | None = None
        """The request of the short cut that waits for its body."""
        self._direct_body = b""
        self._parser: httptools.HttpRequestParser | None = None
        self._begun = 0
        """Number of requests that the parser has begun."""
        self._method = ""
        """Method of the request with the latest head, if the parser does not know the method."""
        self._head_octets = 0
        self._octets_without_body = 0
        """Octets of chunked framing and trailers since the last of the body."""
        self._told_again = False
        """Whether the parser reads a head that another parser has read."""
        self._repeated: RepeatedHead | None = None
        """The first head that the short cut took."""
        self._held = b""
        """Octets to parse when the requests before them have their turn."""
        self._refusal: Reply | None = None
        """Error answer that waits until the requests before it have been answered. Reading has stopped."""
        self._left_octets = 0
        """Octets that were discarded since the last answer."""

    # --- from the event loop

    def connection_made(self, transport: Transport) -> None:
        self.transport = transport
        self.flow = Flow(transport)
        state = self.state
        self.ends = Endpoints(transport, state.proxies, state.scheme)
        self.load = state.load_of(self.ends)
        refused = state.clients.enter(self, state.loop.time(), state.now)
        if refused == TOO_MANY:
            self._refuse(state.replies.too_many("This address has too many connections open; close some.", 1))
        elif refused:
            self._refuse(state.replies.overloaded("Too many connections are open; try again."))
        elif self.load.wait(state.loop.time()) > 0.0:
            self.pause()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's signature
        state = self.state
        if state.is_secure and self.latest is None:
            # Like a failed handshake, a handshake without a request after it was wasted work.
            self.charge(self.headers, WORK_OF_HANDSHAKE_S)
        state.clients.leave(self)
        if self._under_way is not None:
            self._under_way.disconnect()
        self.waiting.clear()
        self.flow.resume_writing()
        # Breaks the reference cycles, so that reference counting frees all of them.
        self._parser = self.latest = self._reading = self._direct = self._repeated = None

    def data_received(self, data: bytes) -> None:
        if self.phase == LEAVING:
            self._left_octets += len(data)
            if self._left_octets > limits.LEAVE_OCTETS:
                self.transport.abort()
            return
        if self.is_paused:
            self._held += data
            self.transport.pause_reading()  # some event loops begin to read although `connection_made` paused reading
        elif self._held:
            self._held += data  # it was in transit when reading was paused
        elif self._refusal is None and not self._repeats(data):
            begins, latest = self.phase == IDLE, self.latest
            self._parse(data)
            if begins and self._repeated is None and self.latest is not latest:
                self._repeated = repeated_head(data, self.latest) if isinstance(self.latest, DirectRequest) else None

    def eof_received(self) -> bool:
        """Ends the connection after the answers to the open requests: a client that shut down its side may still wait
        for them.

        While a request waits for its turn, reading is paused. The end of input is then seen later.
        """
        latest = self.latest
        if self.phase in (BODY, LEAVING) or latest is None or latest.complete:
            return False  # the transport closes
        latest.keep_alive = False
        return not self.state.is_secure  # TLS ends for both sides at once

    def pause_writing(self) -> None:
        """Stops reading from a client that does not take answers, because requests would pile up in memory."""
        self.flow.pause_writing()
        self.since = self.state.now
        if not self._is_over():
            self.flow.pause_reading()

    def resume_writing(self) -> None:
        self.flow.resume_writing()
        if not self._is_over():
            self._resume_reading()

    # --- from the parser

    def on_message_begin(self) -> None:
        if self._told_again:
            return
        self._begun += 1
        if self.unfinished_of is not None:
            self.state.clients.finish(self)
        self.url = b""
        self.headers = []
        self.phase = HEAD
        self.since = self.state.now
        self._head_octets = 0

    def on_url(self, url: bytes) -> None:
        if not self._told_again:
            self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.phase == HEAD:  # without this the line feed comes after the body, where no request may follow
            self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        if self._told_again:
            self._told_again = False
            return
        if self.transport.is_closing():
            raise ConnectionAbortedError  # a client that has announced its last request sends another
        parser = self._parser
        assert parser is not None
        version: str = parser.get_http_version()
        if self._takes_short_cut(parser, version):
            return
        inspect(version, self.url, self.headers)
        if self.state.clients.owing or self.state.clients.counts:
            seconds = self.wait(self.headers, declared_length(self.headers))
            if seconds:
                raise Declined(self.state.replies.too_many(TOO_MUCH, seconds))
        method, self._method = self._method or parser.get_method().decode(), ""
        scope = request_scope(self.ends, method, version, self.url, self.headers)
        keep_alive = version != "1.0" and parser.should_keep_alive() and not self.state.is_leaving
        self._begin(scope, keep_alive=keep_alive)

    def on_body(self, body: bytes) -> None:
        if self._direct is not None:
            self._direct_body = self._direct_body + body if self._direct_body else body
            return
        self._octets_without_body = 0
        if self._reading is not None:
            self._reading.feed(body)

    def on_message_complete(self) -> None:
        if self._direct is not None:
            body, self._direct_body = self._direct_body, b""
            self._run(self._direct, body)
            return
        if self._parser is None or self._parser.should_upgrade():
            return  # its body is still to come
        self._end_of_body()

    # --- from the exchange

    def ended(self) -> None:
        """Starts the next request, because the current request has its answer."""
        self._under_way = None
        if not self._is_over():
            self._start_next()

    def hang_up(self) -> None:
        """Closes after the last answer. Reads and discards the octets that the client still sends: closing a socket
        with unread octets would take the answer from the client (RFC 9112, 9.6).
        """
        if self.phase in (HEAD, BODY) or self._refusal is not None:
            self._leave()
        else:
            self.transport.close()

    # --- from the server

    def shutdown(self) -> None:
        """Closes as soon as the requests under way have their answers. Does not wait for the rest of a body: its client
        has been promised nothing."""
        latest = self.latest
        if self.phase == LEAVING:
            self.transport.close()
        elif self.phase == BODY and (self._reading is None or not self._reading.begun):
            self._give_up(self.state.replies.overloaded("The gateway is about to stop; try again."))
        elif latest is None or latest.complete:
            self.transport.close()
        else:
            latest.keep_alive = False

    def resume(self) -> None:
        """Resumes reading if it was paused, because the client may send again."""
        self.is_paused = False
        if not self._is_over():
            self.since = self.state.now
            self._resume_reading()

    # --- reading

    def _parse(self, data: bytes) -> None:
        """Parses slice by slice. If requests wait for their turn, the rest is held."""
        size = limits.SLICE_OCTETS
        for start in range(0, len(data), size):
            if self._is_over() or self._refusal is not None:
                return
            if self.waiting or self.flow.writing_paused:
                self._held = data[start:]
                self.flow.pause_reading()
                return
            self._feed(data if len(data) <= size else data[start : start + size])
        if self.unfinished_of is not None or self.phase in (HEAD, BODY):
            self.note_unfinished()

    def _feed(self, octets: bytes) -> None:
        rest = octets
        begun = self._begun if self.phase in (IDLE, ANSWER) else -1
        while rest:
            if self._parser is None:
                self._parser = new_parser(self)
            try:
                self._parser.feed_data(rest)
            except httptools.HttpParserUpgrade as upgrade:
                rest = rest[upgrade.args[0] :]
                self._told_again = True
                self._parser = body_parser(self, self.headers)
            except httptools.HttpParserInvalidMethodError:
                # The start of the request is known only if it is at the first of these octets.
                method, end = unheard_of_method(octets) if self._begun == begun + 1 else ("", 0)
                if not method:
                    self._give_up(self._malformed("The HTTP request does not begin with a method that is known here."))
                    return
                self._method = method
                self._parser, rest, begun = None, _STAND_IN + octets[end:], -1
            except httptools.HttpParserError as error:
                cause = error.__context__
                self._give_up(cause.reply if isinstance(cause, Declined) else self._malformed(problem_of(error)))
                return
            else:
                break
        if self.phase == HEAD:
            self._head_octets += len(octets)
            if self._head_octets > limits.MAX_HEAD_OCTETS or len(self.headers) > limits.MAX_HEADERS:
                self._give_up(self._malformed("The headers are too large."))
        elif self._reading is not None:
            self._octets_without_body += len(octets)
            if self._octets_without_body > limits.MAX_HEAD_OCTETS:
                self._give_up(self._malformed("The trailers or the extensions of a chunk are too large."))

    def _give_up(self, refusal: Reply) -> None:
        """Sends an error for a malformed request, after the answers to the complete requests before it. Sent earlier,
        the client would take the error for an answer to one of them.
        """
        if self._is_over():
            return
        if self.phase == BODY and self.waiting:
            self.waiting.pop()  # unreadable, and at least one request before it is open
        elif self._reading is not None and self._reading.begun:
            self.transport.close()  # an answer that has begun cannot become another answer
            return
        elif self.phase == BODY or self.latest is None or self.latest.complete:
            self._refuse(refusal)
            return
        self._refusal = refusal
        self.phase = ANSWER
        self.flow.pause_reading()

    def _parse_held(self) -> None:
        if not self._is_over():
            held, self._held = self._held, b""
            self._parse(held)
            self._read_on()

    def _resume_reading(self) -> None:
        """Resumes reading; octets that were held back are parsed first."""
        if self._held and not (self.waiting or self.is_paused):
            self.state.loop.call_soon(self._parse_held)
        self._read_on()

    def _read_on(self) -> None:
        """Resumes reading unless a request or held octets wait, a request was refused, or the client takes no
        answers."""
        if not (self.waiting or self._held or self.is_paused or self.flow.writing_paused) and self._refusal is None:
            self.flow.resume_reading()

    # --- requests and their turns

    def _begin(self, scope: Scope, *, keep_alive: bool) -> Exchange:
        """Starts the request with the latest head: it is answered now, or waits for its turn."""
        busy = self.latest is not None and not self.latest.complete
        exchange = Exchange(self, scope, keep_alive)
        self.latest = self._reading = exchange
        self._octets_without_body = 0
        self.phase = BODY
        self.since = self.state.now
        if busy:
            self.flow.pause_reading()
            self.waiting.append(exchange)
        else:
            self._start(exchange)
        return exchange

    def _end_of_body(self) -> None:
        if self._reading is not None:
            self._reading.end()
            self._reading = None
        # The answer may be out already, if the request was refused by its headers alone.
        self.phase = IDLE if self.latest is None or self.latest.complete else ANSWER
        self.since = self.state.now

    def _start(self, exchange: Exchange) -> None:
        self._under_way = exchange
        self.state.start(exchange.run(self.state.application))

    def _start_next(self) -> None:
        self.since = self.state.now
        if self.waiting:
            self._start(self.waiting.pop(0))
        elif self._refusal is not None:
            self._refuse(self._refusal)
            return
        elif self.phase == ANSWER:
            self.phase = IDLE
        if self.phase in (HEAD, BODY):
            self.note_unfinished()
        if self._held or self.flow.reading_paused:
            self._resume_reading()

    # --- the end

    def _is_over(self) -> bool:
        """Whether input is ignored."""
        return self.phase == LEAVING or self.transport.is_closing()

    def _leave(self) -> None:
        self.phase = LEAVING
        self.since = self.state.now
        self.note_unfinished()
        self.is_paused = False
        self._held, self._parser, self._reading = b"", None, None
        self.waiting.clear()
        if self._under_way is not None:
            self._under_way.disconnect()
        if not self.state.is_secure:  # TLS has no half of an end: the client, who knows the answer's length, is to go
            self.transport.write_eof()
        self.flow.resume_reading()

    # --- the short cut

    def client(self, forwarded: bytes | None) -> Address:
        """Returns the client's address: by `forwarded`, its X-Forwarded-For, if a trusted proxy says so."""
        return self.ends.client(forwarded)

    def _takes_short_cut(self, parser: httptools.HttpRequestParser, version: str) -> bool:
        """Offers the request with the latest head to the short cut; see `short_cut`."""
        short_cut, latest = self.state.short_cut, self.latest
        if (
            short_cut is None
            or not (latest is None or latest.complete)
            or parser.get_method() != b"POST"
            or version != "1.1"
            or self._method
        ):
            return False
        direct = short_cut.take(self, self.url, self.headers)
        if direct is None:
            return False
        direct.keep_alive = parser.should_keep_alive() and not self.state.is_leaving
        self._direct = direct
        self._direct_body = b""
        self.phase = BODY
        self.since = self.state.now
        return True

    def _repeats(self, data: bytes) -> bool:
        """Runs a request whose head is the first one that the short cut took; returns False where the data are anything
        else."""
        repeated = self._repeated
        if repeated is None or self.phase != IDLE or self.unfinished_of is not None or self.state.is_leaving:
            return False
        body = repeated.body_in(data)
        if body is None or self.flow.writing_paused or self._is_over() or not repeated.request.again(len(body)):
            return False
        self.url, self.headers = repeated.request.target, repeated.request.headers
        self._run(repeated.request, body)
        return True

    def _run(self, direct: DirectRequest, body: bytes) -> None:
        self._direct = None
        self.latest = direct
        self.phase = ANSWER
        clients = self.state.clients
        if (clients.owing or clients.counts) and (seconds := self.wait(direct.headers, len(body))):
            reply = self.state.replies.too_many(TOO_MUCH, seconds)
            self._finish(direct, self.state.refusal(reply, "POST", keep=direct.keep_alive))
            return
        if direct.run(body):
            return
        direct.complete = True
        scope = request_scope(self.ends, "POST", "1.1", direct.target, direct.headers)
        exchange = self._begin(scope, keep_alive=direct.keep_alive)
        exchange.feed(body)
        self._end_of_body()

    def is_closing(self) -> bool:
        """Whether an answer could not be sent any more."""
        return self.transport.is_closing()

    def answer(self, request: DirectRequest, status: int, rest: bytes) -> None:
        """Sends the answer to `request`; see `short_cut.Channel`."""
        if request.work and 400 <= status < 500:
            self.charge(request.headers, request.work)
        self._finish(request, self.state.opening(status) + rest)

    def _finish(self, request: DirectRequest, octets: bytes) -> None:
        request.complete = True
        if self.transport.is_closing():
            return
        self.transport.write(octets)
        if request.keep_alive:
            self._start_next()
        else:
            self.hang_up()

    # --- refusals

    def _malformed(self, problem: str) -> Reply:
        return self.state.replies.malformed(problem)

    def _refuse(self, reply: Reply) -> None:
        """Answers before there is a request to answer, and closes."""
        parser = self._parser
        method = "" if parser is None or not self.url else parser.get_method().decode()
        self.transport.write(self.state.refusal(reply, method))
        self.hang_up()
