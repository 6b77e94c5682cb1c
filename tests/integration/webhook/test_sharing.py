"""What one account's receivers do to another account's callbacks: nothing. Receivers are real, on loopback."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from ipaddress import ip_address
from typing import Self

import msgspec
import pytest

from heliograph.adapters.webhook.local import LocalSender, WebhookLimits, WebhookSettings
from heliograph.http_client.connection import ClientConnection
from heliograph.http_client.origin import Origin
from heliograph.net.address_guard import IPAddress
from tests.support.sink import Answer, Sink
from tests.support.slowness import Slowness
from tests.support.timeouts import PATIENCE_S
from tests.support.webhook_jobs import Results, make_job, until

HOSTILE, OTHER = 1, 2
SOON_S = 1.0

Open = Callable[..., LocalSender]


class Mute:
    """Accepts connections at every address of 127.0.0.0/8 and never answers."""

    def __init__(self) -> None:
        self.port = 0
        self.open = 0
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._hold, "0.0.0.0", 0, backlog=2_048)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    async def _hold(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            while await reader.read(65_536):
                pass
        except ConnectionError:
            pass
        finally:
            self.open -= 1
            writer.close()

    def url(self, number: int) -> str:
        """Returns the URL of one of many receivers."""
        return f"http://127.1.{number // 250}.{number % 250 + 1}:{self.port}/"


@pytest.fixture
async def open_sender() -> AsyncIterator[Open]:
    """Makes senders and closes them at the end without waiting for what hangs."""
    senders: list[LocalSender] = []

    def make(lookup: Callable[[str], Awaitable[list[IPAddress]]] | None = None, **changes: float) -> LocalSender:
        limits = msgspec.structs.replace(WebhookLimits(drain_seconds=0.01, connect_seconds=PATIENCE_S), **changes)
        settings = WebhookSettings(("127.0.0.0/8",), limits=limits)
        senders.append(LocalSender(settings, lookup) if lookup else LocalSender(settings))
        return senders[-1]

    yield make
    for sender in senders:
        await sender.close()
        shared = sender._client._shared
        assert (shared.connections, shared.unproven, shared.waiting, sender._outstanding) == (0, 0, 0, 0)
        assert not shared._addresses


@pytest.fixture
async def mute() -> AsyncIterator[Mute]:
    async with Mute() as mute:
        yield mute


async def each_is_soon(sender: LocalSender, results: Results, url: Callable[[int], str], count: int) -> bool:
    """Posts callbacks of the other account one after the other; returns whether each took less than SOON_S."""
    longest = 0.0
    with Slowness() as slowness:
        for key in range(count):
            began = time.monotonic()
            sender.post([make_job(key, url(key), account=OTHER)])
            (sent,) = await results.of(key)
            assert sent.code == 200, sent.problem
            longest = max(longest, time.monotonic() - began)
    return longest < slowness.within(SOON_S)


async def test_thousands_of_receivers_that_never_answer_take_nothing_from_another_account(
    mute: Mute, open_sender: Open
) -> None:
    sender = open_sender()
    results = Results(sender)
    sender.post([make_job(1_000 + number, mute.url(number), account=HOSTILE) for number in range(2_000)])
    await until(lambda: mute.open > 20)
    async with Sink() as sink:
        assert await each_is_soon(sender, results, lambda _: sink.url(), 80)
        assert sink.connections == 1, "a connection is kept however many others wait for one"
    # A quarter of half of the connections at most.
    assert 20 < sender._client._shared.unproven <= 128


async def test_so_do_several_accounts(mute: Mute, open_sender: Open) -> None:
    sender = open_sender()
    results = Results(sender)
    hostile = range(10, 30)
    jobs = [
        make_job(1_000 * account + number, mute.url(number), account=account)
        for account in hostile
        for number in range(100)
    ]
    sender.post(jobs)
    await until(lambda: sender._client._shared.unproven > 400)
    async with Sink() as sink:
        assert await each_is_soon(sender, results, lambda _: sink.url(), 80)
    assert sender._client._shared.unproven <= 512


async def test_a_receiver_of_another_account_at_the_same_origin_has_its_own_connections_and_health(
    open_sender: Open,
) -> None:
    async with Sink() as sink:
        sink.script(*[Answer(hang=True) for _ in range(500)], path="/slow")
        sink.script(*[Answer(503) for _ in range(500)], path="/bad")
        sender = open_sender(breaker_failures=5, breaker_seconds=PATIENCE_S)
        results = Results(sender)
        sender.post([make_job(1_000 + number, sink.url("/bad"), account=HOSTILE) for number in range(20)])
        await results.of(*range(1_000, 1_020))
        sender.post([make_job(2_000 + number, sink.url("/slow"), account=3) for number in range(400)])
        await sink.wait_until(lambda: sum(one.target == "/slow" for one in sink.requests) >= 4)
        sender.post([make_job(1_100, sink.url("/good"), account=HOSTILE)])
        assert (await results.of(1_100))[0].busy, "its breaker is open"
        assert await each_is_soon(sender, results, lambda _: sink.url("/good"), 40)


async def test_many_names_that_lead_to_one_address_have_its_connections_between_them(
    mute: Mute, open_sender: Open
) -> None:
    async def one_address(name: str) -> list[IPAddress]:
        return [ip_address("127.0.0.9")]

    sender = open_sender(one_address, connections_per_address=12)
    results = Results(sender)
    jobs = [
        make_job(1_000 * account + number, f"http://h{number}.example.test:{mute.port}/", account=account)
        for account in range(10, 20)
        for number in range(50)
    ]
    sender.post(jobs)
    await until(lambda: mute.open >= 10)
    await until(lambda: not sender._client._shared.tasks)
    assert mute.open <= 12
    async with Sink() as sink:
        assert await each_is_soon(sender, results, lambda _: sink.url(), 20)


async def test_a_name_server_that_hangs_for_thousands_of_names_is_not_in_the_way_of_others(open_sender: Open) -> None:
    async def lookup(name: str) -> list[IPAddress]:
        if name.startswith("good"):
            return [ip_address("127.0.0.1")]
        await asyncio.Event().wait()
        return []

    sender = open_sender(lookup)
    results = Results(sender)
    names = [f"http://n{number}.silent.example.test/" for number in range(2_000)]
    sender.post([make_job(1_000 + number, name, account=HOSTILE) for number, name in enumerate(names)])
    await until(lambda: sender._client._resolver._turns._free < 128)
    async with Sink() as sink:

        def url(key: int) -> str:
            return sink.url(host=f"good{key}.example.test")

        assert await each_is_soon(sender, results, url, 20)


async def test_one_accounts_receivers_do_not_push_anothers_out_of_memory(mute: Mute, open_sender: Open) -> None:
    sender = open_sender(origins=40)
    results = Results(sender)
    async with Sink() as sink:
        assert await each_is_soon(sender, results, lambda _: sink.url(), 1)
        sender.post([make_job(1_000 + number, mute.url(number), account=HOSTILE) for number in range(100)])
        refused = [one for one in results.by_key.values() if one.busy]
        await results.until(lambda: sum(one.busy for one in results.by_key.values()) >= 80)
        assert not refused
        assert len(sender._client._accounts[OTHER].origins) == 1
        assert len(sender._client._origins()) <= 11
        assert await each_is_soon(sender, Results(sender), lambda _: sink.url(), 10)


@pytest.mark.parametrize("turns", range(4))
async def test_a_connection_that_is_made_while_the_sender_closes_gives_its_callback_back(
    turns: int, mute: Mute, open_sender: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, closing = Origin.opened, []
    sender = open_sender()
    results = Results(sender)

    async def close() -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
        await sender._client.close()

    def open_and_close(self: Origin, connection: ClientConnection) -> None:
        opened(self, connection)
        closing.append(asyncio.create_task(close()))

    monkeypatch.setattr(Origin, "opened", open_and_close)
    sender.post([make_job(1, mute.url(1), account=OTHER)])
    (failed,) = await results.of(1)
    assert failed.problem == "the gateway is stopping"
    await asyncio.gather(*closing)
    assert sender._client._shared.connections == 0


async def test_a_receiver_gets_all_its_connections_once_it_has_answered(open_sender: Open) -> None:
    gate = asyncio.Event()
    async with Sink(Answer(gate=gate)) as sink:
        sender = open_sender()
        results = Results(sender)
        sender.post([make_job(key, sink.url(), account=OTHER) for key in range(400)])
        await sink.wait_for(4)
        await until(lambda: not sender._client._shared.tasks)
        assert sink.open == 4
        sink.default = Answer(delay=0.01)
        gate.set()
        await results.of(*range(400))
        assert {one.code for one in results.by_key.values()} == {200}
        assert 4 < sink.connections <= 64
