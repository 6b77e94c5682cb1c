"""ASGI applications that are made by their first request. An unused application takes no memory and no time at
start.
"""

import asyncio
import sys
from collections.abc import Callable

from heliograph.http.asgi import Asgi, Receive, Scope, Send

TURN_S = 0.0002
"""Seconds. Switch interval of the interpreter while a thread makes an application. A message needs the interpreter a
dozen times meanwhile, and Python's usual 5 ms would add up.
"""

_USUAL_TURN_S = sys.getswitchinterval()


class OnDemand:
    """Placeholder for an ASGI application that its first request makes. If making it fails, the next request tries
    again.
    """

    def __init__(self, make: Callable[[], Asgi]) -> None:
        """`make` runs in a thread, because it imports and compiles modules while messages continue."""
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
            sys.setswitchinterval(_USUAL_TURN_S)  # replaced meanwhile: another attempt may be running
