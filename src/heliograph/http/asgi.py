"""ASGI as it is used here: types, bodies of requests, whole answers, and the host that a request asks for."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from ipaddress import ip_address
from typing import Any, TypeVar

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
"""An ASGI event, received or sent."""
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]
Result = TypeVar("Result")
Headers = list[tuple[bytes, bytes]]
"""Names in lower case."""

WORK = "heliograph.work"
"""Key in the event that begins an answer: seconds that the application spent on a request that it refuses."""


async def respond(scope: Scope, send: Send, status: int, headers: Headers, body: bytes, work: float = 0.0) -> None:
    """Sends a whole answer. A HEAD gets no body, though `headers` may state its length."""
    await send({"type": "http.response.start", "status": status, "headers": headers, WORK: work})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


async def respond_in_pieces(
    scope: Scope, receive: Receive, send: Send, status: int, headers: Headers, pieces: AsyncGenerator[bytes]
) -> None:
    """Sends an answer piece by piece. The next piece is made when the client has received the pieces before it. A HEAD
    gets no piece.

    If the client has gone, no further piece is made. If making a piece fails, the answer ends without its end mark, so
    that the client sees that it is incomplete. The generator is closed in any case.
    """
    gone = asyncio.ensure_future(_gone(receive))
    try:
        await send({"type": "http.response.start", "status": status, "headers": headers})
        if scope["method"] != "HEAD":
            async for piece in pieces:
                if gone.done():
                    return
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    finally:
        gone.cancel()
        await pieces.aclose()


async def unless_gone(receive: Receive, work: Awaitable[Result]) -> Result:
    """Returns the result of long work, once the body of its request was read. Cancels the work if the client closes the
    connection, and raises ClientGone. Otherwise a visitor who reloads a slow page would have it made several times."""
    gone, working = asyncio.ensure_future(_gone(receive)), asyncio.ensure_future(work)
    try:
        await asyncio.wait({gone, working}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientGone
        return working.result()
    finally:
        gone.cancel()
        working.cancel()


async def _gone(receive: Receive) -> None:
    """Returns once the client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


class ClientGone(Exception):
    """The client closed the connection before its request was complete."""


class BodyTooLarge(ValueError):
    """The body of a request is too large for its reader. The text is for the client."""


async def read_body(receive: Receive, most: int) -> bytes:
    """Returns the whole body. Raises BodyTooLarge beyond `most` octets, and ClientGone."""
    body = bytearray()
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise ClientGone
        body += event.get("body", b"")
        if len(body) > most:
            raise BodyTooLarge(f"The body is too large; it may have {most:,} octets.")
        if not event.get("more_body", False):
            return bytes(body)


def asked_host(headers: Headers) -> str:
    """Returns the host in the request, in lower case, without port or trailing dot, for example `sms.example.com`.
    Empty if the request has no host.
    """
    text = next((value for name, value in headers if name == b"host"), b"").decode("latin-1")
    bare = text.rpartition("]")[0].removeprefix("[") if text.startswith("[") else text.partition(":")[0]
    return bare.lower().removesuffix(".")


def is_own_name(host: str) -> bool:
    """Whether the host is an address, or a machine's name for itself, such as `localhost`. A page of another site
    cannot use it."""
    if not host or host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
