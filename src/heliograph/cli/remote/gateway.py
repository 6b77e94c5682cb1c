"""A client of the admin API of a gateway on another machine, for commands with a context."""

import http.client
import json
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode, urlsplit

from heliograph.cli.remote.client import BadUrl, reason_of
from heliograph.cli.remote.contexts import GatewayContext
from heliograph.net.proxies import is_loopback

if TYPE_CHECKING:
    from heliograph.app.resources.description import Asked

_ROOT = "/admin/v1"
_TIMEOUT_S = 60.0

Shape = TypeVar("Shape")


class RemoteRefusal(Exception):
    """The gateway refused a request, or did not answer. The text is a sentence for people."""

    def __init__(self, status: int, text: str) -> None:
        """`status` is the HTTP status, 0 without an answer."""
        super().__init__(text)
        self.status = status


class RemoteGateway:
    """The admin API of a gateway. Each request opens a connection, because a command makes few requests."""

    def __init__(self, name: str, context: GatewayContext) -> None:
        """`name` is the name of the context, for errors. Raises BadUrl."""
        self.name = name
        self._token = context.token
        self._tls, self._host, self._port, self._base = parse_server(context.server)

    def send(self, asked: "Asked") -> Any:
        """Makes a request, and returns the JSON object. Raises RemoteRefusal."""
        path = asked.path + (f"?{urlencode(asked.query)}" if asked.query else "")
        return self._request(asked.method, path, asked.body, _TIMEOUT_S)

    def get(self, path: str, timeout_s: float) -> Any:
        """Returns the JSON object at a path such as `/accounts`. Raises RemoteRefusal."""
        return self._request("GET", path, None, timeout_s)

    def _request(self, method: str, path: str, content: Any, timeout_s: float) -> Any:
        kind = http.client.HTTPSConnection if self._tls else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=timeout_s)
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        body = None
        if content is not None:
            headers["Content-Type"], body = "application/json", json.dumps(content).encode()
        try:
            connection.request(method, f"{self._base}{_ROOT}{path}", body, headers)
            response = connection.getresponse()
            status, answer = response.status, response.read()
        except (OSError, http.client.HTTPException) as problem:
            address = f"{self._host}:{connection.port}"
            text = f"no answer from {address} (context {self.name}): {reason_of(problem)}"
            raise RemoteRefusal(0, text) from problem
        finally:
            connection.close()
        if not 200 <= status < 300:
            raise RemoteRefusal(status, self._problem(status, answer))
        try:
            return json.loads(answer)
        except ValueError as problem:
            text = (
                f"the gateway of the context {self.name} has another version, and its answer cannot be read: {problem}"
            )
            raise RemoteRefusal(status, text) from problem

    def _problem(self, status: int, answer: bytes) -> str:
        try:
            body: Any = json.loads(answer)
            message, field = str(body["Message"]), body.get("Field")
        except (ValueError, KeyError, TypeError, AttributeError):
            return f"{self._host} answers {status}, but the answer is not from a gateway"
        named = f"{field}: {message}" if field and not message.startswith(f"{field}:") else message
        return f"{named} (context {self.name})" if status in (401, 403) else named


def parse_server(server: str) -> tuple[bool, str, int | None, str]:
    """Returns TLS, host, port and the path before `/admin/v1`. Raises BadUrl.

    For example `(True, "sms.example.net", None, "")` for `https://sms.example.net`.
    """
    try:
        parts = urlsplit(server)
        host, port = parts.hostname, parts.port
    except ValueError as problem:
        raise BadUrl(f"{server!r} is not a URL: {problem}") from problem
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment or parts.username:
        raise BadUrl(f"{server!r} is not the URL of a gateway, such as https://sms.example.net")
    return parts.scheme == "https", host, port, parts.path.rstrip("/").removesuffix(_ROOT)


def is_in_the_clear(server: str) -> bool:
    """Returns True if a token would cross a network without encryption. Raises BadUrl."""
    tls, host, _, _ = parse_server(server)
    return not tls and not is_loopback(host)
