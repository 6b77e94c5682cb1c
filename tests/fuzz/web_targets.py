"""What any octets may do to HTTP: whole answers, never one of 500, and the same however the network cuts them.

Each target takes octets and returns nothing; what it raises is a finding.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from heliograph.app.sending.compose import SendRules
from heliograph.console.app import _cookies
from heliograph.console.request import COOKIES, PageResponse
from heliograph.http.connection import Connection
from heliograph.http.request_scope import Endpoints
from heliograph.http.server_state import ServerState
from heliograph.net.clients import Clients, Shares
from heliograph.net.proxies import Proxies
from tests.support.gateway import Gateway, open_gateway
from tests.unit.http.test_connection import Wire, Words, echo

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"

TURNS: Final = 300
"""Turns of the loop after which there is nothing more to come."""

CONTINUE: Final = 100
NO_BODY: Final = 204

CONTROLS: Final = re.compile("[\\x00-\\x1f\\x7f]")

MOST_PER_STORE: Final = 2_000
"""Inputs that one store in memory serves before it is made anew."""

_OPERATIONS: Final = (
    ("POST", "/api/v1/messages", JSON),
    ("POST", "/api/v1/messages", FORM),
    ("POST", "/api/v1/messages/quote", JSON),
    ("POST", "/api/v2/messages", JSON),
    ("POST", "/api/v2/messages", FORM),
    ("PUT", "/account/v1/suppressions/447700900123", JSON),
)


class FuzzedLine:
    """A connection on a loop of its own, which turns when it is told to."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.wire = Wire()
        self.words = Words()
        self.state = ServerState(echo, self.words, Clients(Shares(9), self.words.note_turned_away), loop=loop)
        self.connection = Connection(self.state)
        self.connection.connection_made(self.wire)

    def hear(self, octets: bytes) -> None:
        """As a loop would: nothing while reading is paused, and nothing once the wire is closed."""
        for _ in range(TURNS):
            if not self.wire.paused:
                break
            self._turn()
        if not self.wire.closing and not self.wire.paused:
            self.connection.data_received(octets)

    def settle(self) -> None:
        """Turns the loop until nothing more is written."""
        for _ in range(TURNS):
            before = len(self.wire.written)
            for _ in range(6):
                self._turn()
            if len(self.wire.written) == before:
                return
        raise AssertionError("it goes on writing")

    def leave(self) -> None:
        """Goes away; what was under way ends."""
        self.connection.connection_lost(None)
        self.settle()
        assert not self.state.connections
        assert not self.state.tasks

    def _turn(self) -> None:
        self._loop.call_soon(self._loop.stop)
        self._loop.run_forever()

    def statuses(self) -> list[tuple[int, bytes]]:
        """Status and body of each answer, all of which are whole."""
        found, rest = [], self.wire.written
        while rest:
            head, end, rest = rest.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 "), head
            assert end
            status = int(head[9:12])
            if status == CONTINUE:
                continue
            length = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0])
            assert len(rest) >= length or status == NO_BODY
            found.append((status, rest[:length]))
            rest = rest[length:]
        return found


_loop: Final = cache(asyncio.new_event_loop)


def connection(octets: bytes) -> None:
    """A client's octets, whole and in pieces: the answers are whole, and the same."""
    if len(octets) < 1 or b"HEAD" in octets:
        return
    whole, pieces = FuzzedLine(_loop()), FuzzedLine(_loop())
    whole.hear(octets[1:])
    whole.settle()
    step = octets[0] % 32 + 1
    for start in range(1, len(octets), step):
        pieces.hear(octets[start : start + step])
    pieces.settle()
    found = whole.statuses()
    assert all(200 <= status < 500 for status, _ in found), found
    if not any("a method that is known" in problem for line in (whole, pieces) for _, problem in line.words.asked):
        # one that nobody has heard of is only recognised where it is not cut
        assert found == pieces.statuses(), (found, pieces.statuses())
    whole.leave()
    pieces.leave()


