"""A head that is known by its octets means what the parser would read in it: whatever repeats, in whatever pieces, has
the answers that a connection gives which parses all of it.
"""

import asyncio
from zoneinfo import ZoneInfo

import httptools
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heliograph.api import doors
from heliograph.api.fast_send.head import GENERATION_S, HEADS_KEPT, LONGEST_HEAD, SHORT_BODY, Head, Heads
from heliograph.api.fast_send.short_cut import FastSends
from heliograph.app.configuration import Account
from heliograph.app.sending.authenticate import Proven
from heliograph.app.sending.directory import AccountView
from heliograph.app.sending.principal import Principal
from heliograph.domain.money.pricing import PlanPrices, Tariff
from heliograph.http.asgi import Headers
from tests.properties.api.test_short_cut import BODY, FORM, GOOD, JSON, V1, V2, Line, cut, fast, opened, outcome, usual

V1_LINE = b"POST /api/v1/messages HTTP/1.1\r\nHost: x\r\n"
V2_LINE = b"POST /api/v2/messages HTTP/1.1\r\nHost: x\r\n"
LENGTHS = [b"Content-Length: %d\r\n", b"content-length:%d\r\n", b"Content-Length:  0%d\r\n", b"CONTENT-LENGTH: %d \r\n"]

heads = st.sampled_from(
    [
        *[V1_LINE + V1 + JSON + length for length in LENGTHS],
        V1_LINE + LENGTHS[0] + V1 + JSON,
        V1_LINE + V1 + b"X: Content-Length: 3\r\n" + LENGTHS[0],
        V1_LINE + V1 + LENGTHS[0] + b"X-Forwarded-For: 198.51.100.1\r\n",
        V1_LINE + V1 + LENGTHS[0] + b"X-Request-Id: mine\r\n",
        V1_LINE + V1 + LENGTHS[0] + b"Connection: close\r\n",
        V1_LINE + V1 + LENGTHS[0] + b"Content-Length: 3\r\n",
        V1_LINE + V1 + LENGTHS[0] + b"Transfer-Encoding: chunked\r\n",
        V1_LINE + V1 + b"X-Content-Length: 3\r\n" + LENGTHS[0],
        V2_LINE + V2 + FORM + LENGTHS[0],
        b"\r\n" + V1_LINE + V1 + LENGTHS[0],
        V1_LINE + V1 + V1 + LENGTHS[0],
        V1_LINE + V1 + LENGTHS[0] + b"Host: y\r\n",
        V1_LINE.replace(b"Host: x\r\n", b"") + V1 + LENGTHS[0],
        V1_LINE.replace(b"Host: x", b"Host: x y") + V1 + LENGTHS[0],
        b"POST /x HTTP/1.1\r\nHost: x\r\n" + LENGTHS[0],
        b"GET /x HTTP/1.1\r\nHost: x\r\n" + LENGTHS[0],
    ]
)
bodies = st.sampled_from(
    [
        BODY, BODY.replace(b"Hello", b"Hi"), BODY.replace(b"Hello", b"x" * 300), b"", b"\r\n", b"\r\n\r\n" + BODY, GOOD,
        b"\r\n\r\nPOST ", b"to=447700900123&from=Helio&content=Hi", b"x" * (SHORT_BODY + 1), BODY + b"\r\n",
    ]
)  # fmt: skip
requests = st.tuples(heads, bodies, st.sampled_from([0, 0, 0, 0, -1, 1])).map(
    lambda parts: parts[0] % max(0, len(parts[1]) + parts[2]) + b"\r\n" + parts[1]
)


@given(
    runs=st.lists(st.tuples(requests, st.integers(1, 3)), min_size=1, max_size=4),
    joined=st.lists(st.booleans(), max_size=6),
    sizes=st.lists(st.sampled_from([0, 0, 1, 20, 150, 300]), max_size=8),
    patient=st.lists(st.booleans(), max_size=4),
)
@example(runs=[(GOOD, 3)], joined=[], sizes=[], patient=[True])
@example(runs=[(GOOD + b"\r\n", 3)], joined=[], sizes=[], patient=[True])
@example(runs=[(GOOD.replace(V1, V1 + b"Connection: close\r\n"), 3)], joined=[], sizes=[], patient=[False])
def test_a_familiar_head_is_the_parsed_one(
    runs: list[tuple[bytes, int]], joined: list[bool], sizes: list[int], patient: list[bool]
) -> None:
    pieces: list[bytes] = []
    for number, request in enumerate(request for request, times in runs for _ in range(times)):
        if pieces and joined and joined[number % len(joined)]:
            pieces[-1] += request
        else:
            pieces.append(request)
    wanted = [part for number, piece in enumerate(pieces) for part in cut(piece, sizes[number : number + 1])]

    async def both() -> None:
        familiar = await outcome(fast, wanted, patient, 0, connections=2)
        assert familiar == await outcome(usual, wanted, patient, 0, connections=2)

    asyncio.run(both())


