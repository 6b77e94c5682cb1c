"""A send on the short cut is answered as on the usual way: the same octets, cut anywhere, have the same answers, in the
same order, and cost the same. Both protocols hear the same on a wire in memory.
"""

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heliograph.api.fast_send.short_cut import FastSends
from heliograph.http.connection import Connection
from heliograph.http.limits import MAX_HEAD_OCTETS, SLICE_OCTETS
from heliograph.http.server_state import ServerState
from heliograph.http.short_cut import ShortCut
from heliograph.net.clients import Clients, Shares
from tests.support.gateway import API_KEY, PASSWORD, Gateway, basic, open_gateway
from tests.support.use_case_fakes import PortedServer

BODY = b'{"to":"447700900123","from":"Helio","content":"Hello"}'
V1 = b"Authorization: " + basic("acme", API_KEY) + b"\r\n"
V2 = b"Authorization: " + basic("acme", PASSWORD) + b"\r\n"
JSON = b"Content-Type: application/json\r\n"
FORM = b"Content-Type: application/x-www-form-urlencoded\r\n"
SHORTEST = b"GET / HTTP/1.1\r\nHost:\r\n\r\n"
IDLE_TURNS = 25
"""Turns of the loop in which nothing is written, after which nothing more is to come."""

Protocol = Callable[[Gateway], ServerState]
"""Makes the state of a server."""


def fast(gateway: Gateway) -> ServerState:
    """Serves sends by the short cut."""
    return server_state(gateway, FastSends(gateway.app))


def usual(gateway: Gateway) -> ServerState:
    """Serves everything by ASGI."""
    return server_state(gateway, None)


def server_state(gateway: Gateway, short_cut: ShortCut | None) -> ServerState:
    clients = Clients(Shares(9), gateway.app.note_turned_away)
    return ServerState(gateway.app, gateway.app, clients, short_cut=short_cut)


