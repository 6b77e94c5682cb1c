"""Checks before the admin API and the console, and the answers in JSON of all three."""

from collections.abc import Collection

import msgspec

from heliograph.domain.error import FORBIDDEN, Fault
from heliograph.http.asgi import Asgi, Headers, Receive, Scope, Send, asked_host, is_own_name, respond

_NO_CERTIFICATE = Fault(
    FORBIDDEN,
    "The admin API is for clients with a certificate; come by HTTPS to http.tls_listen, and show one that "
    "an authority in admin.client_ca_file has signed.",
)
_OTHER_NAME = Fault(
    FORBIDDEN, "The gateway is not known by the name in this address; the setting console.names has its names."
)


class CertificateEndpoint:
    """Answers 403 to every request of a connection without a trusted certificate. It does not believe a proxy's headers
    about certificates."""

    def __init__(self, application: Asgi) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        tls = scope.get("extensions", {}).get("tls", {})
        if tls.get("client_cert_name") is None:
            await _refuse(scope, send, _NO_CERTIFICATE)
        else:
            await self._application(scope, receive, send)


class OwnNames:
    """Names by which requests may ask for the gateway: its host names, any address, and localhost."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(name.lower().removesuffix(".") for name in names)

    def allow(self, headers: Headers) -> bool:
        """Returns whether a request with these headers asks for the gateway by such a name."""
        host = asked_host(headers)
        return host in self._names or is_own_name(host)


class HostCheck:
    """Answers 403 to requests with a `Host` that is no name of the gateway: protection against DNS
    rebinding."""

    def __init__(self, application: Asgi, names: OwnNames) -> None:
        self._application = application
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._names.allow(scope["headers"]):
            await self._application(scope, receive, send)
        else:
            await _refuse(scope, send, _OTHER_NAME)


async def _refuse(scope: Scope, send: Send, fault: Fault) -> None:
    await respond_json(scope, send, fault.entry.http, msgspec.json.encode(fault.body()), [])


async def respond_json(scope: Scope, send: Send, status: int, body: bytes, headers: Headers) -> None:
    """Sends the whole answer, which no cache may keep; `headers` has all but its type and length."""
    about_body = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
    ]
    await respond(scope, send, status, [*headers, *about_body], body)
