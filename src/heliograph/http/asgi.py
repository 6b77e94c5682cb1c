"""ASGI, as far as it is used here: its types, and a whole answer."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
"""An ASGI event, received or sent."""
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]
"""Names in lower case."""


WORK = "heliograph.work"
"""Key of the seconds that an application spent on a request which it refuses, in the event that begins its answer."""


async def respond(scope: Scope, send: Send, status: int, headers: Headers, body: bytes, work: float = 0.0) -> None:
    """Sends the whole answer: to a HEAD without its body, though `headers` may tell its length."""
    await send({"type": "http.response.start", "status": status, "headers": headers, WORK: work})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


async def respond_in_pieces(
    scope: Scope, receive: Receive, send: Send, status: int, headers: Headers, pieces: AsyncGenerator[bytes]
) -> None:
    """Sends an answer while it is made, each piece when the client has taken those before; to a HEAD none of them.

    No more is made for a client that has gone. Where making a piece fails the answer stays without its end, so that no
    client takes it for whole. The generator is closed in any case.
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


async def _gone(receive: Receive) -> None:
    """Returns when the client hung up."""
    while (await receive())["type"] != "http.disconnect":
        pass
