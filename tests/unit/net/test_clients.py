"""Who makes room for whom: many connections on one server, from addresses of our choice."""

from collections.abc import Iterator

import pytest

from heliograph.http.connection import Connection
from heliograph.http.limits import SPARE_TIMEOUT_S
from heliograph.http.server_state import ServerState
from heliograph.net.clients import FULL, IDLE, TOO_MANY, UNFINISHED, Clients, Shares
from heliograph.net.limits import UNFINISHED_SPARE_S
from heliograph.net.proxies import Proxies
from tests.unit.http.test_connection import GET, POST, HandLoop, Wire, Words, echo

HALF = POST[:20]
HALF_OF_BODY = POST[:-1]
"""For servers that are busy: the application is not called."""
FRESH = UNFINISHED_SPARE_S
HOSTILE, GOOD = "192.0.2.66", "192.0.2.1"


_loops: list[HandLoop] = []


@pytest.fixture(autouse=True)
def _nothing_is_left_undone() -> Iterator[None]:
    yield
    while _loops:
        _loops.pop().turn()


class Crowd:
    """A server, and whoever connects to it."""

    def __init__(self, shares: Shares, *, busy: bool = False, proxies: Proxies | None = None) -> None:
        self.loop, self.words = HandLoop(), Words()
        self.clients = Clients(shares, self.words.note_turned_away)
        self.state = ServerState(echo, self.words, self.clients, proxies, loop=self.loop)
        self.state.now = self.loop.now
        self.busy = busy
        """Whether requests stay unanswered."""
        _loops.append(self.loop)

    def connect(self, host: str = HOSTILE, octets: bytes = b"") -> Wire:
        """Opens a connection, which writes `octets`."""
        wire = Wire(host)
        wire.connection = Connection(self.state)  # type: ignore[attr-defined]
        wire.connection.connection_made(wire)  # type: ignore[attr-defined]
        if octets and not wire.closing:
            self.hear(wire, octets)
        return wire

    def hear(self, wire: Wire, octets: bytes) -> None:
        wire.connection.data_received(octets)  # type: ignore[attr-defined]
        if not self.busy:
            self.loop.turn()

    def wait(self, seconds: float) -> None:
        """Lets time pass, and the server look at its connections."""
        self.loop.now += seconds
        self.state.tick(self.loop.now)

    def lose(self, wire: Wire) -> None:
        wire.connection.connection_lost(None)  # type: ignore[attr-defined]


def status(wire: Wire) -> int:
    return int(wire.written.split()[1])


def test_one_address_may_have_so_many_connections() -> None:
    crowd = Crowd(Shares(9, 2), busy=True)
    first, second = crowd.connect(octets=GET), crowd.connect(octets=GET)
    third = crowd.connect()
    assert (status(third), third.closing) == (429, True)
    assert not first.closing
    assert not second.closing
    assert crowd.words.turned_away == [(TOO_MANY, HOSTILE)]
    assert not crowd.connect(GOOD).closing
    crowd.lose(third)
    crowd.lose(first)
    assert not crowd.connect().closing, "one that has gone counts no more"


def test_addresses_of_one_subscriber_count_together() -> None:
    crowd = Crowd(Shares(9, 1), busy=True)
    crowd.connect("2001:db8::1", GET)
    assert crowd.connect("2001:db8::2").closing
    assert not crowd.connect("2001:db8:0:1::1").closing


def test_its_slowest_unfinished_request_makes_room_for_another_of_its_own() -> None:
    crowd = Crowd(Shares(9, 2))
    slow = crowd.connect(octets=HALF)
    crowd.wait(FRESH + 0.1)
    other = crowd.connect(octets=HALF)
    assert not crowd.connect().closing
    assert (slow.closing, other.closing) == (True, False)
    assert crowd.words.turned_away == [(UNFINISHED, HOSTILE)]


def test_its_longest_idle_connection_makes_room_where_nothing_is_unfinished() -> None:
    crowd = Crowd(Shares(9, 2))
    idle, other = crowd.connect(octets=GET), crowd.connect(octets=GET)
    crowd.wait(SPARE_TIMEOUT_S - 1)
    crowd.hear(other, GET)
    assert crowd.connect().closing
    crowd.wait(1.1)
    assert not crowd.connect().closing
    assert (idle.closing, other.closing) == (True, False)
    assert crowd.words.turned_away == [(TOO_MANY, HOSTILE), (IDLE, HOSTILE)]


