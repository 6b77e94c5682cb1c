"""Splits a URL into origin and path, and makes the header lines that all requests to an origin share. For example,
`https://example.com:8443/sms?x=1` becomes the origin `(True, "example.com", 8443)` and the path `/sms?x=1`."""

import re
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from heliograph import __version__
from heliograph.net.address_guard import literal_address, plain_host

PLAIN_PATH = re.compile(r"/[!-\"$-~]*")
"""Matches a path and query that go into a request line as they are: visible ASCII, no fragment."""

DEFAULT_PORTS = {"http": 80, "https": 443}
KEPT = "!$%&'()*+,-./:;=?@_~"
"""Characters that stay unencoded: those allowed in a path, and the `%` of existing escapes."""


class OriginAddress(NamedTuple):
    """The address of an origin (RFC 6454)."""

    secure: bool
    host: str
    port: int


def split_plain(url: str) -> tuple[str, str]:
    """Splits an ordinary URL before its path; returns an empty path for any other URL."""
    cut = url.find("/", 8)
    if cut < 0:
        return url, ""
    path = url[cut:]
    return url[:cut], path if PLAIN_PATH.fullmatch(path) else ""


def parse(url: str) -> tuple[OriginAddress, str]:
    """Returns the origin and the path with its query. Raises ValueError with a reason that may be shown."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError("the URL cannot be read") from None
    if parts.scheme not in DEFAULT_PORTS:
        raise ValueError("the URL is neither http nor https")
    if parts.username is not None or parts.password is not None:
        raise ValueError("the URL has user information in it")
    host = plain_host(parts.hostname or "")
    if not host or port == 0:
        raise ValueError("the URL has no valid host or port")
    try:
        literal = literal_address(host)
    except ValueError:
        raise ValueError("the URL's host is not a valid address") from None
    path = parts.path or "/"
    if parts.query or url.partition("#")[0].endswith("?"):
        path += "?" + parts.query
    if not PLAIN_PATH.fullmatch(path):
        path = quote(path, safe=KEPT)
    name = host if literal is None else str(literal)
    return OriginAddress(parts.scheme == "https", name, port or DEFAULT_PORTS[parts.scheme]), path


def standing_lines(address: OriginAddress) -> str:
    """Returns the end of the request line and the headers that are the same for all requests to an origin."""
    host = f"[{address.host}]" if ":" in address.host else address.host
    if address.port != DEFAULT_PORTS["https" if address.secure else "http"]:
        host = f"{host}:{address.port}"
    return f" HTTP/1.1\r\nHost: {host}\r\nUser-Agent: Heliograph/{__version__}\r\nAccept: */*\r\n"
