"""The heads of plain sends: what one says, and by which octets it is known again without being parsed.

Customers' programs write head after head in the same octets, but for the length of the body. Once the parser has read
such a head, another one of the same octets means the same.
"""

from typing import Final

from heliograph.api.app import REQUEST_ID
from heliograph.api.doors import V1, V2
from heliograph.app.sending.authenticate import Proven
from heliograph.app.sending.principal import Door
from heliograph.http.asgi import Headers
from heliograph.http.head import is_host

SHORT_BODY: Final = 16_384
"""Octets of a body, at most, that goes by the short cut: it is kept before anybody knows whose it is."""

LONGEST_HEAD: Final = 2_048
"""Octets of a head, at most, that is known again."""

_SENDS: Final = {b"/api/v1/messages": V1, b"/api/v2/messages": V2}

_UNUSUAL: Final = frozenset(
    (b"transfer-encoding", b"content-encoding", b"expect", b"upgrade", b"content-length", b"host", b"authorization")
)
"""Headers with which a send goes by ASGI; of the last three, a second one."""

_DIGITS: Final = 5
"""Digits of a length, at most, in a head that is known again."""

HEADS_KEPT: Final = 1_024
"""Heads that one generation keeps at most."""

GENERATION_S: Final = 60.0
"""Seconds after which a head is forgotten that nobody has sent since the generation before."""

_LENGTH: Final = b"\r\nContent-Length: "
_LENGTH_IN_LOWER_CASE: Final = b"\r\ncontent-length: "
"""Spellings of the header; a program that uses another one has its heads parsed."""
_END: Final = b"\r\n\r\n"


class Head:
    """The head of a send with nothing unusual about it."""

    __slots__ = (
        "authorization", "content_type", "door", "forwarded", "headers", "keep_alive", "length", "proven", "request_id",
        "target",
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
        """The id that the client has chosen, if it is a valid one."""
        self.proven: Proven | None = None
        """The success that these credentials had last."""
        self.keep_alive = True
        """Whether another request may follow its answer."""


class Heads:
    """Heads that are known again, on whichever connection they come, by all of their octets but the length's digits.

    These octets hold credentials. They are looked up by their hash, under a key of this process, so that the time it
    takes says nothing about heads that somebody guesses; and they are forgotten when they have not been used lately.
    """

    __slots__ = ("_former", "_recent", "_turn", "longest")

    def __init__(self, longest: int) -> None:
        """`longest` is the longest body of a plain known."""
        self.longest = longest
        self._recent: dict[bytes, Head] = {}
        self._former: dict[bytes, Head] = {}
        self._turn = 0.0

    def learn(self, known: Head, octets: bytes) -> bool:
        """Notes the head of a send whose credentials were right. The parser has read it from the first of `octets` on,
        with nothing before them; False where anything but one whole request is there.

        Between the request line and the first empty line each line is a header, whatever it says, and the length is
        that of the one which the parser has found.
        """
        if known.proven is None or known.request_id is not None:
            return False  # a client that names its requests names each another way
        request = _cut(octets)
        if request is None or not octets.startswith(b"POST "):
            return False
        head, digits, body = request
        if digits != known.length or int(digits) != len(body):
            return False
        self._keep(head, known)
        return True

    def find(self, octets: bytes) -> tuple[Head, bytes] | None:
        """The send, and its body, if `octets` are a head that is known, with a length of its own, and a whole body of
        up to `longest` octets; else None, which says nothing."""
        request = _cut(octets)
        if request is None:
            return None
        head, digits, body = request
        known = self._recent.get(head)
        if known is None:
            known = self._former.get(head)
            if known is None:
                return None
            self._keep(head, known)
        if len(body) > self.longest or not digits.isdigit() or int(digits) != len(body):
            return None
        return known, body

    def tick(self, now: float) -> None:
        """Begins a new generation if the current one is over. `now` is in seconds of one monotonic clock; to be called
        now and then."""
        if now >= self._turn:
            self._turn = now + GENERATION_S
            self._pass()

    def _keep(self, head: bytes, known: Head) -> None:
        if len(self._recent) >= HEADS_KEPT:
            self._pass()
        self._recent[head] = known

    def _pass(self) -> None:
        self._former, self._recent = self._recent, {}


def _cut(octets: bytes) -> tuple[bytes, bytes, bytes] | None:
    """Splits a head: returns it without the digits of its length, which stand in one place only; the digits; and the
    rest."""
    end = octets.find(_END) + len(_END)
    if not len(_END) <= end <= LONGEST_HEAD:
        return None
    start = octets.find(_LENGTH, 0, end)
    if start < 0:
        start = octets.find(_LENGTH_IN_LOWER_CASE, 0, end)
        if start < 0:
            return None
    start += len(_LENGTH)
    after = octets.find(b"\r", start, start + _DIGITS + 1)
    if after < 0:
        return None
    return octets[:start] + octets[after:end], octets[start:after], octets[end:]


def read_head(target: bytes, headers: Headers, longest: int) -> Head | None:
    """Returns the head of a POST if it is a plain send with a body of up to `longest` octets, else None."""
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
