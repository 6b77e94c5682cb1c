"""The ASGI scope of a request, and the two ends of its connection."""

import re
from typing import Any, Final
from urllib.parse import unquote

import httptools

from heliograph.domain.security.host import network
from heliograph.http.asgi import Headers, Scope
from heliograph.net.flow import Transport
from heliograph.net.proxies import Address, Proxies, is_loopback, last_named, unmapped

NOBODY: Final = ("", 0)
"""Address of a client that had left before its address was looked up."""

_encoded_slash = re.compile("%2f", re.IGNORECASE).sub
_SCHEMES = (b"http", b"https")


class Endpoints:
    """Both ends of a connection. Addresses are looked up on demand: that is a tenth of a connection's work."""

    __slots__ = ("_local", "_peer", "_proxies", "_scheme", "_transport")

    def __init__(self, transport: Transport, proxies: Proxies | None, scheme: str) -> None:
        self._transport = transport
        self._proxies = proxies
        self._scheme = scheme
        self._peer: Address | None = None
        self._local: Address | None = None

    def peer(self) -> Address:
        """Returns the address of the other end."""
        if self._peer is None:
            self._peer = _address(self._transport.get_extra_info("peername"))
        return self._peer

    def local(self) -> Address:
        """Returns the address of this end."""
        if self._local is None:
            self._local = _address(self._transport.get_extra_info("sockname"))
        return self._local

    def client(self, forwarded: bytes | None) -> Address:
        """Returns the client's address: by `forwarded`, its X-Forwarded-For, if a trusted proxy says so."""
        proxies = self._proxies
        return self.peer() if proxies is None else proxies.client(self.peer(), forwarded)

    def client_name(self, headers: Headers | None = None) -> tuple[str, bool]:
        """Returns the name under which the client is counted, and whether that is a trusted proxy, which serves many
        clients.

        Without `headers`, the client is the other end of the connection. With `headers`, it is the client that a
        trusted proxy, or any proxy on this machine, gives in X-Forwarded-For. The name serves for counting only.
        """
        peer, proxies = self.peer()[0], self._proxies
        trusted = proxies is not None and proxies.trust(peer)
        forwarded = None if headers is None else _forwarded_for(headers)
        if forwarded is None or not (trusted or is_loopback(peer)):
            return network(peer), trusted
        if proxies is None or not trusted:
            return network(last_named(forwarded)), False
        host = proxies.client(self.peer(), forwarded)[0]
        return network(host), proxies.trust(host)

    def certificate_name(self) -> str | None:
        """Returns the subject of the client's certificate if one of our authorities signed it, otherwise None."""
        shown = self._transport.get_extra_info("peercert")
        if not isinstance(shown, dict) or not shown:
            return None
        parts: Any = shown.get("subject", ())
        return ",".join(f"{name}={value}" for part in parts for name, value in part)

    @property
    def is_secure(self) -> bool:
        """True if the connection itself uses TLS, even if a proxy reports otherwise for the client."""
        return self._scheme == "https"

    def scheme(self, headers: Headers) -> str:
        """Returns the scheme that the client used: by X-Forwarded-Proto, if a trusted proxy says so."""
        if self._proxies is None or not self._proxies.trust(self.peer()[0]):
            return self._scheme
        scheme = b"http"
        for name, value in headers:
            if name == b"x-forwarded-proto" and value.strip() in _SCHEMES:
                scheme = value.strip()
        return scheme.decode()


def request_scope(ends: Endpoints, method: str, version: str, target: bytes, headers: Headers) -> Scope:
    """Makes the scope (ASGI 3, `http`). Raises httptools.HttpParserError or ValueError if the target is malformed."""
    url: Any = httptools.parse_url(target)  # absent parts are None, though the type stubs say otherwise
    raw_path: bytes = url.path or b"/"
    path = raw_path.decode("ascii")
    if "%" in path:
        path = unquote(_encoded_slash("%252F", path))  # an encoded slash is no slash (RFC 3986, 2.2)
    client = ends.client(_forwarded_for(headers))
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": version,
        "method": method,
        "scheme": ends.scheme(headers),
        "path": path,
        "raw_path": raw_path,
        "query_string": url.query or b"",
        "root_path": "",
        "headers": headers,
        "client": client if client[0] else None,
        "server": ends.local(),
    }
    if ends.is_secure:
        scope["extensions"] = {"tls": {"client_cert_name": ends.certificate_name()}}
    return scope


def _address(address: object) -> Address:
    """Reads an address as a socket reports it. An IPv6 address has four fields, and may stand for an IPv4 address
    (`::ffff:192.0.2.1`).
    """
    if not isinstance(address, tuple):
        return NOBODY
    return unmapped(str(address[0])), int(address[1])


def _forwarded_for(headers: Headers) -> bytes | None:
    """Joins all X-Forwarded-For headers; None if there are none."""
    found = [value for name, value in headers if name == b"x-forwarded-for"]
    return b",".join(found) if found else None
