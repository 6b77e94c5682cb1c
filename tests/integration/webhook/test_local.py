"""The sender against real receivers on loopback."""

import asyncio
import errno
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from ipaddress import IPv4Address, ip_address
from itertools import pairwise
from typing import Any, cast

import msgspec
import pytest

from heliograph.adapters.webhook.local import LocalSender, WebhookLimits, WebhookSettings
from heliograph.http_client.dial import ConnectionSlot, Dialer
from heliograph.http_client.origin import FEED
from heliograph.http_client.request import OriginAddress
from heliograph.net.address_guard import IPAddress
from tests.support.ports import free_port
from tests.support.sink import Answer, Sink
from tests.support.timeouts import PATIENCE_S
from tests.support.webhook_jobs import SECRET, Results, make_job, until

LOOPBACK = WebhookSettings(allowed=("127.0.0.1/32",))

Open = Callable[..., LocalSender]


def limited(**changes: float) -> WebhookSettings:
    return WebhookSettings(LOOPBACK.allowed, limits=msgspec.structs.replace(WebhookLimits(), **changes))


@pytest.fixture
async def sink() -> AsyncIterator[Sink]:
    async with Sink() as sink:
        yield sink


@pytest.fixture
async def open_sender() -> AsyncIterator[Open]:
    """Makes senders and closes them at the end without waiting for what hangs."""
    senders: list[LocalSender] = []

    def make(
        settings: WebhookSettings = LOOPBACK, lookup: Callable[[str], Awaitable[list[IPAddress]]] | None = None
    ) -> LocalSender:
        settings = msgspec.structs.replace(
            settings, limits=msgspec.structs.replace(settings.limits, drain_seconds=0.01)
        )
        senders.append(LocalSender(settings, lookup) if lookup else LocalSender(settings))
        return senders[-1]

    yield make
    for sender in senders:
        await sender.close()
        shared = sender._client._shared
        assert (shared.connections, shared.waiting, sender._outstanding) == (0, 0, 0)
        assert not shared.tasks


async def test_delivered_and_signed(sink: Sink, open_sender: Open) -> None:
    sender = open_sender()
    results = Results(sender)
    sender.post([make_job(1, sink.url("/a?b=c"), secrets=(SECRET, b"n" * 32))])
    assert await results.code(1) == 200
    (received,) = sink.requests
    assert (received.method, received.target) == ("POST", "/a?b=c")
    assert received.form == {"id": "1", "err": "000"}
    assert received.headers["content-type"] == "application/x-www-form-urlencoded"
    assert received.headers["webhook-id"] == "dlr_1"
    assert received.headers["host"] == f"127.0.0.1:{sink.port}"
    assert sink.signed_by(received, SECRET)
    assert sink.signed_by(received, b"n" * 32)
    assert not sink.signed_by(received, b"x" * 32)


@pytest.mark.parametrize("status", [200, 202, 299, 301, 302, 307, 308, 400, 404, 410, 429, 500, 503, 599])
async def test_every_status_is_told_and_no_redirect_followed(sink: Sink, open_sender: Open, status: int) -> None:
    sink.script(Answer(status, {"Location": sink.url("/elsewhere")}))
    sender = open_sender()
    results = Results(sender)
    sender.post([make_job(1, sink.url())])
    (sent,) = await results.of(1)
    assert (sent.code, sent.busy) == (status, False)
    assert sent.problem == ("" if 200 <= status < 300 else f"HTTP {status}")
    sender.post([make_job(2, sink.url())])
    assert await results.code(2) == 200
    assert [received.target for received in sink.requests] == ["/", "/"]
    assert sink.connections == 1


async def test_many_share_few_connections(sink: Sink, open_sender: Open) -> None:
    sender = open_sender()
    results = Results(sender)
    sender.post([make_job(key, sink.url(f"/{key}"), body=b"x" * key) for key in range(1000)])
    await results.of(*range(1000))
    assert {sent.code for sent in results.by_key.values()} == {200}
    assert sorted(received.target for received in sink.requests) == sorted(f"/{key}" for key in range(1000))
    assert {received.target: len(received.body) for received in sink.requests} == {f"/{n}": n for n in range(1000)}
    assert sink.connections <= WebhookLimits().connections_per_origin


