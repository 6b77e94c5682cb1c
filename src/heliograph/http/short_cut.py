"""The hook for requests that are answered without a task and an ASGI call, such as sends.

A server may be given a `ShortCut`. Each POST of HTTP/1.1 that finds no other request under way is offered to it when
its head has been read. If it returns a `DirectRequest`, the connection gathers the body, calls `run` once, and waits
for `Channel.answer`. If `run` returns False, it had no effect, and the ASGI application gets the request.

Most clients write the same head before each body of a connection. So the first head that the short cut took stays with
its connection (`RepeatedHead`), and is not parsed again.

A server without a short cut answers all requests by ASGI.
"""

import re
from typing import Final, Protocol

from heliograph.http.asgi import Headers
from heliograph.net.proxies import Address

_DIGITS: Final = 9
"""Digits of the length of a body behind a repeated head, at most."""

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]+)[ \t]*\r\n", re.IGNORECASE).search


class PendingRequest:
    """A request that has its turn on a connection.

    `complete`: whether it has its answer. `keep_alive`: whether another request may follow.
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
        """Seconds that were spent on it if it was refused."""

    def run(self, body: bytes) -> bool:
        """Runs the request with its whole body. Returns True if `Channel.answer` is called, at once or later; False,
        without any effect, leaves the request to the ASGI application."""
        raise NotImplementedError

    def again(self, octets: int) -> bool:  # noqa: ARG002
        """Prepares to run for another body of so many octets, whose head is the same. Returns False if the head must be
        offered to the short cut again."""
        return False


class RepeatedHead:
    """The octets of a head around the digits of its content-length, and the request that was made of it."""

    __slots__ = ("_after", "_before", "request")

    def __init__(self, before: bytes, after: bytes, request: DirectRequest) -> None:
        self._before = before
        self._after = after
        self.request = request

    def body_in(self, octets: bytes) -> bytes | None:
        """Returns the body if the octets are this head, with any length, and a body of that length; otherwise None."""
        before, after = self._before, self._after
        if not octets.startswith(before):
            return None
        start = len(before)
        end = octets.find(after, start, start + _DIGITS + len(after))
        digits, body = octets[start:end], octets[end + len(after) :]
        return body if end > 0 and digits.isdigit() and int(digits) == len(body) else None


def repeated_head(octets: bytes, request: DirectRequest) -> RepeatedHead | None:
    """Returns the head of a request that the parser has made of these octets; None unless they are this request alone.

    A header's value has no line feed, so the line that begins with the name is the header that the parser has read.
    """
    end = octets.find(b"\r\n\r\n") + 4
    length = _LENGTH(octets, 0, end)
    if length is None or (b"content-length", length[1]) not in request.headers or int(length[1]) != len(octets) - end:
        return None
    return RepeatedHead(octets[: length.start(1)], octets[length.end(1) : end], request)


class Channel(Protocol):
    """The part of a connection that a direct request uses."""

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