async def test_it_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    line = await opened(fast)
    await line.hear(GOOD)
    await line.settle()
    line.connection._parser = None
    monkeypatch.setattr(httptools, "HttpRequestParser", None)
    for content in (b"Hello", b"x", b"a longer text, of another length"):
        await send(line, BODY.replace(b"Hello", content))
    assert [status for status, _, _ in line.answers()] == [b"HTTP/1.1 200 OK"] * 4
    assert len(line.gateway.intake.accepted) == 4


async def test_it_is_known_on_other_connections_too(monkeypatch: pytest.MonkeyPatch) -> None:
    line = await opened(fast)
    goodbye = GOOD.replace(V1, V1 + b"Connection: close\r\n")
    await line.hear(goodbye)
    await line.settle()
    monkeypatch.setattr(httptools, "HttpRequestParser", None)
    other = line.another()
    await other.hear(goodbye)
    await other.settle()
    for each in (line, other):
        assert [status for status, _, _ in each.answers()] == [b"HTTP/1.1 200 OK"]
        assert each.wire.over, "as its head wants it"
    assert len(line.gateway.intake.accepted) == 2


async def test_whoever_sends_a_known_head_from_elsewhere_is_not_admitted_by_it() -> None:
    line = await opened(fast)
    await line.gateway.change_account(networks=("192.0.2.7/32",))
    await line.hear(GOOD)
    await line.settle()
    other = line.another("198.51.100.1")
    await other.hear(GOOD)
    await other.settle()
    statuses = [each.answers()[0][0] for each in (line, other)]
    assert statuses == [b"HTTP/1.1 200 OK", b"HTTP/1.1 403 Forbidden"]


async def test_what_changes_about_the_account_counts_at_once() -> None:
    line = await opened(fast)
    await line.hear(GOOD)
    await line.settle()
    await line.gateway.change_account(suspended=True)
    await send(line, BODY)
    assert [status for status, _, _ in line.answers()] == [b"HTTP/1.1 200 OK", b"HTTP/1.1 403 Forbidden"]


async def test_a_watched_send_is_parsed_again() -> None:
    line = await opened(fast)
    asked: list[bool] = []

    def choose(headers: Headers) -> bool:
        asked.append((b"content-length", b"%d" % len(BODY)) in headers)
        return False

    await line.hear(GOOD)
    await line.settle()
    short_cut = line.connection.state.short_cut
    assert isinstance(short_cut, FastSends)
    short_cut.choose = choose
    await line.hear(GOOD)
    await line.settle()
    assert asked == [True]


async def send(line: Line, body: bytes) -> None:
    head = V1_LINE + V1 + JSON + b"Content-Length: %d\r\n\r\n"
    assert head % len(BODY) + BODY == GOOD
    await line.hear(head % len(body) + body)
    await line.settle()


HEAD = b"POST /api/v1/messages HTTP/1.1\r\nA: b\r\nContent-Length: 3\r\nC: d\r\n\r\n"


def plain(length: bytes | None = b"3") -> Head:
    """A send whose credentials were right."""
    send = Head(doors.V1, b"/api/v1/messages", [])
    send.length = length
    view = AccountView(Account(1, "acme", "", b""), (), {}, ZoneInfo("UTC"), None, Tariff(None, PlanPrices(())))
    send.proven = Proven("acme", b"", Principal(view, doors.V1), generation=0, until=0.0)
    return send


