"""Rules for heads of requests, beyond the parser's: where two readers could understand two things, no request is
made of it. A proxy may be the other reader.
"""

import re
from typing import Final

import httptools

from heliograph.http import limits
from heliograph.http.asgi import Headers

_HOST_OCTETS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%!$&'()*+,;=:[]"

_FRAMING: Final = (b"content-length", b"transfer-encoding")

_DIGITS: Final = 12
"""Most digits of a valid length."""

_FRAGMENT: Final = 0x23
"""The octet `#`."""

_VERSIONS: Final = ("1.1", "1.0")

_UNHEARD_OF = re.compile(rb"(?:\r\n)*([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) [!-~]+ HTTP/1\.[01]\r\n").match


class ImproperError(ValueError):
    """The head is malformed; the text tells the client why."""


def new_parser(receiver: object) -> httptools.HttpRequestParser:
    """Returns a parser that calls the `on_` methods of the receiver."""
    parser = httptools.HttpRequestParser(receiver)
    # The answer that closes the connection may be sent before a pipelining client has finished sending.
    parser.set_dangerous_leniencies(lenient_data_after_close=True)
    return parser


def body_parser(receiver: object, headers: Headers) -> httptools.HttpRequestParser:
    """Returns a parser for the body behind these headers. It is told the framing again.

    A client may offer HTTP/2 (some clients do so with every first request) or a web socket, and we continue with
    HTTP/1.1. The first parser takes such an offer for the end of the request, and the body for another protocol.
    """
    parser = new_parser(receiver)
    framing = b"".join([b"%b: %b\r\n" % header for header in headers if header[0] in _FRAMING])
    parser.feed_data(b"POST / HTTP/1.1\r\n%b\r\n" % framing)
    return parser


def declared_length(headers: Headers) -> int:
    """Returns the length of the body if the head states it, otherwise 0."""
    for name, value in headers:
        if name == b"content-length" and value.isdigit() and len(value) <= _DIGITS:
            return int(value)
    return 0


def problem_of(error: httptools.HttpParserError) -> str:
    """Returns the error text for a client after the parser, or `inspect` in a callback, rejected its octets."""
    improper = error.__context__
    return str(improper) if isinstance(improper, ImproperError) else "The HTTP request cannot be read."


def is_host(value: bytes) -> bool:
    """True if a Host header may have this value (RFC 9112, 3.2). An empty value is allowed."""
    return not value.strip(b" \t").translate(None, _HOST_OCTETS)


def inspect(version: str, target: bytes, headers: Headers) -> None:
    """Raises ImproperError if a head is malformed although the parser accepted it."""
    if version not in _VERSIONS:
        raise ImproperError("The version of HTTP is not spoken here; use HTTP/1.1.")
    if _FRAGMENT in target:
        raise ImproperError("The path has a fragment (#), which is not for servers; leave it out.")
    if len(target) > limits.MAX_TARGET_OCTETS:
        raise ImproperError(f"The path with its query is too long; it may have {limits.MAX_TARGET_OCTETS:,} octets.")
    hosts = credentials = 0
    for name, value in headers:
        if name == b"host":
            hosts += 1
            if not is_host(value):
                raise ImproperError("The header Host is no host.")
        elif name == b"authorization":
            credentials += 1
        elif name == b"transfer-encoding" and (version == "1.0" or value.strip(b" \t").lower() != b"chunked"):
            raise ImproperError("Of transfer encodings HTTP/1.1 with chunked alone is understood here.")
    if hosts > 1 or (not hosts and version == "1.1"):
        raise ImproperError("There must be exactly one header Host.")
    if credentials > 1:
        raise ImproperError("There are several headers Authorization; send a single header.")


def unheard_of_method(octets: bytes) -> tuple[str, int]:
    """Returns the method at the start of the octets and the position after it, if the first line is a request line;
    otherwise "".

    The parser knows the registered methods only, but any other method is well-formed too (RFC 9110, 9.1).
    """
    found = _UNHEARD_OF(octets)
    return ("", 0) if found is None else (found[1].decode("ascii"), found.end(1))
