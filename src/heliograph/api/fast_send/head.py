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

_UNUSUAL: Final = frozenset((b"transfer-encoding", b"content-encoding", b"expect", b"upgrade"))
"""Headers with which a send uses ASGI."""

_SINGLE: Final = frozenset((b"content-length", b"host", b"authorization"))
"""Headers with which a send uses ASGI if they occur twice."""

_FORWARDED: Final = b"x-forwarded-for"


class Head:
    """The head of a plain send, without unusual headers such as `expect`."""

    __slots__ = (
        "authorization", "content_type", "door", "forwarded", "headers", "proven", "request_id", "target",
    )  # fmt: skip

    def __init__(
        self, door: Door, target: bytes, headers: Headers, named: dict[bytes, bytes], authorization: bytes
    ) -> None:
        """`named` has the last value of each header."""
        self.door = door
        self.target = target
        self.headers = headers
        self.authorization = authorization
        self.content_type = named.get(b"content-type")
        self.forwarded = named.get(_FORWARDED)
        """The whole X-Forwarded-For."""
        self.request_id = named.get(b"x-request-id")
        """The client's own request id, if it is valid."""
        self.proven: Proven | None = None
        """The account of the credentials, once the authenticator has found it."""


def read_head(target: bytes, headers: Headers, longest: int) -> Head | None:
    """Returns the head of a POST if it is a plain send with a body of up to `longest` octets, otherwise None."""
    door = _SENDS.get(target)
    if door is None:
        return None
    named = dict(headers)  # lookups in C are cheaper than a loop over the headers
    authorization, length, host = named.get(b"authorization"), named.get(b"content-length"), named.get(b"host")
    if authorization is None or length is None or len(length) > 9 or int(length) > longest:
        return None
    if host is None or not is_host(host) or not _UNUSUAL.isdisjoint(named):
        return None
    head = Head(door, target, headers, named, authorization)
    if head.request_id is not None and REQUEST_ID(head.request_id) is None:
        head.request_id = None
    if len(named) != len(headers):
        names = [name for name, _ in headers]
        if any(names.count(name) > 1 for name in _SINGLE):
            return None
        if head.forwarded is not None:
            head.forwarded = b",".join([value for name, value in headers if name == _FORWARDED])
    return head
