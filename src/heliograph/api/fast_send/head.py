"""The heads of plain sends."""

from typing import Final

from heliograph.api.app import REQUEST_ID
from heliograph.api.messages import V1, V2
from heliograph.app.sending.authenticate import Proven
from heliograph.app.sending.principal import Door
from heliograph.http.asgi import Headers
from heliograph.http.head import is_host

SHORT_BODY: Final = 16_384
"""Octets. Largest body on the short cut, because it is buffered before its account is known."""

_SENDS: Final = {b"/api/v1/messages": V1, b"/api/v2/messages": V2}

_UNUSUAL: Final = frozenset(
    (b"transfer-encoding", b"content-encoding", b"expect", b"upgrade", b"content-length", b"host", b"authorization")
)
"""Headers with which a send uses ASGI; for the last three, if they occur twice."""


class Head:
    """The head of a send with nothing unusual about it."""

    __slots__ = (
        "authorization", "content_type", "door", "forwarded", "headers", "length", "proven", "request_id", "target",
    )  # fmt: skip

    def __init__(self, door: Door, target: bytes, headers: Headers) -> None:
        self.door = door
        self.target = target
        self.headers = headers
        self.authorization: bytes | None = None
        self.content_type: bytes | None = None
        self.forwarded: bytes | None = None
        """All of X-Forwarded-For."""
        self.length: bytes | None = None
        self.request_id: bytes | None = None
        """The client's own request id, if it is valid."""
        self.proven: Proven | None = None
        """The account that the credentials prove, once the authenticator has said so."""


def read_head(target: bytes, headers: Headers, longest: int) -> Head | None:
    """Returns the head of a POST if it is a plain send with a body of up to `longest` octets, otherwise None."""
    door = _SENDS.get(target)
    if door is None:
        return None
    head = Head(door, target, headers)
    host: bytes | None = None
    for name, value in headers:
        if name == b"authorization" and head.authorization is None:
            head.authorization = value
        elif name == b"content-type":
            head.content_type = value
        elif name == b"content-length" and head.length is None:
            head.length = value
        elif name == b"host" and host is None:
            host = value
        elif name == b"x-request-id":
            head.request_id = value if REQUEST_ID(value) is not None else None
        elif name == b"x-forwarded-for":
            head.forwarded = value if head.forwarded is None else head.forwarded + b"," + value
        elif name in _UNUSUAL:
            return None
    length = head.length
    if head.authorization is None or length is None or len(length) > 9 or int(length) > longest:
        return None
    if host is None or not is_host(host):
        return None
    return head
