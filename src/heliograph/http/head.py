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
"""Digits of a length that is believed, at most."""

_FRAGMENT: Final = 0x23
"""A `#`."""

_VERSIONS: Final = ("1.1", "1.0")

_UNHEARD_OF = re.compile(rb"(?:\r\n)*([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) [!-~]+ HTTP/1\.[01]\r\n").match


class ImproperError(ValueError):
    """A head of which no request is made; its text tells the client why."""


def new_parser(receiver: object) -> httptools.HttpRequestParser:
    """Returns a parser that calls the `on_` methods of the receiver."""
    parser = httptools.HttpRequestParser(receiver)
    # An answer after which the connection closes may be out before the rest of what a pipelining client has sent.
    parser.set_dangerous_leniencies(lenient_data_after_close=True)
    return parser


def body_parser(receiver: object, headers: Headers) -> httptools.HttpRequestParser:
    """Returns a parser for the body behind these headers, of which it is told the framing once more.

    A client may offer HTTP/2 (as some do with every first request) or a web socket, and we go on with HTTP/1.1. The
    parser takes an offer for the end of the request and its body for another protocol.
    """
    parser = new_parser(receiver)
    framing = b"".join([b"%b: %b\r\n" % header for header in headers if header[0] in _FRAMING])
    parser.feed_data(b"POST / HTTP/1.1\r\n%b\r\n" % framing)
    return parser


def declared_length(headers: Headers) -> int:
    """Returns the length of the body as far as the head tells it, else 0."""
    for name, value in headers:
        if name == b"content-length" and value.isdigit() and len(value) <= _DIGITS:
            return int(value)
    return 0


def problem_of(error: httptools.HttpParserError) -> str:
    """Returns what a client is told whose octets the parser, or `inspect` in one of its calls, refused."""
    improper = error.__context__
    return str(improper) if isinstance(improper, ImproperError) else "The HTTP request cannot be read."


def is_host(value: bytes) -> bool:
    """Whether a header Host may say this (RFC 9112, 3.2). An empty one is allowed."""
    return not value.strip(b" \t").translate(None, _HOST_OCTETS)


def inspect(version: str, target: bytes, headers: Headers) -> None:
    """Raises ImproperError where a head that the parser has taken is none."""
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
        raise ImproperError("There must be one header Host, neither none nor several.")
    if credentials > 1:
        raise ImproperError("There are several headers Authorization; send one.")


def unheard_of_method(octets: bytes) -> tuple[str, int]:
    """The method that octets begin with, and where the rest begins, if the first line is that of a request; else "".
    The parser knows the registered methods alone, while any other is as well-formed (RFC 9110, 9.1)."""
    found = _UNHEARD_OF(octets)
    return ("", 0) if found is None else (found[1].decode("ascii"), found.end(1))
