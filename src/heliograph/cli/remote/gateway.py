"""The admin API of a gateway elsewhere, as commands with a context use it."""

import http.client
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from heliograph.cli.remote.client import BadUrl
from heliograph.cli.remote.contexts import GatewayContext
from heliograph.net.proxies import is_loopback

if TYPE_CHECKING:
    from heliograph.app.resources.description import Asked

_ROOT = "/admin/v1"
_TIMEOUT_S = 60.0

Shape = TypeVar("Shape")


class RemoteRefusal(Exception):
    """The gateway refused a request, or gave no answer (`status` 0). The text is for people."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class RemoteGateway:
    """One connection to the admin API for each request; commands make few."""

    def __init__(self, name: str, context: GatewayContext) -> None:
        """`name` is that of the context. Raises BadUrl."""
        self.name = name
        self._token = context.token
        self._tls, self._host, self._port, self._base = parse_server(context.server)

    def get(self, answers: type[Shape], *path: object, **query: object) -> Shape:
        """Asks for what `answers` is the shape of; parameters that are None are left out. Raises
        RemoteRefusal."""
        return self.ask("GET", answers, *path, query=query)

    def ask(
        self,
        method: str,
        answers: type[Shape],
        *path: object,
        body: object = None,
        query: Mapping[str, object] | None = None,
    ) -> Shape:
        """Makes a request; `path` is in parts below the root. Raises RemoteRefusal."""
        import msgspec

        given = {name: str(value) for name, value in (query or {}).items() if value is not None}
        asked = "/" + "/".join(quote(str(part), safe="") for part in path)
        answer = self._told(method, asked, given, None if body is None else msgspec.json.encode(body))
        try:
            return msgspec.json.decode(answer, type=answers)
        except msgspec.MsgspecError as problem:
            raise self._foreign(problem) from problem

    async def send(self, asked: "Asked") -> Any:
        """Makes a request; returns the JSON object. Raises RemoteRefusal."""
        body = None if asked.body is None else json.dumps(asked.body).encode()
        answer = self._told(asked.method, asked.path, asked.query, body)
        try:
            return json.loads(answer)
        except ValueError as problem:
            raise self._foreign(problem) from problem

    def _foreign(self, problem: Exception) -> RemoteRefusal:
        return RemoteRefusal(200, f"the gateway of the context {self.name} answers as another version does: {problem}")

    def _told(self, method: str, path: str, query: Mapping[str, str], body: bytes | None) -> bytes:
        """Returns the body of the answer. Raises RemoteRefusal."""
        target = f"{self._base}{_ROOT}{path}" + (f"?{urlencode(query)}" if query else "")
        status, answer = self._exchange(method, target, body)
        if not 200 <= status < 300:
            raise RemoteRefusal(status, self._problem(status, answer))
        return answer

    def _exchange(self, method: str, target: str, body: bytes | None) -> tuple[int, bytes]:
        kind = http.client.HTTPSConnection if self._tls else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=_TIMEOUT_S)
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            connection.request(method, target, body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as problem:
            text = f"no answer from {self._host} (context {self.name}): {str(problem) or type(problem).__name__}"
            raise RemoteRefusal(0, text) from problem
        finally:
            connection.close()

    def _problem(self, status: int, answer: bytes) -> str:
        try:
            told: Any = json.loads(answer)
            message, field = str(told["Message"]), told.get("Field")
        except (ValueError, KeyError, TypeError, AttributeError):
            return f"{self._host} answers {status}, and not as a gateway does"
        named = f"{field}: {message}" if field and not message.startswith(f"{field}:") else message
        return f"{named} (context {self.name})" if status in (401, 403) else named


def parse_server(server: str) -> tuple[bool, str, int | None, str]:
    """Returns whether it is TLS, the host, the port and the path before ours. Raises BadUrl."""
    try:
        parts = urlsplit(server)
        host, port = parts.hostname, parts.port
    except ValueError as problem:
        raise BadUrl(f"{server!r} is no URL: {problem}") from problem
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment or parts.username:
        raise BadUrl(f"{server!r} is no URL of a gateway, such as https://sms.example.net")
    return parts.scheme == "https", host, port, parts.path.rstrip("/").removesuffix(_ROOT)


def is_in_the_clear(server: str) -> bool:
    """Says whether a token would cross a network in the clear. Raises BadUrl."""
    tls, host, _, _ = parse_server(server)
    return not tls and not is_loopback(host)