async def test_one_at_a_time_use_one_connection(sink: Sink, open_sender: Open) -> None:
    sender = open_sender()
    results = Results(sender)
    for key in range(20):
        sender.post([make_job(key, sink.url())])
        assert await results.code(key) == 200
    assert sink.connections == 1


async def test_a_resting_connection_that_was_closed_meanwhile(sink: Sink, open_sender: Open) -> None:
    sink.script(Answer(), Answer(raw=b"", close=True))
    sender = open_sender()
    results = Results(sender)
    for key in (1, 2):
        sender.post([make_job(key, sink.url())])
        assert await results.code(key) == 200
    assert len(sink.requests) == 3
    assert sink.connections == 2
    first, second = sink.requests[1:]
    assert first.headers["webhook-id"] == second.headers["webhook-id"]


async def test_only_one_more_time(sink: Sink, open_sender: Open) -> None:
    sink.script(Answer(), Answer(raw=b"", close=True), Answer(raw=b"", close=True))
    sender = open_sender()
    results = Results(sender)
    sender.post([make_job(1, sink.url())])
    await results.of(1)
    sender.post([make_job(2, sink.url())])
    assert "closed the connection" in await results.problem(2)
    assert len(sink.requests) == 3


async def test_a_receiver_that_restarts(sink: Sink, open_sender: Open) -> None:
    sender = open_sender()
    results = Results(sender)
    sender.post([make_job(key, sink.url()) for key in range(50)])
    await results.of(*range(50))
    await sink.drop_connections()
    sender.post([make_job(key, sink.url()) for key in range(50, 100)])
    assert {sent.code for sent in await results.of(*range(50, 100))} == {200}


BROKEN = {
    "closed": (Answer(raw=b"", close=True), "closed the connection"),
    "reset": (Answer(raw=b"", reset=True), "closed the connection"),
    "reset in the head": (Answer(raw=b"HTTP/1.1 200 O", reset=True), "closed the connection"),
    "garbage": (Answer(raw=b"\x00\x01nonsense\r\n\r\n"), "not HTTP"),
    "huge head": (Answer(raw=b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000 + b"\r\n\r\n"), "too long"),
    "many headers": (Answer(raw=b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000 + b"\r\n"), "too long"),
}


@pytest.mark.parametrize(("answer", "problem"), BROKEN.values(), ids=list(BROKEN))
async def test_broken_answers(sink: Sink, open_sender: Open, answer: Answer, problem: str) -> None:
    sink.script(answer)
    sender = open_sender()
    results = Results(sender)
    sender.post([make_job(1, sink.url())])
    assert problem in await results.problem(1)
    sender.post([make_job(2, sink.url())])
    assert await results.code(2) == 200
    assert len(sink.requests) == 2


TOLD_BY_THE_HEAD = {
    "reset in the body": Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nx", reset=True),
    "HTTP/1.0": Answer(raw=b"HTTP/1.0 200 OK\r\n\r\nbye", close=True),
    "close": Answer(headers={"Connection": "close"}, close=True),
    "close that is not done": Answer(headers={"Connection": "close"}),
    "endless body": Answer(raw=b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1_000_000),
    "half a body": Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nx"),
}


@pytest.mark.parametrize("answer", TOLD_BY_THE_HEAD.values(), ids=list(TOLD_BY_THE_HEAD))
async def test_the_head_tells_all_and_the_connection_goes(sink: Sink, open_sender: Open, answer: Answer) -> None:
    sink.script(answer)
    sender = open_sender(limited(rest_seconds=0.01))
    results = Results(sender)
    sender.post([make_job(1, sink.url())])
    assert await results.code(1) == 200
    await sink.wait_until(lambda: sink.open == 0)
    sender.post([make_job(2, sink.url())])
    assert await results.code(2) == 200
    assert sink.connections == 2