@pytest.mark.parametrize(
    "octets",
    [
        b"\r\n" + HEAD + b"abc", HEAD + b"abcd", HEAD + b"ab", HEAD + b"abc\r\n", HEAD.replace(b"3", b"03") + b"abc",
        HEAD.replace(b"A: b", b"A: " + b"b" * LONGEST_HEAD) + b"abc", HEAD.replace(b"\r\nC: d", b" \r\nC: d") + b"abc",
        HEAD.replace(b"Length: 3", b"Length:3") + b"abc", b"abc",
    ],
)  # fmt: skip
def test_what_is_not_exactly_one_request_is_not_learned(octets: bytes) -> None:
    assert not Heads(20).learn(plain(), octets)


def test_a_head_is_not_learned_without_its_length_or_its_sender_or_with_an_id_of_its_own() -> None:
    nameless, named = plain(), plain()
    nameless.proven = None
    named.request_id = b"mine"
    for send in (plain(None), nameless, named):
        assert not Heads(20).learn(send, HEAD + b"abc")


@pytest.mark.parametrize(
    ("octets", "body"),
    [
        (HEAD + b"xyz", b"xyz"),
        (HEAD.replace(b"3", b"0"), b""),
        (HEAD.replace(b"3", b"00012") + b"x" * 12, b"x" * 12),
        (HEAD.replace(b"3", b"000012") + b"x" * 12, None),
        (HEAD.replace(b"3", b"20") + b"x" * 20, b"x" * 20),
        (HEAD.replace(b"3", b"21") + b"x" * 21, None),
        (HEAD.replace(b"3", b"-3") + b"xyz", None),
        (HEAD.replace(b"3", b"+3") + b"xyz", None),
        (HEAD.replace(b"3", b"0x3") + b"xyz", None),
        (HEAD.replace(b"3", b"1_2") + b"x" * 12, None),
        (HEAD.replace(b"3", b"\xb3") + b"xyz", None),
        (HEAD.replace(b"3", b"") + b"xyz", None),
        (HEAD.replace(b"3", b"3 ") + b"xyz", None),
        (HEAD.replace(b"3", b"3\r\nX: y") + b"xyz", None),
        (HEAD.replace(b"C: d", b"C: e") + b"xyz", None),
        (HEAD.replace(b"A: b", b"a: b") + b"xyz", None),
        (HEAD.replace(b"C: d", b"Content-Length: 3") + b"xyz", None),
        (HEAD.replace(b"A: b", b"Content-Length: 3") + b"xyz", None),
        (HEAD.replace(b"Content-Length: 3\r\nC: d", b"C: d\r\nContent-Length: 3") + b"xyz", None),
        (HEAD.lower() + b"xyz", None),
        (HEAD + b"xy", None),
        (HEAD + b"xyz" + HEAD, None),
        (HEAD[:-1], None),
        (HEAD[:60], None),
        (b"", None),
    ],
)
def test_only_the_same_octets_with_a_whole_body_are_familiar(octets: bytes, body: bytes | None) -> None:
    heads, send = Heads(20), plain()
    assert heads.learn(send, HEAD + b"abc")
    assert heads.find(octets) == (None if body is None else (send, body))


def test_a_length_in_lower_case_is_one_too() -> None:
    heads, send = Heads(20), plain()
    lower = HEAD.replace(b"Content-Length", b"content-length")
    assert heads.learn(send, lower + b"abc")
    assert heads.find(lower + b"xyz") == (send, b"xyz")


def test_heads_that_nobody_sends_any_more_are_forgotten() -> None:
    heads, send = Heads(20), plain()
    heads.tick(0.0)
    heads.learn(send, HEAD + b"abc")
    heads.tick(GENERATION_S)
    assert heads.find(HEAD + b"xyz") is not None
    heads.tick(2 * GENERATION_S)
    assert heads.find(HEAD + b"xyz") is not None, "it has been sent since"
    heads.tick(3 * GENERATION_S)
    heads.tick(3.5 * GENERATION_S)
    heads.tick(4 * GENERATION_S)
    assert heads.find(HEAD + b"xyz") is None


def test_no_more_heads_are_kept_than_two_generations() -> None:
    heads, send = Heads(20), plain()
    others = [HEAD.replace(b"A: b", b"A: %d" % number) + b"abc" for number in range(3 * HEADS_KEPT)]
    for octets in others:
        assert heads.learn(send, octets)
        assert heads.find(others[0]) is not None, "who sends again and again is remembered"
    assert HEADS_KEPT <= sum(heads.find(octets) is not None for octets in others) <= 2 * HEADS_KEPT