def test_the_slowest_of_too_many_unfinished_requests_are_closed() -> None:
    crowd = Crowd(Shares(99, 0, 2), busy=True)
    slow = [crowd.connect(octets=HALF_OF_BODY if number % 2 else HALF) for number in range(4)]
    good = crowd.connect(GOOD, HALF)
    assert not any(each.closing for each in slow), "requests come in pieces: fresh ones are no matter"
    crowd.wait(FRESH + 0.1)
    assert [each.closing for each in slow] == [True, True, False, False]
    assert not good.closing
    another = crowd.connect(octets=HALF)
    assert [each.closing for each in slow] == [True, True, True, False]
    assert not another.closing
    assert crowd.words.turned_away == [(UNFINISHED, HOSTILE)] * 3


def test_a_request_that_becomes_whole_is_unfinished_no_more() -> None:
    crowd = Crowd(Shares(99, 0, 1))
    first = crowd.connect(octets=HALF)
    crowd.hear(first, POST[20:])
    crowd.wait(FRESH + 0.1)
    second = crowd.connect(octets=HALF)
    crowd.hear(first, GET + HALF)
    assert set(crowd.clients.unfinished) == {second.connection, first.connection}  # type: ignore[attr-defined]
    crowd.wait(FRESH / 2)
    crowd.hear(first, POST[20:] + HALF)
    assert next(iter(crowd.clients.unfinished)) is second.connection, "each request is as old as itself"  # type: ignore[attr-defined]


def test_what_the_server_owes_an_answer_is_not_unfinished() -> None:
    crowd = Crowd(Shares(1), busy=True)
    owed = crowd.connect(octets=GET + HALF)
    assert not crowd.clients.unfinished
    crowd.wait(FRESH + 0.1)
    late = crowd.connect(GOOD)
    assert (status(late), owed.closing) == (503, False)
    crowd.busy = False
    crowd.loop.turn()
    assert crowd.clients.unfinished, "now the rest of the second is waited for"


def test_a_full_server_takes_the_place_of_the_slowest_unfinished_request() -> None:
    crowd = Crowd(Shares(2))
    idle = crowd.connect(GOOD, GET)
    crowd.wait(SPARE_TIMEOUT_S + 1)
    slow = crowd.connect("192.0.2.2", HALF)
    crowd.wait(FRESH + 0.1)
    assert not crowd.connect().closing
    assert (slow.closing, idle.closing) == (True, False)


def test_a_newcomer_takes_the_place_of_whoever_has_the_most() -> None:
    crowd = Crowd(Shares(4))
    greedy = [crowd.connect(octets=each) for each in (GET, GET, HALF)]
    good = crowd.connect(GOOD, GET)
    assert crowd.connect().closing, "one who has the most makes no room for itself"
    assert not crowd.connect("192.0.2.2").closing
    assert [each.closing for each in greedy].count(True) == 1
    assert not good.closing


def test_nobody_is_closed_who_is_owed_an_answer_nor_for_one_who_has_as_much() -> None:
    crowd = Crowd(Shares(2), busy=True)
    first, second = crowd.connect(octets=GET), crowd.connect(octets=GET)
    late = crowd.connect(GOOD)
    assert [first.closing, second.closing, status(late)] == [False, False, 503]
    assert crowd.words.turned_away == [(FULL, GOOD)]
    crowd = Crowd(Shares(2))
    first, second = crowd.connect("192.0.2.2"), crowd.connect("192.0.2.3")
    assert status(crowd.connect(GOOD)) == 503
    assert [first.closing, second.closing] == [False, False]


def test_a_trusted_proxy_is_not_one_client() -> None:
    crowd = Crowd(Shares(9, 2, 1), busy=True, proxies=Proxies(["127.0.0.1"]))
    named = HALF_OF_BODY.replace(b"Host: x", b"Host: x\r\nX-Forwarded-For: 192.0.2.66")
    through = [crowd.connect("127.0.0.1", each) for each in (named, named, HALF[:9], HALF[:9])]
    other = crowd.connect("127.0.0.1", named.replace(b"192.0.2.66", b"192.0.2.1"))
    crowd.wait(FRESH + 0.1)
    assert [each.closing for each in through] == [True, False, False, False]
    assert not other.closing
    assert crowd.words.turned_away == [(UNFINISHED, HOSTILE)]


def test_one_that_was_answered_and_goes_on_makes_room() -> None:
    crowd = Crowd(Shares(1))
    leaving = crowd.connect(octets=b"nonsense\r\n\r\n")
    assert (status(leaving), leaving.closing) == (400, False)
    crowd.wait(FRESH + 0.1)
    assert not crowd.connect(GOOD).closing
    assert leaving.closing


@pytest.mark.parametrize("octets", [b"", GET, HALF, b"nonsense\r\n\r\n"])
def test_nothing_is_kept_of_those_who_have_gone(octets: bytes) -> None:
    crowd = Crowd(Shares(9))
    crowd.lose(crowd.connect(octets=octets))
    assert (crowd.clients.connections, crowd.clients.unfinished, crowd.clients._by_name) == (set(), {}, {})
