"""What one client may have of the server's time: work on what is refused, requests, octets."""

import pytest

from heliograph.http import limits
from heliograph.http.asgi import Headers, Receive, Scope, Send, read_body, respond
from heliograph.http.connection import Connection
from heliograph.http.seat import LEAVING
from heliograph.http.server_state import ServerState
from heliograph.http.short_cut import Channel, DirectRequest, ShortCut
from heliograph.net.clients import OVER, ROOM, Clients, Shares
from heliograph.net.limits import BURST_S, MOST_WAIT_S, WORK_BURST_S, WORK_OF_HANDSHAKE_S, WORK_OF_OCTET_S
from heliograph.net.proxies import Proxies
from tests.unit.http.test_connection import GET, POST, HandLoop, Wire, Words, echo

HOSTILE, GOOD = "192.0.2.66", "192.0.2.1"
SHARE = 0.05
WORK = Shares(99, refused_work=SHARE)
COSTLY = SHARE * WORK_BURST_S
"""Seconds of work that a client may have at once."""


class Refusing:
    """An application that refuses everything, after `work`."""

    def __init__(self) -> None:
        self.work = 0.9 * COSTLY
        self.status = 400
        self.asked = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked += 1
        await read_body(receive, 1 << 21)
        await respond(scope, send, self.status, [(b"content-length", b"0")], b"", self.work)


class RefusingShortCut(ShortCut):
    """Takes every POST, and does as `Refusing` says."""

    def __init__(self, application: Refusing) -> None:
        self.application = application

    def take(self, channel: Channel, target: bytes, headers: Headers) -> DirectRequest | None:
        return RefusedRequest(channel, headers, self.application)


class RefusedRequest(DirectRequest):
    def __init__(self, channel: Channel, headers: Headers, application: Refusing) -> None:
        super().__init__(b"/x", headers)
        self.channel, self.application = channel, application

    def run(self, body: bytes) -> bool:
        self.application.asked += 1
        self.work = self.application.work
        self.channel.answer(self, self.application.status, b"content-length: 0\r\n\r\n")
        return True


class Rig:
    def __init__(self, shares: Shares, *, short: bool = True, proxies: Proxies | None = None) -> None:
        self.loop, self.words, self.application = HandLoop(), Words(), Refusing()
        self.clients = Clients(shares, self.words.note_turned_away)
        short_cut = RefusingShortCut(self.application) if short else None
        self.state = ServerState(
            self.application, self.words, self.clients, proxies, short_cut=short_cut, loop=self.loop
        )

    def connect(self, host: str) -> tuple[Connection, Wire]:
        wire, connection = Wire(host), Connection(self.state)
        connection.connection_made(wire)
        return connection, wire

    def ask(self, host: str = HOSTILE, octets: bytes = POST) -> int:
        """Status of the answer to a request on a new connection; 0 where there is none yet."""
        connection, wire = self.connect(host)
        connection.data_received(octets)
        self.loop.turn()
        status = int(wire.written.split()[1]) if wire.written else 0
        connection.connection_lost(None)
        return status

    def wait(self, seconds: float) -> None:
        self.loop.now += seconds
        self.state.tick(self.loop.now)
        self.loop.turn()


@pytest.mark.parametrize("short", [True, False], ids=["by the short cut", "by ASGI"])
def test_a_client_whose_refused_requests_take_too_long_has_to_wait_and_nobody_else(short: bool) -> None:
    rig = Rig(WORK, short=short)
    first, wire = rig.connect(HOSTILE)
    for _ in range(3):
        first.data_received(POST)
        rig.loop.turn()
    assert [int(each.split()[0]) for each in wire.written.split(b"HTTP/1.1 ")[1:]] == [400, 400, 429]
    assert rig.application.asked == 2
    assert rig.words.turned_away == [(OVER, HOSTILE)]
    assert rig.ask(GOOD) == 400
    rig.wait(2 * COSTLY / SHARE)
    assert rig.ask() == 400


def test_a_handshake_of_tls_without_a_request_counts_as_work() -> None:
    for scheme, owes in (("https", True), ("http", False)):
        words, loop = Words(), HandLoop()
        clients = Clients(Shares(refused_work=0.05), words.note_turned_away)
        state = ServerState(echo, words, clients, scheme=scheme, loop=loop)
        for octets in (b"", b"", GET, b"", b"GET"):
            connection = Connection(state)
            connection.connection_made(Wire())
            if octets:
                connection.data_received(octets)
                loop.turn()
            connection.connection_lost(None)
        load = clients.load("192.0.2.7")
        assert bool(clients.owing) == owes
        assert load.work_until == pytest.approx(100.0 + 4 * WORK_OF_HANDSHAKE_S / 0.05 if owes else 0.0)


def test_what_is_refused_at_once_is_not_counted() -> None:
    rig = Rig(WORK)
    rig.application.work = limits.FREE_WORK_S
    assert {rig.ask() for _ in range(1_000)} == {400}
    assert not rig.clients.owing


@pytest.mark.parametrize("status", [200, 503])
def test_what_is_not_refused_is_not_counted(status: int) -> None:
    rig = Rig(WORK)
    rig.application.status = status
    assert {rig.ask() for _ in range(9)} == {status}