async def test_no_answer_in_time(sink: Sink, open_sender: Open) -> None:
    sink.script(Answer(hang=True))
    sender = open_sender(limited(try_seconds=0.2))
    results = Results(sender)
    sender.post([make_job(1, sink.url())])
    assert await results.problem(1) == "no answer within 0.2 s"
    await sink.wait_until(lambda: sink.open == 0)


async def test_nobody_there(open_sender: Open) -> None:
    sender = open_sender()
    results = Results(sender)
    sender.post([make_job(1, f"http://127.0.0.1:{free_port()}/")])
    assert await results.problem(1) == "connection refused"


async def test_who_finds_a_full_line_is_told_when_there_will_be_room(open_sender: Open) -> None:
    async with Sink(Answer(delay=0.01)) as sink:
        sender = open_sender(limited(connections_per_origin=1, waiting=10_000, waiting_per_origin=500))
        results = Results(sender)
        sender.post([make_job(key, sink.url()) for key in range(600)])
        first = await results.of(*range(550, 600))
        assert {(sent.busy, sent.room) for sent in first} == {(True, 0.0)}, "nobody knows yet how fast it is"
        (origin,) = sender._client._origins()
        await until(lambda: origin._rate > 5)  # so that nobody is sent away for as long as may be
        rate = origin._rate
        sender.post([make_job(key, sink.url()) for key in range(1_000, 2_000)])
        told = [sent.room for sent in await results.of(*range(1_600, 2_000))]
        gaps = [later - earlier for earlier, later in pairwise(told)]
        assert min(gaps) > 0, "one after the other"
        assert max(gaps) == pytest.approx(min(gaps))
        assert gaps[0] == pytest.approx(1 / (rate * FEED)), "at the rate at which it answers"
        assert told[0] > 100 * gaps[0], "when half of those before are over"


async def test_slow_receivers_hold_up_nobody(sink: Sink, open_sender: Open) -> None:
    gate = asyncio.Event()
    slow = [Sink(Answer(gate=gate)) for _ in range(6)]
    for one in slow:
        await one.start()
    # Each of the slow ones would take all connections and all places in line for itself.
    sender = open_sender(limited(connections=256, connections_per_origin=256, waiting=64, waiting_per_origin=64))
    results = Results(sender)
    sender.post([make_job(1_000 * n + k, one.url()) for n, one in enumerate(slow, 1) for k in range(200)])
    for one in slow:
        await one.wait_for(1)
    await until(lambda: not sender._client._shared.tasks)
    for key in range(100):
        sender.post([make_job(key, sink.url())])
        assert await results.code(key) == 200
    assert all(sent.busy for key, sent in results.by_key.items() if key >= 1_000)
    assert sum(one.open for one in slow) <= 26
    gate.set()
    await results.until(lambda: len(results.by_key) == 1_300)
    assert sum(sent.code == 200 for key, sent in results.by_key.items() if key >= 1_000) > 16
    for one in slow:
        await one.stop()


async def test_who_finds_no_connection_gets_one_when_there_is_one(sink: Sink, open_sender: Open) -> None:
    gate = asyncio.Event()
    async with Sink(Answer(gate=gate)) as slow:
        sender = open_sender(limited(connections=1))
        results = Results(sender)
        sender.post([make_job(1, slow.url())])
        await slow.wait_for(1)
        sender.post([make_job(2, sink.url())])
        gate.set()
        assert [sent.code for sent in await results.of(1, 2)] == [200, 200]
        assert results.order == [1, 2]


