"""What a development run has beside a real one: a demo account, and a board that shows the receipts it was sent.

The demo account's secrets are public. It is usable only while a development run lasts: a real one on the same data
directory suspends it.
"""

from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from heliograph.app.administer import Administration, Credentials, digest_key
from heliograph.domain.money import MICRO

DEMO_NAME = "demo"
DEMO_PASSWORD = "demo-password"  # noqa: S105 - public on purpose
DEMO_API_KEY = "demo-api-key"
DEMO_SIGNING_SECRET = b"a demonstration secret, 32 bytes"
DEMO_CREDIT = 1_000_000 * MICRO

BOARD_PATH = "/dev/receipts"
BOARD_RECEIPTS = 100
"""Receipts that the board shows; older ones fall off."""

BOARD_OCTETS = 65_536
"""Octets of a callback's body that the board reads; a longer one is refused."""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


async def open_demo_account(administration: Administration) -> None:
    """Makes the demo account, or makes it usable again. Raises AlreadyThere if somebody else's has its name."""
    if await _demo_exists(administration):
        await administration.suspend(DEMO_NAME, suspended=False)
        return
    credentials = Credentials(DEMO_PASSWORD, DEMO_API_KEY, DEMO_SIGNING_SECRET)
    await administration.create_account(DEMO_NAME, DEMO_CREDIT, {"list_interval": "1"}, credentials=credentials)


async def close_demo_account(administration: Administration) -> bool:
    """Before a real run: suspends the demo account if there is one that can be used; says whether it did."""
    if not await _demo_exists(administration):
        return False
    view = await administration.account(DEMO_NAME)
    if view.account.suspended:
        return False
    await administration.suspend(DEMO_NAME, suspended=True)
    return True


async def _demo_exists(administration: Administration) -> bool:
    """Whether there is an account with the demo's name and public key."""
    names = [account.name for account, _ in await administration.accounts()]
    if DEMO_NAME not in names:
        return False
    view = await administration.account(DEMO_NAME)
    return any(key.digest == digest_key(DEMO_API_KEY) for key in view.keys)


class ReceiptBoard:
    """An ASGI application: takes callbacks by POST, shows the last ones by GET."""

    def __init__(self) -> None:
        self._receipts: deque[dict[str, Any]] = deque(maxlen=BOARD_RECEIPTS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            body = await _read(receive)
            status = 200 if body is not None else 413
            if body is not None:
                headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
                self._receipts.append({"id": headers.get("webhook-id"), "receipt": _receipt(body)})
            document: dict[str, Any] = {"received": status == 200}
        elif scope["method"] in ("GET", "HEAD"):
            status, document = 200, {"count": len(self._receipts), "receipts": list(self._receipts)}
        else:
            status, document = 405, {"received": False}
        reply = msgspec.json.encode(document) + b"\n"
        headers_out = [(b"content-type", b"application/json"), (b"content-length", str(len(reply)).encode())]
        if status == 405:
            headers_out.append((b"allow", b"GET, HEAD, POST"))
        await send({"type": "http.response.start", "status": status, "headers": headers_out})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else reply})


async def _read(receive: Receive) -> bytes | None:
    body = b""
    while True:
        event = await receive()
        body += bytes(event.get("body", b""))
        if len(body) > BOARD_OCTETS:
            return None
        if not event.get("more_body"):
            return body


def _receipt(body: bytes) -> dict[str, Any] | str:
    text = body.decode("utf-8", "replace")
    if text.startswith("{"):
        try:
            document = msgspec.json.decode(body)
        except msgspec.DecodeError:
            return text
        return document if isinstance(document, dict) else text
    return dict(parse_qsl(text, keep_blank_values=True))


def banner(url: str) -> str:
    """What a person sees when a development run is ready: everything to paste."""
    return f"""
Heliograph is ready, with a simulated operator.

  API        {url}/api/v1  and  {url}/api/v2
  Reference  {url}/docs
  Health     {url}/health/ready
  Receipts   {url}{BOARD_PATH}   (what your callback URL would have got)

  Account    {DEMO_NAME}     v1 signs in with the API key  {DEMO_API_KEY}
                      v2 with the password         {DEMO_PASSWORD}

Send a message (v1):

  curl -u {DEMO_NAME}:{DEMO_API_KEY} {url}/api/v1/messages \\
       -d to=491701234567 -d from=Heliograph --data-urlencode 'content=Hello, world'

Send one and get a receipt for it (v2), then look at the receipt:

  curl -u {DEMO_NAME}:{DEMO_PASSWORD} {url}/api/v2/messages \\
       -d to=491701234567 -d from=Heliograph --data-urlencode 'content=Your code is 123456' \\
       -d dlr=yes --data-urlencode 'dlr-url={url}{BOARD_PATH}'
  curl {url}{BOARD_PATH}

Stop with Ctrl-C.
"""
