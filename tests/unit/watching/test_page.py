"""Who may read /metrics, and in which format."""

import json
from typing import Any

import pytest

from heliograph.adapters.metrics import MetricsPage
from heliograph.adapters.metrics.exposition import Sample
from heliograph.config import MetricsSettings
from heliograph.http.asgi import Event

BY_DEFAULT = MetricsSettings().allowed_networks


async def ask(
    networks: tuple[str, ...] = BY_DEFAULT,
    *,
    client: str | None = "127.0.0.1",
    path: str = "/metrics",
    method: str = "GET",
    headers: tuple[tuple[bytes, bytes], ...] = (),
    only_on: str | None = None,
    extensions: tuple[str, ...] = (),
) -> tuple[int, dict[bytes, bytes], bytes]:
    page = MetricsPage(lambda: [Sample("heliograph_store_up", (), 1)], networks, only_on=only_on)
    sent: list[Event] = []

    async def send(message: Event) -> None:
        sent.append(message)

    async def receive() -> Event:
        raise AssertionError("nothing is read of a request for metrics")

    scope: dict[str, Any] = {"type": "http", "path": path, "method": method, "headers": list(headers)}
    scope["extensions"] = {name: {} for name in extensions}
    await page({**scope, "client": (client, 1) if client is not None else None}, receive, send)
    start, body = sent
    return start["status"], dict(start["headers"]), body["body"]


async def test_loopback_reads_text() -> None:
    for client in ("127.0.0.1", "::1", "::ffff:127.0.0.1"):
        status, headers, body = await ask(client=client)
        assert status == 200
        assert headers[b"content-type"] == b"text/plain; version=0.0.4; charset=utf-8"
        assert b"\nheliograph_store_up 1\n" in body
        assert int(headers[b"content-length"]) == len(body)


async def test_openmetrics_for_who_asks() -> None:
    accept = (b"accept", b"application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1")
    status, headers, body = await ask(headers=(accept,))
    assert (status, headers[b"content-type"].partition(b";")[0]) == (200, b"application/openmetrics-text")
    assert body.endswith(b"# EOF\n")


@pytest.mark.parametrize("client", ["10.0.0.1", "192.0.2.7", "2001:db8::1", "nonsense", None])
async def test_others_do_not(client: str | None) -> None:
    status, _, body = await ask(client=client)
    assert (status, json.loads(body)["Status"]) == (403, "06")
    assert b"heliograph_store_up" not in body


async def test_networks_that_are_allowed_do() -> None:
    assert (await ask(("10.0.0.0/8",), client="10.20.0.1"))[0] == 200
    assert (await ask(("10.0.0.0/8",), client="127.0.0.1"))[0] == 403


@pytest.mark.parametrize("name", [b"x-forwarded-for", b"forwarded", b"x-real-ip", b"via"])
async def test_a_proxy_on_loopback_does_not_let_the_world_in(name: bytes) -> None:
    assert (await ask(headers=((name, b"127.0.0.1"),)))[0] == 403


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (b"127.0.0.1:8080", 200),
        (b"localhost", 200),
        (b"LOCALHOST.:9090", 200),
        (b"[::1]:8080", 200),
        (b"10.0.0.5", 200),
        (b"metrics.localhost", 200),
        (b"", 200),
        (b"sms.example.net", 403),
        (b"sms.example.net:443", 403),
        (b"localhost.x", 403),
        (b"[x]", 403),
    ],
)
async def test_a_proxy_that_says_nothing_of_itself_is_known_by_the_name_that_was_asked_for(
    host: bytes, status: int
) -> None:
    assert (await ask(headers=((b"host", host),)))[0] == status
    assert (await ask(("10.0.0.0/8",), client="10.0.0.1", headers=((b"host", host),)))[0] == 200, "by its network"


async def test_with_a_listener_for_health_metrics_are_nowhere_else() -> None:
    assert (await ask(only_on="health"))[0] == 403
    assert (await ask(only_on="health", extensions=("tls",)))[0] == 403
    assert (await ask(only_on="health", extensions=("health",)))[0] == 200
    assert (await ask(only_on="health", extensions=("health",), client="192.0.2.7"))[0] == 403


async def test_methods_and_paths() -> None:
    status, headers, body = await ask(method="HEAD")
    assert (status, body) == (200, b"")
    assert int(headers[b"content-length"]) > 0
    status, headers, _ = await ask(method="POST")
    assert (status, headers[b"allow"]) == (405, b"GET, HEAD")
    assert (await ask(path="/metrics/"))[0] == 200
    assert (await ask(path="/metrics/more"))[0] == 404