async def test_too_many_for_one_receiver_come_back_at_once(sink: Sink, open_sender: Open) -> None:
    gate = asyncio.Event()
    sink.default = Answer(gate=gate)
    sender = open_sender(limited(connections_per_origin=1, waiting_per_origin=3))
    results = Results(sender)
    sender.post([make_job(1, sink.url())])
    await sink.wait_for(1)
    sender.post([make_job(key, sink.url()) for key in range(2, 10)])
    refused = await results.of(*range(5, 10))
    assert all(sent.busy and sent.code == 0 and sent.problem for sent in refused)
    assert len(results.by_key) == 5
    gate.set()
    assert [sent.code for sent in await results.of(1, 2, 3, 4)] == [200] * 4
    assert [received.headers["webhook-id"] for received in sink.requests] == ["dlr_1", "dlr_2", "dlr_3", "dlr_4"]


async def test_who_waits_too_long_comes_back_untried(sink: Sink, open_sender: Open) -> None:
    gate = asyncio.Event()
    sender = open_sender(limited(connections_per_origin=1, wait_seconds=0.05))
    results = Results(sender)
    key = 0
    while not any(sent.code for sent in results.by_key.values()):  # until there is a connection, which takes its time
        key += 1
        sender.post([make_job(key, sink.url())])
        await results.of(key)
    sink.default = Answer(gate=gate)
    sender.post([make_job(key + 1, sink.url()), make_job(key + 2, sink.url())])
    (second,) = await results.of(key + 2)
    assert second.busy
    gate.set()
    assert await results.code(key + 1) == 200
    assert [received.headers["webhook-id"] for received in sink.requests] == [f"dlr_{key}", f"dlr_{key + 1}"]


async def test_a_dead_receiver_is_left_alone_and_asked_by_one(open_sender: Open) -> None:
    gate = asyncio.Event()
    sink = Sink(Answer(gate=gate))
    await sink.start(free_port())
    await sink.stop()
    sender = open_sender(limited(breaker_failures=5, breaker_seconds=0.2, breaker_longest_seconds=0.2))
    results = Results(sender)
    sender.post([make_job(key, sink.url()) for key in range(100)])
    await results.of(*range(100))
    assert {(sent.problem, sent.busy) for sent in results.by_key.values()} == {("connection refused", False)}
    await sink.start(sink.port)
    key = 100
    while not sink.requests:  # the pause goes by
        sender.post([make_job(key + n, sink.url()) for n in range(5)])
        await asyncio.sleep(0.02)
        key += 5
    probes = [received.headers["webhook-id"] for received in sink.requests]
    assert len(probes) == 1
    sender.post([make_job(key, sink.url())])
    assert (await results.of(key))[0].busy
    gate.set()
    await results.of(*range(100, key))
    sender.post([make_job(key + n, sink.url()) for n in range(1, 50)])
    assert {sent.code for sent in await results.of(*range(key + 1, key + 50))} == {200}
    await sink.stop()


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_an_overloaded_receiver_is_left_alone(sink: Sink, open_sender: Open, status: int) -> None:
    sink.default = Answer(status)
    sender = open_sender(limited(breaker_failures=5))
    results = Results(sender)
    for key in range(6):
        sender.post([make_job(key, sink.url())])
        await results.of(key)
    assert [results.by_key[key].busy for key in range(6)] == [False] * 5 + [True]


async def test_the_text_of_an_answer_comes_back_where_it_is_wanted(sink: Sink, open_sender: Open) -> None:
    text = {"Content-Type": "text/plain; charset=latin-1"}
    sink.default = Answer(200, text, "Grüße".encode("latin-1"))
    sender = open_sender()
    results = Results(sender)
    jobs = [make_job(key, sink.url()) for key in range(4)]
    for job in jobs[1::2]:
        job.wants_reply = True
    for job in jobs:
        sender.post([job])
        await results.of(job.key)
    assert [results.by_key[key].reply for key in range(4)] == ["", "Grüße", "", "Grüße"]
    assert sink.connections == 1
    sink.script(Answer(200, text, b"x" * (WebhookLimits().reply_octets + 1)))
    jobs[1].key = 5
    sender.post([jobs[1]])
    (result,) = await results.of(5)
    assert (result.code, result.reply) == (200, "")
    assert "more than 16384 octets" in result.problem


