"""State that the connections of a server share."""

import asyncio
from collections.abc import Callable, Coroutine
from email.utils import formatdate
from http import HTTPStatus
from typing import Any, Protocol

from heliograph.domain.security.host import network
from heliograph.http.asgi import Asgi, Headers
from heliograph.http.reply import Replies, Reply
from heliograph.http.request_scope import Endpoints
from heliograph.http.response import Response
from heliograph.http.short_cut import ShortCut
from heliograph.net.clients import ClientLoad, Clients, Held
from heliograph.net.proxies import Proxies, is_loopback, unmapped


class Loop(Protocol):
    """The event loop, as connections need it."""

    def time(self) -> float: ...

    def call_soon(self, callback: Callable[[], None], /) -> object: ...

    def create_task(self, coro: Coroutine[Any, Any, None], /) -> asyncio.Task[None]: ...


class ServerState:
    """Connections, tasks and the clock of a server.

    `now` is the time that connections note. It is the time of the *next* tick, so that a client's wait is never
    overestimated.
    """

    __slots__ = (
        "_openings", "application", "clients", "extra_head", "is_leaving", "is_secure", "loop", "now", "proxies",
        "replies", "scheme", "short_cut", "tasks",
    )  # fmt: skip

    def __init__(
        self,
        application: Asgi,
        replies: Replies,
        clients: Clients,
        proxies: Proxies | None = None,
        scheme: str = "http",
        short_cut: ShortCut | None = None,
        loop: Loop | None = None,
        extra_head: bytes = b"",
    ) -> None:
        """`loop` is the running loop by default. Without `proxies`, X-Forwarded-For is ignored. Without a `short_cut`,
        all requests go by ASGI. `extra_head` is added to the head of every answer.
        """
        self.application = application
        self.replies = replies
        self.clients = clients
        self.proxies = proxies
        self.scheme = scheme
        self.is_secure = scheme == "https"
        self.extra_head = extra_head
        self.is_leaving = False
        """True before a stop: each answer closes its connection."""
        self.short_cut = short_cut
        self.loop: Loop = asyncio.get_running_loop() if loop is None else loop
        self.tasks: set[asyncio.Task[None]] = set()
        self._openings: dict[int, bytes] = {}
        self.now = self.loop.time()

    def tick(self, due: float) -> None:
        """Begins the next second; the next tick is at `due`. Renews the date header of replies."""
        self.now = due
        self._openings.clear()
        self.clients.tick(self.loop.time())

    @property
    def connections(self) -> set[Held]:
        """Connections that are open."""
        return self.clients.connections

    def is_unwelcome(self, host: str) -> bool:
        """Whether a connection from this host would certainly be refused."""
        return self.clients.is_unwelcome(network(unmapped(host)), self.loop.time(), self.now)

    def load_of(self, ends: Endpoints, headers: Headers | None = None) -> ClientLoad:
        """Returns the load of the client of a connection; with `headers`, of the client of a request on it."""
        name, is_proxy = ends.client_name(headers)
        return self.clients.load(name, is_proxy=is_proxy, is_local=headers is None and is_loopback(ends.peer()[0]))

    def load_of_host(self, host: str) -> ClientLoad:
        """Returns the load of the client of a new connection from this host."""
        host = unmapped(host)
        is_proxy = self.proxies is not None and self.proxies.trust(host)
        return self.clients.load(network(host), is_proxy=is_proxy, is_local=is_loopback(host))

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Starts a task for which the server waits before it stops."""
        task = self.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def refusal(self, reply: Reply, method: str, *, keep: bool = False) -> bytes:
        """Returns the octets of the server's own reply, and counts it. `keep` says whether the connection stays
        open.
        """
        replies = self.replies
        replies.note_response(reply.status)
        headers = [
            (b"content-type", reply.content_type),
            (b"content-length", b"%d" % len(reply.body)),
            (b"x-request-id", replies.next_request_id()),
            *reply.headers,
        ]
        response = Response(self.opening(reply.status), reply.status, headers, (method, "1.1"), keep=keep)
        return response.octets(reply.body, more=False)

    def opening(self, status: int) -> bytes:
        """Returns the status line and the headers that all answers have."""
        found = self._openings.get(status)
        if found is None:
            try:
                phrase = HTTPStatus(status).phrase
            except ValueError:
                phrase = ""
            found = f"HTTP/1.1 {status} {phrase}\r\ndate: {formatdate(usegmt=True)}\r\n".encode() + self.extra_head
            self._openings[status] = found
        return found
