"""The check of `Host`, which protects the console and the admin API against DNS rebinding."""

from collections.abc import Collection

import msgspec

from heliograph.admin_api.answer import respond_json
from heliograph.domain.error import FORBIDDEN, Fault
from heliograph.http.asgi import Asgi, Receive, Scope, Send, asked_host, is_own_name

_REFUSED = msgspec.json.encode(
    Fault(
        FORBIDDEN, "The gateway is not known by the name in this address; the setting console.names has its names."
    ).body()
)


class HostCheck:
    """Answers 403 to every request for another name than these, than an address, and than localhost: a page whose own
    name leads here cannot ask for anything in its visitor's stead."""

    def __init__(self, application: Asgi, names: Collection[str]) -> None:
        self._application = application
        self._names = frozenset(name.lower().removesuffix(".") for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        host = asked_host(scope)
        if host in self._names or is_own_name(host):
            await self._application(scope, receive, send)
            return
        await respond_json(scope, send, FORBIDDEN.http, _REFUSED, [])