@pytest.mark.parametrize("status", [200, 302, 400, 404, 410, 500])
async def test_a_wrong_url_does_not_harm_its_neighbours(sink: Sink, open_sender: Open, status: int) -> None:
    sink.default = Answer(status)
    sender = open_sender(limited(breaker_failures=5))
    results = Results(sender)
    for key in range(20):
        sender.post([make_job(key, sink.url())])
        assert await results.code(key) == status


async def test_idle_connections_are_closed(sink: Sink, open_sender: Open) -> None:
    sender = open_sender(limited(idle_seconds=0.05))
    results = Results(sender)
    sender.post([make_job(1, sink.url())])
    assert await results.code(1) == 200
    await sink.wait_until(lambda: sink.open == 0)


class Sparing:
    """A dialer that succeeds so many times and fails with this error from then on."""

    def __init__(self, dialer: Dialer, times: int, error: OSError) -> None:
        self._dialer = dialer
        self._left = times
        self._error = error
        self.asked = 0

    async def dial(self, address: OriginAddress, factory: Callable[[], asyncio.Protocol], slot: ConnectionSlot) -> None:
        self.asked += 1
        if self._left == 0:
            raise self._error
        self._left -= 1
        await self._dialer.dial(address, factory, slot)


async def test_a_receiver_that_takes_few_connections_gets_all_through_those(sink: Sink, open_sender: Open) -> None:
    sender = open_sender()
    sparing = Sparing(sender._client._shared.dialer, 2, ConnectionRefusedError())
    sender._client._shared.dialer = cast("Dialer", sparing)
    results = Results(sender)
    sink.default = Answer(delay=0.01)
    sender.post([make_job(key, sink.url()) for key in range(20)])
    assert {sent.code for sent in await results.of(*range(20))} == {200}
    assert sink.connections == 2
    assert sparing.asked <= 20


async def test_a_gateway_without_a_free_file_does_not_blame_the_receiver(sink: Sink, open_sender: Open) -> None:
    sender = open_sender()
    sparing = Sparing(sender._client._shared.dialer, 0, OSError(errno.EMFILE, "too many open files"))
    dialer, sender._client._shared.dialer = sender._client._shared.dialer, cast("Dialer", sparing)
    results = Results(sender)
    sender.post([make_job(key, sink.url()) for key in range(100)])
    assert all(sent.busy for sent in await results.of(*range(100)))
    sender._client._shared.dialer = dialer
    sender.post([make_job(100, sink.url())])
    assert await results.code(100) == 200


# --- where to


async def test_loopback_is_refused_unless_allowed(sink: Sink, open_sender: Open) -> None:
    sender = open_sender(WebhookSettings())
    results = Results(sender)
    urls = [sink.url(), sink.url(host="localhost"), sink.url(host="2130706433"), sink.url(host="[::ffff:127.0.0.1]")]
    sender.post([make_job(key, url) for key, url in enumerate(urls)])
    for key in range(len(urls)):
        assert await results.problem(key) == "its address is refused: loopback"
    assert sink.connections == 0


async def test_urls_that_cannot_be_used(open_sender: Open) -> None:
    sender = open_sender()
    results = Results(sender)
    sender.post([make_job(1, "nonsense"), make_job(2, "ftp://example.com/"), make_job(3, "http://u:p@example.com/")])
    assert "http" in await results.problem(1)
    assert "http" in await results.problem(2)
    assert "user information" in await results.problem(3)


class Resolver:
    """Answers what it is told, one answer a lookup; the last one stays."""

    def __init__(self, *answers: list[str] | OSError) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, name: str) -> list[IPAddress]:
        self.asked.append(name)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, OSError):
            raise answer
        return [ip_address(text) for text in answer]


