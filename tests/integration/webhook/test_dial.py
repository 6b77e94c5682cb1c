"""Connections are opened only to checked addresses, and only to receivers that prove who they are."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from ipaddress import ip_address
from typing import Any

import pytest

from heliograph.adapters.webhook.local import LocalSender, WebhookLimits, WebhookSettings
from heliograph.http_client import dial
from heliograph.http_client.connection import ClientConnection
from heliograph.http_client.dial import AddressRefused, Dialer
from heliograph.http_client.origin import Origin
from heliograph.http_client.request import OriginAddress
from heliograph.http_client.resolver import Resolver
from heliograph.net.address_guard import AddressGuard, IPAddress
from tests.integration.webhook.conftest import CERTIFICATES
from tests.support.sink import Answer, Sink
from tests.support.timeouts import PATIENCE_S
from tests.support.webhook_jobs import Results, make_job, until

AUTHORITY = str(CERTIFICATES / "authority.pem")
PATIENT_LIMITS = WebhookLimits(connect_seconds=PATIENCE_S, wait_seconds=PATIENCE_S, try_seconds=PATIENCE_S)
TRUSTING = WebhookSettings(("127.0.0.1/32",), AUTHORITY, PATIENT_LIMITS)
DISTRUSTING = WebhookSettings(("127.0.0.1/32",), limits=PATIENT_LIMITS)


async def loopback(name: str) -> list[IPAddress]:
    return [ip_address("127.0.0.1")]


@pytest.fixture
async def sink() -> AsyncIterator[Sink]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATES / "receiver.pem")
    async with Sink(tls=context) as sink:
        yield sink


@pytest.mark.parametrize("host", ["hooks.example.test", "127.0.0.1"])
async def test_a_trusted_receiver(sink: Sink, host: str) -> None:
    sender = LocalSender(TRUSTING, loopback)
    results = Results(sender)
    for key in range(5):
        sender.post([make_job(key, sink.url(host=host))])
        assert await results.code(key) == 200
    assert sink.connections == 1
    await sender.close()


async def test_many_over_tls(sink: Sink) -> None:
    sink.default = Answer(body=b"x" * 20_000)
    sender = LocalSender(TRUSTING, loopback)
    results = Results(sender)
    sender.post([make_job(key, sink.url()) for key in range(200)])
    assert {(sent.code, sent.problem) for sent in await results.of(*range(200))} == {(200, "")}
    await sender.close()


@pytest.mark.parametrize(
    ("settings", "host", "problem"),
    [
        (DISTRUSTING, "hooks.example.test", "certificate is not trusted"),
        (TRUSTING, "other.example.test", "certificate is not trusted: Hostname mismatch"),
    ],
)
async def test_an_untrusted_receiver(sink: Sink, settings: WebhookSettings, host: str, problem: str) -> None:
    sender = LocalSender(settings, loopback)
    results = Results(sender)
    sender.post([make_job(1, sink.url(host=host))])
    assert problem in await results.problem(1)
    assert not sink.requests
    await sender.close()


async def test_a_receiver_that_does_not_speak_tls() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        await reader.read()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        sender = LocalSender(TRUSTING, loopback)
        results = Results(sender)
        sender.post([make_job(1, f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/")])
        assert await results.problem(1) == "TLS failed (wrong version number)"
        await sender.close()


PATIENT = (0.2, 2.0, 20.0)
"""Seconds for a connection, one after the other: where it took longer, that says something of the machine."""


async def test_a_receiver_that_never_answers_the_handshake() -> None:
    problem = ""
    async with Sink() as mute:
        for seconds in PATIENT:
            limits = WebhookLimits(connect_seconds=seconds)
            sender = LocalSender(WebhookSettings(TRUSTING.allowed, AUTHORITY, limits), loopback)
            results = Results(sender)
            sender.post([make_job(1, mute.url().replace("http:", "https:"))])
            problem = await results.problem(1)
            await mute.wait_until(lambda: mute.open == 0)
            await sender.close()
            if problem != "no connection in time":
                break
        assert problem == "it took the connection and did not answer the TLS handshake in time"


async def test_a_port_that_is_not_allowed_is_not_connected_to() -> None:
    async with Sink() as sink:
        settings = WebhookSettings(TRUSTING.allowed, ports=("80", "443"))
        sender = LocalSender(settings, loopback)
        results = Results(sender)
        sender.post([make_job(1, sink.url())])
        port = sink.url().rpartition(":")[2].partition("/")[0]
        assert await results.problem(1) == f"its address is refused: port {port} is none of 80, 443"
        assert sink.open == 0
        await sender.close()


async def test_the_peer_is_checked_again_once_connected() -> None:
    dialer = Dialer(DISTRUSTING, AddressGuard(DISTRUSTING.allowed), Resolver(WebhookLimits(), loopback))
    dialer.confirm(("127.0.0.1", 80))
    dialer.confirm(("2606:4700::1111", 80, 0, 0))
    for inside in ("127.0.0.2", "10.0.0.1", "::1", "::ffff:10.0.0.1"):
        with pytest.raises(AddressRefused):
            dialer.confirm((inside, 80))


class Anywhere:
    """A slot that every address has room for."""

    account = 1

    def go_to(self, address: IPAddress) -> bool:
        return True


class Turncoat(AddressGuard):
    """Lets an address pass once."""

    def __init__(self) -> None:
        super().__init__()
        self._seen = False

    def refusal(self, address: IPAddress) -> str | None:
        seen, self._seen = self._seen, True
        return "changed" if seen else None


async def test_every_connection_is_checked_before_anything_is_sent() -> None:
    async with Sink() as plain:
        dialer = Dialer(DISTRUSTING, Turncoat(), Resolver(WebhookLimits(), loopback))
        address = OriginAddress(False, "hooks.example.test", plain.port)
        with pytest.raises(AddressRefused, match="changed"):
            await dialer.dial(address, asyncio.Protocol, Anywhere())
        await plain.wait_until(lambda: plain.open == 0)
        assert not plain.requests


async def test_whoever_gives_up_while_it_connects_ends_so_at_each_turn_of_the_loop() -> None:
    """None ends in an error of the closing, which would say that the receiver cannot be reached."""
    async with Sink() as sink:
        dialer = Dialer(TRUSTING, AddressGuard(TRUSTING.allowed), Resolver(WebhookLimits(), loopback))
        address = OriginAddress(False, "hooks.example.test", sink.port)
        for tries in range(200):
            dialing = asyncio.ensure_future(dialer.dial(address, asyncio.Protocol, Anywhere()))
            for _ in range(tries % 20):
                await asyncio.sleep(0)
            dialing.cancel()
            (end,) = await asyncio.gather(dialing, return_exceptions=True)
            assert end is None or isinstance(end, asyncio.CancelledError)
        await sink.drop_connections()


class Timeouts:
    """Stands for `asyncio` in `dial`, and keeps its timeouts."""

    def __init__(self) -> None:
        self.made: list[asyncio.Timeout] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    def timeout(self, seconds: float) -> asyncio.Timeout:
        self.made.append(asyncio.timeout(seconds))
        return self.made[-1]


async def test_an_address_that_connects_as_its_time_ends_has_a_single_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    timeouts, opened = Timeouts(), Origin.opened

    def opened_late(origin: Origin, connection: ClientConnection) -> None:
        opened(origin, connection)
        monkeypatch.setattr(Origin, "opened", opened)
        timeouts.made[-1].reschedule(0)

    async def two(name: str) -> list[IPAddress]:
        return [ip_address("127.0.0.1"), ip_address("127.0.0.2")]

    async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    monkeypatch.setattr(dial, "asyncio", timeouts)
    monkeypatch.setattr(Origin, "opened", opened_late)
    async with Sink() as sink, await asyncio.start_server(close, "127.0.0.2", sink.port):
        sender = LocalSender(WebhookSettings(("127.0.0.0/8",), limits=PATIENT_LIMITS), two)
        results = Results(sender)
        sender.post([make_job(1, sink.url(host="hooks.example.test"))])
        assert await results.problem(1) == "it closed the connection without an answer"
        await until(lambda: not sender._client._shared.tasks and not sender._client._origins()[0]._open)
        assert sender._client._shared.connections == 0
        await sender.close()
