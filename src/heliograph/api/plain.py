"""Plain sends: what the head of one says, and by which octets it is known again without being parsed.

Customers' programs write head after head in the same octets, but for the length of the body. Where the parser has read
such a head once, another one of these octets says the same.
"""

import re
from typing import Final

from heliograph.api.http.head import is_host
from heliograph.app.authenticate import Known
from heliograph.runtime.asgi import Headers

SHORT_BODY: Final = 16_384
"""Octets of a body, at most, with which a send goes by the short cut: it is kept before anybody knows whose it is."""

LONGEST_HEAD: Final = 4_096
"""Octets of a head, at most, that is known again."""

REQUEST_ID: Final = re.compile(rb"[A-Za-z0-9._~+/=:-]{1,128}").fullmatch
"""What a client may call its request."""

_SENDS: Final = {b"/api/v1/messages": 1, b"/api/v2/messages": 2}

_UNUSUAL: Final = frozenset(
    (b"transfer-encoding", b"content-encoding", b"expect", b"upgrade", b"content-length", b"host", b"authorization")
)
"""Headers with which a send goes the usual way; of the last three, a second one."""

_DIGITS: Final = 5
"""Of a length, at most, in a head that is known again."""

_LENGTH: Final = b"\r\ncontent-length:"
_END: Final = b"\r\n\r\n"


class PlainSend:
    """The head of a send with nothing unusual about it."""

    __slots__ = (
        "_after", "_before", "authorization", "content_type", "forwarded", "headers", "known", "length", "request_id",
        "target", "version",
    )  # fmt: skip

    def __init__(self, version: int, target: bytes, headers: Headers) -> None:
        self.version = version
        self.target = target
        self.headers = headers
        self.authorization: bytes | None = None
        self.content_type: bytes | None = None
        self.forwarded: bytes | None = None
        """All of X-Forwarded-For."""
        self.length: bytes | None = None
        self.request_id: bytes | None = None
        """That which the client has chosen, if it may."""
        self.known: Known | None = None
        """Whose these credentials proved to be."""
        self._before = b""
        self._after = b""

    def learn(self, octets: bytes) -> bool:
        """Notes the octets of this head. The parser has read them from the first of `octets` on, with nothing before
        them; False where anything but one whole request is there.

        Between the request line and the first empty line each line is a header, whatever it says, and the length is
        that of the one which the parser has found.
        """
        end = octets.find(_END) + len(_END)
        if self.length is None or end > LONGEST_HEAD or not octets.startswith(b"POST "):
            return False
        if self.request_id is not None:
            return False  # each request has another one
        start = octets[:end].lower().find(_LENGTH) + len(_LENGTH)
        if start < len(_LENGTH) or end + int(self.length) != len(octets):
            return False
        while octets[start : start + 1] == b" ":
            start += 1
        after = start + len(self.length)
        if octets[start:after] != self.length or octets[after : after + 1] != b"\r":
            return False
        self._before, self._after = octets[:start], octets[after:end]
        return True

    def body(self, octets: bytes, longest: int) -> bytes | None:
        """The body, if `octets` are this head once more, with a length of its own, and a whole body of up to `longest`
        octets; else None, which says nothing."""
        before, after = self._before, self._after
        if not octets.startswith(before):
            return None
        start = len(before)
        end = octets.find(b"\r", start, start + _DIGITS + 1)
        if end < 0 or not octets.startswith(after, end):
            return None
        digits = octets[start:end]
        end += len(after)
        if not digits.isdigit() or len(octets) - end > longest or int(digits) != len(octets) - end:
            return None
        return octets[end:]


def plain_send(target: bytes, headers: Headers, longest: int) -> PlainSend | None:
    """A POST with this head, if it is a plain send with a body of up to `longest` octets."""
    version = _SENDS.get(target)
    if version is None:
        return None
    send = PlainSend(version, target, headers)
    host: bytes | None = None
    for name, value in headers:
        if name == b"authorization" and send.authorization is None:
            send.authorization = value
        elif name == b"content-type":
            send.content_type = value
        elif name == b"content-length" and send.length is None:
            send.length = value
        elif name == b"host" and host is None:
            host = value
        elif name == b"x-request-id":
            send.request_id = value if REQUEST_ID(value) is not None else None
        elif name == b"x-forwarded-for":
            send.forwarded = value if send.forwarded is None else send.forwarded + b"," + value
        elif name in _UNUSUAL:
            return None
    length = send.length
    if send.authorization is None or length is None or len(length) > 9 or int(length) > longest:
        return None
    if host is None or not is_host(host):
        return None
    return send
