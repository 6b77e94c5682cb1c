"""State that the connections of one server share."""

import asyncio
from collections.abc import Callable, Coroutine
from email.utils import formatdate
from heapq import nsmallest
from http import HTTPStatus
from typing import Any, Protocol

from heliograph.http.asgi import Asgi
from heliograph.http.flow import Transport
from heliograph.http.proxies import Proxies
from heliograph.http.reply import Replies
from heliograph.http.short_cut import ShortCut

ROOM = 64
"""Connections that are closed at once to make room for others: finding them takes a look at all."""


class Loop(Protocol):
    """The event loop, as connections need it."""

    def time(self) -> float: ...

    def call_soon(self, callback: Callable[[], None], /) -> object: ...

    def create_task(self, coro: Coroutine[Any, Any, None], /) -> asyncio.Task[None]: ...


class Held(Protocol):
    """A connection as its server sees it."""

    transport: Transport
    since: float
    """The loop's time when it began to wait for what it waits for."""

    def spare(self, now: float) -> bool:
        """Tells whether it has been without a request for so long that another may have its place."""

    def overdue(self, now: float) -> bool:
        """Tells whether the client has taken too long for what it is to do next."""

    def cut(self) -> None:
        """Hangs up on a client that is overdue."""

    def shutdown(self) -> None:
        """Closes as soon as what is under way has been answered."""


class ServerState:
    """Connections, tasks and the clock of one server.

    `now` is the loop's time as far as connections note it: that of the next tick, so that no client that has waited
    since then is taken to have waited for longer.
    """

    __slots__ = (
        "_full", "_openings", "application", "connections", "loop", "max_connections", "now", "proxies", "replies",
        "scheme", "short_cut", "tasks",
    )  # fmt: skip

    def __init__(
        self,
        application: Asgi,
        replies: Replies,
        max_connections: int,
        proxies: Proxies | None = None,
        scheme: str = "http",
        short_cut: ShortCut | None = None,
        loop: Loop | None = None,
    ) -> None:
        """`loop` is the running one by default. Without `proxies` no client's X-Forwarded-For is believed; without a
        `short_cut` all requests go by ASGI."""
        self.application = application
        self.replies = replies
        self.max_connections = max_connections
        self.proxies = proxies
        self.scheme = scheme
        self.short_cut = short_cut
        self.loop: Loop = asyncio.get_running_loop() if loop is None else loop
        self.connections: set[Held] = set()
        self.tasks: set[asyncio.Task[None]] = set()
        self._openings: dict[int, bytes] = {}
        self._full = False
        """Whether no connection was spare when one was last looked for; cleared every second."""
        self.now = self.loop.time()

    def tick(self, due: float) -> None:
        """Begins another second; the next tick is at `due`. Renews the date header of replies."""
        self.now = due
        self._full = False
        self._openings.clear()

    def make_room(self) -> bool:
        """Closes connections that have been without a request for the longest; False if none has been for long.

        Else whoever opens as many as there may be, and says nothing, would keep all others out.
        """
        if self._full:
            return False
        now = self.loop.time()
        spare = [each for each in self.connections if each.spare(now)]
        for each in nsmallest(ROOM, spare, key=lambda each: each.since):
            self.connections.discard(each)
            each.cut()
        self._full = not spare
        return bool(spare)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Begins what the server waits for before it stops."""
        task = self.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def opening(self, status: int) -> bytes:
        """Returns the status line and the date header."""
        found = self._openings.get(status)
        if found is None:
            try:
                phrase = HTTPStatus(status).phrase
            except ValueError:
                phrase = ""
            found = f"HTTP/1.1 {status} {phrase}\r\ndate: {formatdate(usegmt=True)}\r\n".encode()
            self._openings[status] = found
        return found
