"""Applications that are made when they are first asked for: what nobody opens takes no memory, and no time at start."""

import asyncio
import sys
from collections.abc import Callable

from heliograph.http.asgi import Asgi, Receive, Scope, Send

TURN_S = 0.0002
"""Seconds for which the thread that makes an application keeps the interpreter to itself, while the loop wants it too:
a message needs it back a dozen times, and Python's usual five milliseconds would add up."""

_USUAL_TURN_S = sys.getswitchinterval()


class OnDemand:
    """Stands for an ASGI application that is made by its first request. If making it fails, the next request tries
    again."""

    def __init__(self, make: Callable[[], Asgi]) -> None:
        """`make` is called in a thread, so that messages go on meanwhile: it imports and compiles what it needs."""
        self._make = make
        self._application: Asgi | None = None
        self._making = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._application is None:
            async with self._making:
                if self._application is None:
                    self._application = await self._made()
        await self._application(scope, receive, send)

    async def _made(self) -> Asgi:
        sys.setswitchinterval(TURN_S)
        try:
            return await asyncio.to_thread(self._make)
        finally:
            sys.setswitchinterval(_USUAL_TURN_S)  # not what it was: another one may be being made
