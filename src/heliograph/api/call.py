"""A request as the operations see it, and how an operation is served."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from heliograph.app.sending.principal import Door, Principal
from heliograph.http.asgi import Receive, Scope
from heliograph.http.reply import Reply


class Call:
    """One request: its headers, looked up in one pass, and what is found out about it."""

    __slots__ = (
        "authorization", "begun", "content_encoding", "content_length", "content_type", "receive", "request_id",
        "scope", "target", "waits_to_send", "who",
    )  # fmt: skip

    who: Principal
    """Set once the credentials have been checked."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.scope = scope
        self.receive = receive
        self.authorization: bytes | None = None
        self.content_type: bytes | None = None
        self.content_length: bytes | None = None
        self.content_encoding: bytes | None = None
        self.request_id: bytes | None = None
        self.target = ""
        self.waits_to_send = False
        self.begun = 0.0
        """Monotonic clock's time when work on the body began; 0 where nothing but waiting follows."""
        for name, value in scope["headers"]:
            if name == b"authorization":
                self.authorization = value
            elif name == b"content-type":
                self.content_type = value
            elif name == b"content-length":
                self.content_length = value
            elif name == b"x-request-id":
                self.request_id = value
            elif name == b"content-encoding":
                self.content_encoding = value
            elif name == b"expect":
                self.waits_to_send = True

    @property
    def address(self) -> str:
        client = self.scope.get("client")
        return client[0] if client else ""


class Handler(NamedTuple):
    """An operation that is served. `run` is given the body where it `reads` one."""

    door: Door | None
    """Door by which the credentials are checked; None asks for none."""
    reads: bool
    run: Callable[[Call, bytes], Awaitable[Reply]]


Handlers = dict[str, Handler]
"""Handlers of one path, by method."""
