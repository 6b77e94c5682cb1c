"""The short cut for sends: `POST /api/v1/messages` and v2 without a task, an ASGI call or a future a request.

The usual way costs more than the request itself does. A plain send is answered straight from the connection; whether it
is one is seen by its head. All else, also a send whose credentials must be checked first, goes the usual way as if
nothing had been tried.
"""

from heliograph.api.app import CHOSEN, Api
from heliograph.api.fast_send.head import SHORT_BODY, Heads, PlainSend, plain_send
from heliograph.http.asgi import Headers, Scope
from heliograph.http.connection import ANSWER, BODY, IDLE, Connection
from heliograph.http.exchange import Turn
from heliograph.http.reply import Reply
from heliograph.http.server_state import ServerState


class FastSend:
    """The short cut as an extension of the HTTP server (`http.server.Extension`)."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._heads = Heads(min(SHORT_BODY, api.max_body))

    def connection(self, state: ServerState) -> Connection:
        return FastConnection(state, self._api, self._heads)

    def tick(self, now: float) -> None:
        self._heads.tick(now)


class FastConnection(Connection):
    """Of sends on the short cut one at a time is under way; what comes after it waits, or goes the usual way."""

    __slots__ = ("_api", "_body", "_chosen", "_heads", "_parsed", "_send", "_turn")

    def __init__(self, state: ServerState, api: Api, heads: Heads) -> None:
        super().__init__(state)
        self._api = api
        self._heads = heads
        self._turn = Turn(keep_alive=True)
        self._chosen: bool | None = None
        """What `Api.choose` said of the request whose head was read last; None where it was not asked."""
        self._parsed: PlainSend | None = None
        """That whose body is being read."""
        self._body = b""
        self._send: PlainSend | None = None
        """The latest on the short cut."""

    def data_received(self, data: bytes) -> None:
        if self.phase != IDLE or self._held:
            super().data_received(data)
            return
        if self._api.choose is None:
            found = self._heads.find(data)
            if found is not None:
                send, body = found
                self._submit(send, body)
                return
        self._send = None
        super().data_received(data)
        self._learn(data)

    def on_headers_complete(self) -> None:
        self._chosen = None
        parser = self._parser
        latest = self.latest
        if (
            parser is not None
            and not self._repeated_head
            and (latest is None or latest.complete)
            and parser.get_method() == b"POST"
            and parser.get_http_version() == "1.1"
            and not self.transport.is_closing()
        ):
            send = plain_send(self.url, self.headers, self._heads.longest)
            if send is not None and not self._is_to_be_seen(send):
                self.phase = BODY
                self.since = self.state.now
                self._parsed = send
                self._body = b""
                return
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if self._parsed is not None:
            self._body = self._body + body if self._body else body
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        send, parser = self._parsed, self._parser
        if send is None or parser is None:
            super().on_message_complete()
            return
        self._parsed = None
        body, self._body = self._body, b""
        send.keep_alive = parser.should_keep_alive()
        self._submit(send, body)

    # --- for the API

    def address(self) -> str:
        """Whose the latest send is; "" if the client has gone."""
        send = self._send
        return self.client(None if send is None else send.forwarded)[0]

    def answer(self, reply: Reply) -> None:
        """To the send under way."""
        self._turn.complete = True
        send = self._send
        request_id = None if send is None else send.request_id
        if request_id is None:
            request_id = self._api.next_request_id()
        if self._api.overhear is not None:
            self._api.overhear(request_id, reply)
        if self.transport.is_closing():
            return
        keep_alive = self._turn.keep_alive
        self.write(reply, request_id, keep_alive=keep_alive)
        if keep_alive:
            self._go_on()

    # --- inside

    def _learn(self, data: bytes) -> None:
        """Remembers the head of the send that has been read just now, if it came alone."""
        if self._send is not None:
            self._heads.learn(self._send, data)

    def _scope(self, method: str, version: str, target: bytes, headers: Headers) -> Scope:
        scope = super()._scope(method, version, target, headers)
        if self._chosen is not None:
            scope[CHOSEN] = self._chosen
        return scope

    def _is_to_be_seen(self, send: PlainSend) -> bool:
        """Whether what is around the application wants to see it."""
        choose = self._api.choose
        if choose is None:
            return False
        self._chosen = choose(send.headers)
        return self._chosen

    def _submit(self, send: PlainSend, body: bytes) -> None:
        turn = self._turn
        turn.complete = False
        turn.keep_alive = send.keep_alive
        self.latest = turn
        self._send = send
        self.phase = ANSWER
        if not self._api.send_at_once(send, body, self):
            turn.complete = True
            self._start_over(send, body)

    def _start_over(self, send: PlainSend, body: bytes) -> None:
        """The usual way, with the body that is already here."""
        scope = self._scope("POST", "1.1", send.target, list(send.headers))
        exchange = self._begin(scope, keep_alive=send.keep_alive)
        exchange.feed(body)
        self._end_of_body()