async def test_a_name_is_looked_up_once_for_many(sink: Sink, open_sender: Open) -> None:
    resolver = Resolver(["127.0.0.1"])
    sender = open_sender(LOOPBACK, resolver)
    results = Results(sender)
    sender.post([make_job(key, sink.url(host="Hooks.Example.test")) for key in range(100)])
    assert {sent.code for sent in await results.of(*range(100))} == {200}
    assert resolver.asked == ["hooks.example.test"]
    assert sink.requests[0].headers["host"] == f"hooks.example.test:{sink.port}"


async def test_a_name_that_turns_inwards_between_two_tries(sink: Sink, open_sender: Open) -> None:
    resolver = Resolver(["127.0.0.1"], ["127.0.0.2"])
    sender = open_sender(limited(name_seconds=0.0), resolver)
    results = Results(sender)
    sender.post([make_job(1, sink.url(host="hooks.example.test"))])
    assert await results.code(1) == 200
    await sink.drop_connections()
    sender.post([make_job(2, sink.url(host="hooks.example.test"))])
    assert await results.problem(2) == "its address is refused: loopback"
    assert sink.connections == 1


async def test_the_address_that_was_checked_is_the_one_that_is_connected_to(
    sink: Sink, open_sender: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name leads to the public internet when it is looked up first, and to this machine from then on."""
    dialled: list[tuple[Any, ...]] = []

    async def connect(sock: socket.socket, where: tuple[Any, ...]) -> None:
        dialled.append(where)
        raise ConnectionRefusedError

    resolver = Resolver(["93.184.216.34"], ["127.0.0.1"])
    sender = open_sender(WebhookSettings(limits=WebhookLimits(name_seconds=0.0)), resolver)
    results = Results(sender)
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(asyncio.get_running_loop(), "sock_connect", connect)
        sender.post([make_job(1, sink.url(host="hooks.example.test"))])
        assert await results.problem(1) == "connection refused"
    assert dialled == [("93.184.216.34", sink.port)], "the name is not looked up once more for the connection"
    assert len(resolver.asked) == 1
    sender.post([make_job(2, sink.url(host="hooks.example.test"))])
    assert await results.problem(2) == "its address is refused: loopback", "a retry checks anew"
    assert sink.connections == 0


async def test_a_connection_that_is_kept_stays_with_the_address_that_was_checked(sink: Sink, open_sender: Open) -> None:
    resolver = Resolver(["127.0.0.1"], ["127.0.0.2"])
    sender = open_sender(limited(name_seconds=0.0), resolver)
    results = Results(sender)
    for key in range(1, 4):
        sender.post([make_job(key, sink.url(host="hooks.example.test"))])
        assert await results.code(key) == 200
    assert (sink.connections, len(resolver.asked)) == (1, 1), "nothing is looked up for a connection that stands"
    await sink.drop_connections()
    sender.post([make_job(4, sink.url(host="hooks.example.test"))])
    assert await results.problem(4) == "its address is refused: loopback"
    assert sink.connections == 1


@pytest.mark.parametrize("inside", ["127.0.0.1", "169.254.169.254", "turned.example.test"])
async def test_a_redirect_into_the_network_is_not_followed(sink: Sink, open_sender: Open, inside: str) -> None:
    async with Sink() as victim:
        sink.default = Answer(302, headers={"Location": f"http://{inside}:{victim.port}/"})
        resolver = Resolver(["127.0.0.1"])
        sender = open_sender(LOOPBACK, resolver)
        results = Results(sender)
        sender.post([make_job(1, sink.url(host="hooks.example.test"))])
        assert await results.code(1) == 302
        assert resolver.asked == ["hooks.example.test"]
        assert victim.connections == 0


@pytest.mark.parametrize("inside", ["10.0.0.1", "169.254.169.254", "::1", "fd00::1", "64:ff9b::a00:1"])
async def test_one_address_inside_refuses_the_name(sink: Sink, open_sender: Open, inside: str) -> None:
    sender = open_sender(LOOPBACK, Resolver(["127.0.0.1", inside]))
    results = Results(sender)
    sender.post([make_job(1, sink.url(host="hooks.example.test"))])
    assert "refused" in await results.problem(1)
    assert sink.connections == 0


async def test_the_next_address_is_tried(sink: Sink, open_sender: Open) -> None:
    settings = WebhookSettings(("127.0.0.0/8",))
    sender = open_sender(settings, Resolver(["127.0.0.2", "127.0.0.1"]))
    results = Results(sender)
    sender.post([make_job(1, sink.url(host="hooks.example.test"))])
    assert await results.code(1) == 200


@pytest.mark.parametrize("answer", [OSError("no such name"), []])
async def test_a_name_without_address(open_sender: Open, answer: OSError | list[str]) -> None:
    resolver = Resolver(answer)
    sender = open_sender(LOOPBACK, resolver)
    results = Results(sender)
    sender.post([make_job(key, "http://hooks.example.test/") for key in range(3)])
    for key in range(3):
        assert await results.problem(key) == "its name has no address"
    assert len(resolver.asked) == 1


@pytest.mark.slow
async def test_names_that_are_never_answered_hold_up_nobody(sink: Sink, open_sender: Open) -> None:
    async def silent(name: str) -> list[IPAddress]:
        if name == "hooks.example.test":
            return [IPv4Address("127.0.0.1")]
        await asyncio.Event().wait()
        return []

    sender = open_sender(limited(connect_seconds=5.0), silent)
    results = Results(sender)
    sender.post([make_job(key, f"http://silent{key}.example.test/") for key in range(1, 20)])
    sender.post([make_job(0, sink.url(host="hooks.example.test"))])
    assert await results.code(0) == 200
    assert len(results.by_key) == 1
    for key in range(1, 20):
        assert await results.problem(key) == "no connection in time"


async def test_receivers_unused_for_longest_are_forgotten(sink: Sink, open_sender: Open) -> None:
    sink.default = Answer(headers={"Connection": "close"}, close=True)
    sender = open_sender(limited(origins=3), Resolver(["127.0.0.1"]))
    results = Results(sender)
    for key in range(12):
        sender.post([make_job(key, sink.url(host=f"h{key}.example.test"))])
        assert await results.code(key) == 200
        await sink.wait_until(lambda: sink.open == 0)
    assert len(sender._client._origins()) <= 3


# --- the end


async def test_close_lets_jobs_finish(sink: Sink) -> None:
    gate = asyncio.Event()
    sink.default = Answer(gate=gate)
    sender = LocalSender(limited(connections_per_origin=2, drain_seconds=PATIENCE_S))
    results = Results(sender)
    sender.post([make_job(key, sink.url()) for key in range(10)])
    await sink.wait_for(2)
    closing = asyncio.ensure_future(sender.close())
    await asyncio.sleep(0)
    sender.post([make_job(10, sink.url())])
    gate.set()
    await closing
    assert [results.by_key[key].code for key in range(10)] == [200] * 10
    assert results.by_key[10].busy
    await sink.wait_until(lambda: sink.open == 0)


async def test_close_gives_everything_back(sink: Sink) -> None:
    sink.default = Answer(hang=True)
    sender = LocalSender(limited(connections_per_origin=2, drain_seconds=0.05))
    results = Results(sender)
    sender.post([make_job(key, sink.url()) for key in range(10)])
    await sink.wait_for(2)
    await sender.close()
    assert len(results.by_key) == 10
    assert sum(sent.busy for sent in results.by_key.values()) == 8
    assert {sent.problem for sent in results.by_key.values()} == {"the gateway is stopping"}


async def test_close_while_connecting() -> None:
    async def silent(name: str) -> list[IPAddress]:
        await asyncio.Event().wait()
        return []

    sender = LocalSender(limited(drain_seconds=0.05), silent)
    results = Results(sender)
    sender.post([make_job(1, "http://silent.example.test/")])
    await sender.close()
    assert results.by_key[1].busy