class FuzzedApi:
    """The customers' API on a store in memory, which is made anew after so many requests."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._calls = 0
        self._gateway = self._open()

    def _open(self) -> Gateway:
        return self._loop.run_until_complete(open_gateway(rules=SendRules(max_destinations=20), credit="1000000"))

    def call(self, method: str, path: str, body: bytes, headers: Mapping[str, str], query: str) -> None:
        """Raises AssertionError where the answer is 500, is not whole, or an error was logged."""
        self._calls += 1
        if self._calls % MOST_PER_STORE == 0:
            self._gateway = self._open()
        gateway = self._gateway
        gateway.clock.forward(60)
        reply = self._loop.run_until_complete(gateway.call(method, path, body, headers=headers, query=query))
        assert reply.status < 500, reply
        assert gateway.journal.lines == [], gateway.journal.lines
        if reply.status >= 400 and reply.body:
            assert reply.fault[0] == reply.status


_api: Final = cache(FuzzedApi)


def body(octets: bytes) -> None:
    """A request's body, of one operation and kind."""
    if len(octets) < 2:
        return
    method, path, kind = _OPERATIONS[octets[0] % len(_OPERATIONS)]
    _api().call(method, path, octets[1:], {"Content-Type": kind}, "")


def query(octets: bytes) -> None:
    """What is asked for in an address: filters, cursors, numbers."""
    if len(octets) < 2:
        return
    path = ("/api/v1/messages", "/account/v1/inbound", "/account/v1/suppressions", "/api/v1/messages/")[octets[0] % 4]
    text = octets[1:].decode("latin-1")
    if path.endswith("/"):
        _api().call("GET", path + text, b"", {}, "")
    else:
        _api().call("GET", path, b"", {}, text)


def headers(octets: bytes) -> None:
    """A credential, a content type and an id of a request, in this order, by lines."""
    credential, kind, request_id, *_ = [*octets.decode("latin-1").split("\n"), "", "", ""]
    given: dict[str, Any] = {"Authorization": credential, "Content-Type": kind, "X-Request-Id": request_id}
    _api().call("POST", "/api/v1/messages", b'{"to":"447700900123","from":"Helio","content":"x"}', given, "")


def cookies(octets: bytes) -> None:
    """A header Cookie: ours are found, and none of another's; what we set we read again."""
    text = octets.decode("latin-1")
    found = _cookies(text)
    assert set(found) <= set(COOKIES), found
    if CONTROLS.search(text):  # newer versions of Python refuse to set these, and our own values have none
        return
    response = PageResponse(200)
    response.cookie(COOKIES[1], text, secure=True)
    (_, line), *more = response.headers
    assert not more
    assert not {13, 10, 0} & set(line), line
    assert line.decode().count("; Secure") >= 1
    again = _cookies(line.decode().partition("; HttpOnly")[0].partition("; Path")[0])
    assert again.get(COOKIES[1], text) == text or ";" in text


def forwarded(octets: bytes) -> None:
    """X-Forwarded-For of a trusted proxy: a client of whom no name is longer than an address, or the proxy."""
    wire = Wire("127.0.0.1")
    ends = Endpoints(wire, Proxies(["127.0.0.0/8", "10.0.0.0/8"]), "http")
    host, port = ends.client(octets)
    assert isinstance(host, str)
    assert 0 <= port <= 99_999
    name, _ = ends.client_name([(b"x-forwarded-for", octets)])
    assert len(name) <= max(64, len(octets))
    assert ends.scheme([(b"x-forwarded-proto", octets)]) in ("http", "https")


WEB_TARGETS: Final[dict[str, Callable[[bytes], None]]] = {
    "connection": connection,
    "body": body,
    "query": query,
    "headers": headers,
    "cookies": cookies,
    "forwarded": forwarded,
}