class Wire(asyncio.Transport):
    """Keeps what is written before it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()
        self.paused = False
        self.closing = False
        self.ended = False
        self.peer = ("192.0.2.7", 50_000)

    @property
    def over(self) -> bool:
        """Whether the server has said all."""
        return self.closing or self.ended

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self.peer if name == "peername" else default

    def write(self, data: Any) -> None:
        assert not self.ended
        if not self.closing:
            self.written += data

    def write_eof(self) -> None:
        assert not self.closing
        self.ended = True

    def pause_reading(self) -> None:
        assert not self.paused
        self.paused = True

    def resume_reading(self) -> None:
        assert self.paused
        self.paused = False

    def is_closing(self) -> bool:
        return self.closing

    def close(self) -> None:
        self.closing = True


class Line:
    """A gateway, and one connection to it."""

    def __init__(self, gateway: Gateway, state: ServerState, host: str = "192.0.2.7") -> None:
        self.gateway = gateway
        self.wire = Wire()
        self.wire.peer = (host, 50_000)
        self.connection = Connection(state)
        self.connection.connection_made(self.wire)
        self.most_waiting = 0

    def another(self, host: str = "192.0.2.7") -> "Line":
        """To the same server."""
        return Line(self.gateway, self.connection.state, host)

    async def hear(self, octets: bytes) -> None:
        """As a loop would read them: not while reading is paused."""
        while self.wire.paused and not self.wire.closing:  # noqa: ASYNC110 - turns of the loop
            await asyncio.sleep(0)
        if not self.wire.closing:
            self.connection.data_received(octets)
            self.most_waiting = max(self.most_waiting, len(self.connection.waiting))

    async def settle(self) -> None:
        idle = 0
        while idle < IDLE_TURNS:
            before = len(self.wire.written)
            await asyncio.sleep(0)
            idle = idle + 1 if len(self.wire.written) == before else 0

    def answers(self) -> list[tuple[bytes, list[bytes], bytes]]:
        """Of each its status, its headers in the order of their names, and its body."""
        # before they are taken apart: the answer to a HEAD has a length and no body, and takes some of the next one
        rest, found = re.sub(rb"x-request-id: test-[0-9a-f]+|date: [^\r]+", b"ours", bytes(self.wire.written)), []
        while rest:
            head, _, rest = rest.partition(b"\r\n\r\n")
            status, *headers = head.split(b"\r\n")
            length = next((int(each[16:]) for each in headers if each.startswith(b"content-length: ")), 0)
            found.append((status, sorted(headers), rest[:length]))
            rest = rest[length:]
        return found


async def opened(protocol: Protocol, credit: str = "5", rate: float = 0) -> Line:
    gateway = await open_gateway(credit=credit)
    await gateway.change_account(rate=rate)
    for path in ("/api/v1/account/balance", "/api/v2/account/balance"):
        assert (await gateway.call("POST", path)).status == 200
    return Line(gateway, protocol(gateway))


async def outcome(
    protocol: Protocol, pieces: list[bytes], patient: list[bool], rate: float, connections: int = 1
) -> Any:
    """What comes of the same pieces on one connection after the other."""
    line = await opened(protocol, rate=rate)
    heard = []
    for number in range(connections):
        line = line.another() if number else line
        heard.append(await _heard(line, pieces, patient))
    stored = [(a.batch, a.reference, a.total, [m.content for m in a.messages]) for a in line.gateway.intake.accepted]
    assert line.gateway.journal.lines == []
    return heard, stored, await line.gateway.balance()


async def _heard(line: Line, pieces: list[bytes], patient: list[bool]) -> Any:
    for number, piece in enumerate(pieces):
        await line.hear(piece)
        if patient and patient[number % len(patient)]:
            await line.settle()
    await line.settle()
    answers, closed = line.answers(), line.wire.over
    line.wire.closing = True
    line.connection.connection_lost(None)
    await line.settle()
    return answers, closed


def cut(octets: bytes, sizes: list[int]) -> list[bytes]:
    pieces = []
    for size in sizes:
        pieces.append(octets[:size])
        octets = octets[size:]
    return [piece for piece in [*pieces, octets] if piece]


json_text = st.tuples(
    st.sampled_from([b"", b"", b"", b"\xef\xbb\xbf", b" \n", b"[", b"\x00"]),
    st.lists(
        st.sampled_from(
            [
                b'"to":"447700900123"', b'"to":447700900123', b'"to":[447700900123,"447700900124","447700900123"]',
                b'"to":447700900123.0', b'"to":4.477009e11', b'"to":-0', b'"to":1e400', b'"to":NaN',
                b'"to":"447700900123,447700900124"', b'"t\\u006f":"447700900125"', b'"to":' + b"9" * 400,
                b'"from":"Helio"', b'"from":"Heli\\ud800"', b'"from":null', b'"content":"Hello"',
                b'"content":"\\u0000"', b'"content":"\xff"', b'"content":"\\ud83d\\ude00"', b'"content":"%41+"',
                b'"time":"2027-03-01 00:00:00"', b'"time":1e999999', b'"time":0', b'"type":"binary"', b'"dlr":1',
                b'"dlr-url":"http://127.0.0.1/"', b'"dlr-url":"https://example.com/"', b'"reference":"r"',
                b'"reference":"R"', b'"reference":7', b'"reference":7.0', b'"reference":[1]',
                b'"x":' + b"[" * 2000 + b"]" * 2000,
            ]
        ),
        max_size=7,
    ).map(b",".join),
    st.sampled_from([b"", b"", b"", b" ", b"\r\n", b"{}", b"\x00", b","]),
).map(lambda parts: parts[0] + b"{" + parts[1] + b"}" + parts[2])  # fmt: skip
form_text = st.lists(
    st.sampled_from(
        [
            b"to=447700900123", b"to=447700900124", b"from=Helio", b"content=Hello", b"content=%FF", b"content=%00",
            b"from=", b"reference=r", b"time=", b"dlr=1&dlr-url=https://example.com/", b"%74o=447700900125", b"&", b"=",
        ]
    ),
    max_size=6,
).map(b"&".join)  # fmt: skip
plain = st.sampled_from(
    [
        BODY, BODY, BODY.replace(b"}", b',"reference":"r"}'), b"to=447700900123&from=Helio&content=Gr\xc3\xbc\xc3\x9fe",
        BODY.replace(b"Hello", b"x" * 9000),
    ]
)  # fmt: skip
bodies = plain | json_text | form_text | st.binary(max_size=30)

headers = st.lists(
    st.sampled_from(
        [
            b"Authorization: Basic !\r\n", b"Authorization:\r\n", V2, V1, V1.replace(b"Basic", b"bAsIc "),
            V1.replace(b"\r\n", b" \t\r\n"), V1.upper(), JSON, FORM, b"Content-Type:\r\n",
            b"Content-Type: text/plain\r\n",
            b"Content-Type: APPLICATION/JSON ; charset=UTF-8\r\n", b"Content-Type: application/json;charset=utf-16\r\n",
            b"X-Request-Id: mine\r\n", b"X-Request-Id: not one\r\n", b"X-Request-Id:\r\n", b"Connection: close\r\n",
            b"Connection: keep-alive\r\n", b"Connection: upgrade\r\nUpgrade: h2c\r\n", b"Upgrade: h2c\r\n",
            b"Expect: 100-continue\r\n", b"Expect: nothing\r\n", b"Content-Encoding: gzip\r\n",
            b"Content-Encoding: identity\r\n", b"X-Forwarded-For: 198.51.100.1\r\n", b"Content-Length: 3\r\n",
            b"X: a\r\n b\r\n", b"X : a\r\n", b"X:\xff\r\n", b"\r\n", b"Host: y\r\n", b"Host:\r\n",
            b"Transfer-Encoding: gzip, chunked\r\n", b"Expect: 100-continue \r\n",
        ]
    ),
    max_size=3,
).map(b"".join)  # fmt: skip


def _frame(body: bytes, framing: str) -> bytes:
    length, size = b"Content-Length: %d\r\n\r\n", len(body)
    match framing:
        case "short":
            return length % max(0, size - 2) + body
        case "long":
            return length % (size + 2) + body
        case "padded":
            return b"Content-Length: 000%d \r\n\r\n" % size + body
        case "huge":
            return b"Content-Length: %d\r\n\r\n" % (1 << 20 | 1) + body
        case "endless":
            return b"Content-Length: " + b"9" * 30 + b"\r\n\r\n" + body
        case "empty":
            return b"Content-Length: \r\n\r\n" + body
        case "none":
            return b"\r\n" + body
        case "chunked" | "both":
            more = b"Content-Length: 3\r\n" if framing == "both" else b""
            chunk = b"%x;a=b\r\n%b\r\n" % (size, body) if body else b""
            trailer = b"Authorization: Basic x\r\nContent-Type: text/plain\r\n"
            return more + b"Transfer-Encoding: chunked\r\n\r\n" + chunk + b"0\r\n" + trailer + b"\r\n"
        case "torn":
            return b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\nzz\r\n"
    return length % size + body


lines = st.sampled_from(
    [
        *[b"POST /api/v1/messages HTTP/1.1\r\nHost: x\r\n" + V1 + JSON] * 5,
        *[b"POST /api/v2/messages HTTP/1.1\r\nHost: x\r\n" + V2 + FORM] * 2,
        b"POST /api/v1/messages HTTP/1.1\r\nHost: x\r\n" + V1,
        b"POST /api/v1/messages HTTP/1.1\r\nHost: x\r\n",
        b"POST /api/v1/messages HTTP/1.0\r\n" + V1 + JSON,
        b"POST /api/v1/messages/ HTTP/1.1\r\nHost: x\r\n" + V1 + JSON,
        b"POST /api/v1/messages?a=b HTTP/1.1\r\nHost: x\r\n" + V1 + JSON,
        b"POST http://x/api/v1/messages HTTP/1.1\r\nHost: x\r\n" + V1 + JSON,
        b"POST /api/v1/%6dessages HTTP/1.1\r\nHost: x\r\n" + V1 + JSON,
        b"POST /api/v1/messages/quote HTTP/1.1\r\nHost: x\r\n" + V1 + JSON,
        b"POST /api/v1/account/balance HTTP/1.1\r\nHost: x\r\n" + V1,
        b"PUT /api/v1/messages HTTP/1.1\r\nHost: x\r\n" + V1 + JSON,
        b"post /api/v1/messages HTTP/1.1\r\nHost: x\r\n" + V1 + JSON,
        b"HEAD /health/live HTTP/1.1\r\nHost: x\r\n",
        b"BREW /api/v1/messages HTTP/1.1\r\nHost: x\r\n" + V1 + JSON,
        b"POST /api/v1%2Fmessages HTTP/1.1\r\nHost: x\r\n" + V1 + JSON,
        b"POST /api/v1/messages#x HTTP/1.1\r\nHost: x\r\n" + V1 + JSON,
        b"POST /api/v1/messages HTTP/1.1\r\n" + V1 + JSON,
        b"POST /api/v1/messages HTTP/1.1\r\nHost: x y\r\n" + V1 + JSON,
        b"POST /api/v1/messages HTTP/1.1\r\nHost: [::1]:80 \r\n" + V1 + JSON,
    ]
)
framings = st.sampled_from(
    ["right"] * 8 + ["short", "long", "padded", "huge", "endless", "empty", "none", "chunked", "both", "torn"]
)
requests = st.builds(
    lambda line, more, body, framing: line + more + _frame(body, framing), lines, headers, bodies, framings
)
streams = st.lists(requests | st.sampled_from([b"\r\n", b"nonsense\r\n\r\n", b"\x16\x03"]), min_size=1, max_size=5)
SEND = b"POST /api/v1/messages HTTP/1.1\r\nHost: x\r\n" + V1 + JSON
GOOD = SEND + _frame(BODY, "right")
BAD = SEND + _frame(BODY.replace(b"Helio", b"He"), "right")
UPGRADE = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"


@given(
    stream=streams.map(b"".join),
    sizes=st.lists(st.integers(1, 400), max_size=6),
    patient=st.lists(st.booleans(), max_size=4),
    rate=st.sampled_from([0.0, 2.0]),
)
@example(stream=GOOD + b"nonsense\r\n\r\n", sizes=[], patient=[], rate=0.0)
@example(stream=GOOD + GOOD + SEND + _frame(b"", "torn"), sizes=[], patient=[], rate=0.0)
@example(stream=BAD.replace(V1, V1 + b"Connection: close\r\n") + GOOD, sizes=[], patient=[], rate=0.0)
@example(stream=GOOD + UPGRADE + GOOD, sizes=[], patient=[], rate=0.0)
def test_the_short_cut_is_the_usual_way(stream: bytes, sizes: list[int], patient: list[bool], rate: float) -> None:
    # bodies are complete: of one that is not, the usual way may refuse the head, for which the short cut does not look
    pieces = cut(stream + b"\r\n\r\n", sizes)

    async def both() -> None:
        short = await outcome(fast, pieces, patient, rate)
        assert short == await outcome(usual, pieces, patient, rate)

    asyncio.run(both())


HEADS = [
    SEND, b"POST /api/v2/messages HTTP/1.1\r\nHost: x\r\n" + V2 + JSON, SEND + b"X-Request-Id: mine\r\n",
    SEND + b"X: 1\r\nContent-Length : 54", SEND + b"Y: \r\n ", SEND + b"Connection: close\r\n",
]  # fmt: skip
LENGTHS = [
    b"Content-Length: %d\r\n\r\n", b"content-length:%d \r\nX: y\r\n\r\n", b"Content-Length: 0%d\r\n\r\n",
    b"Content-Length: +%d\r\n\r\n", b"Content-Length: %d\r\nContent-Length: 5\r\n\r\n",
    b"Content-Length: %d\r\n\r", b"Content-Length: %d\n\n",
    b"Content-Length: 1%d\r\n\r\n",
]  # fmt: skip


@given(
    pieces=st.lists(
        st.builds(
            lambda head, length, body, more: head + length % len(body) + body + more,
            st.sampled_from([SEND, *HEADS]),
            st.sampled_from([LENGTHS[0], LENGTHS[0], *LENGTHS]),
            plain | st.just(b""),
            st.sampled_from([b"", b"", b"", b"\r\n", b"P", GOOD]),
        )
        | st.just(SHORTEST),
        min_size=2,
        max_size=6,
    ),
    patient=st.lists(st.booleans(), max_size=4),
)
@example(pieces=[GOOD, SEND + LENGTHS[0] % 9 + b"{}", GOOD], patient=[True])
@example(pieces=[GOOD, SEND + LENGTHS[0] % 20_000 + b" " * 20_000, GOOD], patient=[True])
def test_a_head_that_repeats_is_the_usual_way(pieces: list[bytes], patient: list[bool]) -> None:
    async def both() -> None:
        whole = [*pieces, b"\r\n\r\n"]
        assert await outcome(fast, whole, patient, 0) == await outcome(usual, whole, patient, 0)

    asyncio.run(both())


async def test_a_head_that_repeats_is_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    line = await opened(fast)
    await line.hear(GOOD)
    await line.settle()
    monkeypatch.setattr(line.connection, "_parser", None)
    other = GOOD.replace(b"Hello", b"Hello again").replace(b"Length: 54", b"Length: 60")
    for _ in range(2):
        await line.hear(other)
        await line.settle()
    assert [status for status, _, _ in line.answers()] == [b"HTTP/1.1 200 OK"] * 3
    assert line.connection._parser is None
    assert [each.messages[0].content for each in line.gateway.intake.accepted] == ["Hello", *["Hello again"] * 2]


@pytest.mark.slow
async def test_a_client_that_sends_far_ahead_is_read_no_further_than_it_is_answered() -> None:
    for protocol in (fast, usual):
        line = await opened(protocol)
        await line.hear(SHORTEST * 5_000 + GOOD)
        await line.hear(SHORTEST * 5_000)
        await line.settle()
        answers = line.answers()
        assert [status for status, _, _ in answers].count(b"HTTP/1.1 404 Not Found") == 10_000
        assert answers[5_000][0] == b"HTTP/1.1 200 OK"
        assert line.most_waiting <= SLICE_OCTETS // len(SHORTEST) + 1
        assert (line.wire.paused, line.wire.over) == (False, False)


async def test_offers_of_another_protocol_may_be_many() -> None:
    line = await opened(fast)
    await line.hear(UPGRADE * 1_500 + GOOD)
    await line.settle()
    statuses = [status for status, _, _ in line.answers()]
    assert statuses == [b"HTTP/1.1 404 Not Found"] * 1_500 + [b"HTTP/1.1 200 OK"]


@pytest.mark.parametrize("protocol", [fast, usual])
@pytest.mark.parametrize(
    "rest",
    [
        b"nonsense\r\n\r\n", b"\x16\x03\x01", SEND + _frame(b"", "torn"), SEND + b"X: " + b"x" * MAX_HEAD_OCTETS,
        SEND + _frame(BODY, "both"), SHORTEST + b"nonsense\r\n\r\n", b"e\r\n\r\n",
    ],
)  # fmt: skip
async def test_what_was_sent_is_answered_before_what_cannot_be_read_is_refused(protocol: Protocol, rest: bytes) -> None:
    """A 400 that comes alone says of the send before it that it was not charged."""
    line = await opened(protocol)
    await line.hear(GOOD + rest)
    await line.settle()
    (first, *_), *others = line.answers()
    assert (first, others[-1][0]) == (b"HTTP/1.1 200 OK", b"HTTP/1.1 400 Bad Request")
    assert len(others) == 1 + rest.startswith(SHORTEST)
    assert line.wire.over
    assert len(line.gateway.intake.accepted) == 1


@pytest.mark.parametrize("protocol", [fast, usual])
@pytest.mark.parametrize("after", [BAD, SHORTEST])
async def test_nothing_is_done_for_who_said_that_nothing_comes(protocol: Protocol, after: bytes) -> None:
    line = await opened(protocol)
    await line.hear(BAD.replace(V1, V1 + b"Connection: close\r\n") + after.replace(b"He", b"Helio") + GOOD)
    await line.settle()
    assert [status for status, _, _ in line.answers()] == [b"HTTP/1.1 400 Bad Request"]
    assert (line.wire.over, line.gateway.intake.accepted) == (True, [])


async def test_heads_that_come_with_much_else_are_not_too_large() -> None:
    line = await opened(fast)
    octets = GOOD * (2 * MAX_HEAD_OCTETS // len(GOOD))
    await line.hear(octets + GOOD[:40])
    await line.hear(GOOD[40:])
    await line.settle()
    assert len(line.answers()) == len(octets) // len(GOOD) + 1
    assert not line.wire.over


async def test_credentials_that_were_right_elsewhere_are_not_admitted_from_everywhere() -> None:
    line = await opened(fast)
    await line.gateway.change_account(networks=("192.0.2.7/32",))
    other = line.another("198.51.100.1")
    for each in (line, other):
        await each.hear(GOOD)
        await each.settle()
    statuses = [each.answers()[0][0] for each in (line, other)]
    assert statuses == [b"HTTP/1.1 200 OK", b"HTTP/1.1 403 Forbidden"]


async def test_what_changes_about_the_account_counts_at_once() -> None:
    line = await opened(fast)
    await line.hear(GOOD)
    await line.settle()
    await line.gateway.change_account(suspended=True)
    await line.hear(GOOD)
    await line.settle()
    assert [status for status, _, _ in line.answers()] == [b"HTTP/1.1 200 OK", b"HTTP/1.1 403 Forbidden"]


@pytest.mark.parametrize("protocol", [fast, usual])
async def test_the_network_of_a_number_is_found_before_it_is_sent_to(protocol: Protocol) -> None:
    line = await opened(protocol)
    line.gateway.directory.ported = ported = PortedServer(known=())
    line.gateway.directory._route_anew()
    for _ in range(2):
        await line.hear(b"POST /api/v1/messages HTTP/1.1\r\nHost: x\r\n%b%b" % (V1, JSON))
        await line.hear(b"Content-Length: %d\r\n\r\n%b" % (len(BODY), BODY))
        await line.settle()
    assert ported.asked == ["447700900123"]
    assert [each.messages[0].network for each in line.gateway.intake.accepted] == ["23433", "23433"]


@pytest.mark.parametrize("protocol", [fast, usual])
async def test_a_request_that_leaves_the_short_cut_counts_once_against_the_rate(protocol: Protocol) -> None:
    line = await opened(protocol)
    await line.gateway.change_account(request_rate=0.001, request_burst=3)
    line.gateway.directory.ported = PortedServer(known=())
    line.gateway.directory._route_anew()
    for number in range(4):
        body = BODY.replace(b"123", b"%d" % (124 + number))
        await line.hear(b"POST /api/v1/messages HTTP/1.1\r\nHost: x\r\n%b%b" % (V1, JSON))
        await line.hear(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        await line.settle()
    assert [status.split()[1] for status, *_ in line.answers()] == [b"200"] * 3 + [b"429"]
