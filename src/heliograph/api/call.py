"""A request, in the form for doors and their operations."""

import asyncio
from collections.abc import Callable

from heliograph.api import answer
from heliograph.app.sending.principal import Principal
from heliograph.domain.error import Fault
from heliograph.http.asgi import Receive, Scope
from heliograph.http.reply import Reply


class Call:
    """A request: its headers, read in a single pass, and its resolved account and target."""

    __slots__ = (
        "authorization", "begun", "content_encoding", "content_length", "content_type", "limit", "receive", "refuse",
        "request_id", "scope", "target", "waits_to_send", "who",
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
        self.refuse: Callable[[Fault], Reply] = answer.of_fault
        """Makes the answer to a Fault, in the form of the request's door once the door is found."""
        self.target = ""
        self.waits_to_send = False
        self.begun = 0.0
        """Monotonic time when work on the body began; 0 if only waiting follows."""
        self.limit: asyncio.Timeout | None = None
        """The limit of its time while the store is away."""
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

    def wait_for_commit(self) -> None:
        """Notes that its commit alone decides what it is answered: a 503 for lack of time might be wrong."""
        self.begun = 0.0
        if self.limit is not None:
            self.limit.reschedule(None)

    @property
    def address(self) -> str:
        client = self.scope.get("client")
        return client[0] if client else ""
