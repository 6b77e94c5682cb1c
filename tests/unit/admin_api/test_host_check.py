"""By which names the console and the admin API may be asked for."""

from typing import Any

import pytest

from heliograph.admin_api.checks import HostCheck, OwnNames
from heliograph.http.asgi import Event, Receive, Scope, Send, respond

NAMES = ("sms.example.com", "SMS2.example.com.")


async def inside(scope: Scope, _: Receive, send: Send) -> None:
    await respond(scope, send, 200, [(b"content-length", b"2")], b"in")


async def status(host: str | None, names: tuple[str, ...] = NAMES) -> int:
    sent: list[Event] = []

    async def send(message: Event) -> None:
        sent.append(message)

    async def receive() -> Event:
        raise AssertionError("nothing is read of a request that is refused")

    headers = [] if host is None else [(b"host", host.encode())]
    scope: dict[str, Any] = {"type": "http", "path": "/console", "method": "GET", "headers": headers}
    await HostCheck(inside, OwnNames(names))(scope, receive, send)
    return int(sent[0]["status"])


@pytest.mark.parametrize(
    "host",
    [
        "sms.example.com", "SMS.Example.com:8443", "sms.example.com.", "sms2.example.com", "127.0.0.1:8080",
        "10.1.2.3", "[::1]:8080", "localhost:8080", "LOCALHOST", "console.localhost", "", None,
    ],
)  # fmt: skip
async def test_a_name_of_ours_and_any_address_are_let_in(host: str | None) -> None:
    assert await status(host) == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "evil.example:8080", "a.sms.example.com", "sms.example.com.evil.example", "example.com",
        "127.0.0.1.evil.example", "127.0.0.1.nip.io", "localhost.evil.example", "xlocalhost", "sms.example.com@evil",
    ],
)  # fmt: skip
async def test_a_page_whose_own_name_leads_here_is_refused(host: str) -> None:
    assert await status(host) == 403
    assert await status(host, ()) == 403
