"""The hook for requests that are to be answered without a task and an ASGI call.

A server may be given a `ShortCut`. Each POST of HTTP/1.1 that finds no other request under way is offered to it when
its head has been read. If it returns a `DirectRequest`, the connection gathers the body, calls `run` once, and waits
for `Channel.answer`. If `run` returns False, the ASGI application gets the request as if nothing had been tried.

A server without a short cut answers all requests by ASGI.
"""

from typing import Protocol

from heliograph.http.asgi import Headers
from heliograph.net.proxies import Address


class PendingRequest:
    """A request in its turn on a connection.

    `complete` says whether it has its answer, `keep_alive` whether another request may follow.
    """

    __slots__ = ("complete", "keep_alive")

    def __init__(self, keep_alive: bool) -> None:
        self.complete = False
        self.keep_alive = keep_alive


class DirectRequest(PendingRequest):
    """A request that a short cut has taken."""

    __slots__ = ("headers", "target", "work")

    def __init__(self, target: bytes, headers: Headers) -> None:
        super().__init__(keep_alive=True)
        self.target = target
        self.headers = headers
        self.work = 0.0
        """Seconds that were spent on it, where it was refused."""

    def run(self, body: bytes) -> bool:
        """Runs the request with its whole body. Returns True if `Channel.answer` is called, at once or later; False,
        without any effect, leaves the request to the ASGI application."""
        raise NotImplementedError


class Channel(Protocol):
    """A connection, as a direct request knows it."""

    def client(self, forwarded: bytes | None) -> Address:
        """Returns the client's address; `forwarded` is the request's X-Forwarded-For."""

    def is_closing(self) -> bool:
        """Whether an answer could not be sent any more."""

    def answer(self, request: DirectRequest, status: int, rest: bytes) -> None:
        """Sends the answer to `request`. The server writes the status line and the date. `rest` is everything from the
        next header to the end of the body; it includes `connection: close` if `request.keep_alive` is False.
        """


class ShortCut:
    """Chooses requests that need no ASGI call. The default takes none."""

    def take(self, channel: Channel, target: bytes, headers: Headers) -> DirectRequest | None:  # noqa: ARG002
        """Returns the request if it can be answered directly, otherwise None.

        The head has not been inspected yet. The method must return None for each head that `head.inspect` rejects.
        """
        return None
