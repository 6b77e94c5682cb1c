"""The check that lets only clients with a certificate reach the admin API."""

import msgspec

from heliograph.admin_api.answer import respond_json
from heliograph.domain.error import FORBIDDEN, Fault
from heliograph.http.asgi import Asgi, Receive, Scope, Send

_REFUSED = msgspec.json.encode(
    Fault(
        FORBIDDEN,
        "The admin API is for clients with a certificate; come by HTTPS to http.tls_listen, and show one that "
        "an authority in admin.client_ca_file has signed.",
    ).body()
)


class CertificateEndpoint:
    """Answers 403 to every request of a connection on which no trusted certificate was shown. What a proxy says of its
    clients' certificates is not believed."""

    def __init__(self, application: Asgi) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        tls = scope.get("extensions", {}).get("tls", {})
        if tls.get("client_cert_name") is not None:
            await self._application(scope, receive, send)
            return
        await respond_json(scope, send, FORBIDDEN.http, _REFUSED, [])