def test_nothing_more_is_read_of_one_that_has_to_wait() -> None:
    rig = Rig(WORK)
    connection, wire = rig.connect(HOSTILE)
    for _ in range(3):
        connection.data_received(POST)
    assert wire.paused
    assert rig.ask() == 0, "nor of its next connection, whatever the loop does"
    other, its_wire = rig.connect(HOSTILE)
    other.data_received(POST)
    assert (its_wire.paused, its_wire.written) == (True, b"")
    rig.wait(COSTLY / SHARE - 0.1)
    assert wire.paused
    rig.wait(0.2)
    assert (wire.paused, its_wire.paused) == (False, False)
    assert int(its_wire.written.split()[1]) == 400


def test_no_more_than_some_of_its_connections_wait() -> None:
    rig = Rig(WORK)
    for _ in range(2):
        rig.ask()
    waiting = []
    while not rig.state.is_unwelcome(HOSTILE):
        waiting.append(rig.connect(HOSTILE))
        assert len(waiting) <= ROOM
    assert len(waiting) == ROOM
    assert not rig.state.is_unwelcome(GOOD)


def test_many_at_once_have_no_more_than_one_after_the_other() -> None:
    rig = Rig(WORK, short=False)
    rig.application.work = COSTLY / 2
    rig.ask()
    octets = round(COSTLY / 2 / WORK_OF_OCTET_S)
    head = POST[: POST.index(b"3")] + b"%d\r\n\r\n" % octets
    connections = [rig.connect(HOSTILE) for _ in range(4)]
    for connection, _ in connections:
        connection.data_received(head)
    refused = [int(wire.written.split()[1]) if wire.written else 0 for _, wire in connections]
    assert refused.count(429) >= 2
    rig.loop.turn()
    for connection, _ in connections:
        connection.connection_lost(None)
    rig.loop.turn()


def test_nobody_waits_for_long() -> None:
    rig = Rig(WORK)
    rig.application.work = 1_000.0
    rig.ask()
    rig.wait(MOST_WAIT_S + BURST_S)
    assert rig.ask() == 400


@pytest.mark.parametrize("shares", [Shares(99, requests=5), Shares(99, octets=15)], ids=["requests", "octets"])
@pytest.mark.parametrize("short", [True, False], ids=["by the short cut", "by ASGI"])
def test_requests_and_octets_a_second_are_limited_where_that_is_asked_for(shares: Shares, short: bool) -> None:
    rig = Rig(shares, short=short)
    rig.application.status = 200
    connection, wire = rig.connect(HOSTILE)
    for _ in range(9):
        connection.data_received(POST)
        rig.loop.turn()
        if wire.paused or wire.closing or connection.phase == LEAVING:
            break
    answers = [int(each.split()[0]) for each in wire.written.split(b"HTTP/1.1 ")[1:]]
    assert answers in ([200] * 5 + [429], [200] * 6 + [429])
    assert rig.ask(GOOD) == 200
    rig.wait(1.1)
    assert rig.ask() == 200


@pytest.mark.parametrize(
    ("proxies", "peer"),
    [(Proxies(["192.0.2.99"]), "192.0.2.99"), (None, "127.0.0.1"), (None, "::1")],
    ids=["trusted", "on this machine", "the same by IPv6"],
)
def test_behind_a_proxy_the_client_counts(proxies: Proxies | None, peer: str) -> None:
    rig = Rig(WORK, proxies=proxies)
    through = {
        who: POST.replace(b"x\r\n", b"x\r\nX-Forwarded-For: %b\r\n" % who.encode(), 1) for who in (HOSTILE, GOOD)
    }
    assert [rig.ask(peer, through[HOSTILE]) for _ in range(3)] == [400, 400, 429]
    assert [rig.ask(peer, through[GOOD]) for _ in range(2)] == [400, 400]


def test_a_stranger_cannot_pretend_to_be_a_proxy() -> None:
    rig = Rig(WORK)
    forged = POST.replace(b"x\r\n", b"x\r\nX-Forwarded-For: %b\r\n" % GOOD.encode(), 1)
    assert [rig.ask(HOSTILE, forged) for _ in range(2)] == [400, 400]
    assert rig.ask(HOSTILE, forged) == 0
    assert rig.ask(GOOD) == 400


def test_a_client_that_owes_is_remembered_without_a_connection_and_forgotten_when_it_has_paid() -> None:
    rig = Rig(WORK)
    rig.ask()
    rig.wait(COSTLY / SHARE / 2)
    assert list(rig.clients._by_name) == [HOSTILE]
    rig.wait(COSTLY / SHARE)
    assert (rig.clients._by_name, rig.clients.owing) == ({}, {})


def test_what_is_sent_after_the_last_answer_is_read_up_to_a_limit() -> None:
    rig = Rig(Shares(9))
    connection, wire = rig.connect(HOSTILE)
    connection.data_received(b"nonsense\r\n\r\n")
    for _ in range(limits.LEAVE_OCTETS >> 20):
        connection.data_received(bytes(1 << 20))
    assert not wire.closing
    connection.data_received(b"x")
    assert wire.closing


def test_a_path_may_be_so_long() -> None:
    rig = Rig(Shares(9), short=False)
    rig.application.status = 200
    target = b"/" * limits.MAX_TARGET_OCTETS
    assert rig.ask(GOOD, b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n" % target) == 200
    assert rig.ask(GOOD, b"GET %b/ HTTP/1.1\r\nHost: x\r\n\r\n" % target) == 400
