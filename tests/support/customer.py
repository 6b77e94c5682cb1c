"""A customer's program: speaks HTTP to a gateway as a client of its own would."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

from tests.support.timeouts import PATIENCE_S

Form = Mapping[str, str | int | Sequence[str]]


@dataclass(frozen=True, slots=True)
class Reply:
    """Header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.body)
        return document


class Customer:
    """Keeps a connection alive, as long as the gateway does. For a single thread."""

    def __init__(self, url: str, user: str, secret: str) -> None:
        self.url = url
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._connection = HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE_S)
        self._authorization = "Basic " + base64.b64encode(f"{user}:{secret}".encode()).decode()

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Raises OSError or HTTPException without an answer."""
        try:
            self._connection.request(method, path, body, {"Authorization": self._authorization, **(headers or {})})
            answer = self._connection.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, names, answer.read())
        except BaseException:
            self._connection.close()
            raise

    def get(self, path: str) -> Reply:
        return self.request("GET", path)

    def form(self, path: str, fields: Form, method: str = "POST") -> Reply:
        body = urlencode(fields, doseq=True).encode()
        return self.request(method, path, body, {"Content-Type": "application/x-www-form-urlencoded"})

    def document(self, path: str, fields: Mapping[str, Any], method: str = "POST") -> Reply:
        return self.request(method, path, json.dumps(fields).encode(), {"Content-Type": "application/json"})

    def send(self, version: int = 1, **fields: str | int | Sequence[str]) -> dict[str, Any]:
        """A message by form; `dlr_url` is the field `dlr-url`, `sender` is `from`. It has to be accepted."""
        named = {{"dlr_url": "dlr-url", "sender": "from"}.get(name, name): value for name, value in fields.items()}
        reply = self.form(f"/api/v{version}/messages", {"from": "Heliograph", **named})
        assert reply.status == 200, reply
        return reply.json

    def balance(self) -> str:
        reply = self.request("POST", "/api/v1/account/balance")
        assert reply.status == 200, reply
        balance: str = reply.json["Message"]
        return balance

    def events(self, message: str) -> list[str]:
        """The names of a message's events, in order."""
        reply = self.get(f"/api/v1/messages/{message}/events")
        assert reply.status == 200, reply
        return [event["Event"] for event in reply.json["events"]]

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
