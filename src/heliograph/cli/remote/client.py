"""A client of the customers' HTTP API, for `heliograph send`."""

import base64
import http.client
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

_PATH = "/api/v1/messages"
_TIMEOUT_S = 30.0
_LONGEST_PAUSE_S = 30.0
_DELAY = re.compile(r"[0-9]{1,6}").fullmatch

TRIES = 6
"""Tries of a request without an answer, or with an answer of `_AGAIN` or `_IN_DOUBT`."""

HOPELESS = frozenset({401, 402, 403})
"""Statuses that further requests would get too: wrong credentials, no credit, a suspended account."""

_AGAIN = frozenset({429, 503})

_IN_DOUBT = frozenset({0, 502, 504})
"""Statuses after which the request may be stored: no answer, a proxy's word that it got none, or the gateway's own that
the store was lost meanwhile."""


class BadUrl(Exception):
    """The given address of the gateway is not a URL."""


@dataclass(slots=True)
class SendOutcome:
    """Result of a request."""

    status: int
    """The HTTP status; 0 if there was no answer."""
    body: dict[str, Any]
    problem: str = ""
    """The error, as a sentence for people."""
    repeated: bool = False
    """True if an earlier run had sent the request, so that the gateway did not accept it again."""

    @property
    def sent(self) -> bool:
        return self.status == 200


class Client:
    """A keep-alive connection to the gateway. It is not thread-safe."""

    __slots__ = ("_address", "_authorization", "_base", "_connection", "_host", "_pause", "_port", "_tls")

    def __init__(self, url: str, user: str, key: str, pause_s: float = 1.0) -> None:
        """Makes a client without connecting. `pause_s` is the first pause between tries; it doubles each time.

        Raises BadUrl.
        """
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise BadUrl(f"{url!r} is not a URL: {error}") from error
        if parts.scheme not in ("http", "https") or not host:
            raise BadUrl(f"{url!r} is not an http or https URL, such as http://127.0.0.1:8080")
        self._host, self._port, self._tls = host, port, parts.scheme == "https"
        self._address = parts.netloc.rpartition("@")[2]
        self._base = parts.path.rstrip("/")
        credentials = base64.b64encode(f"{user}:{key}".encode()).decode("ascii")
        self._authorization = f"Basic {credentials}"
        self._connection: http.client.HTTPConnection | None = None
        self._pause = pause_s

    def send(self, fields: Mapping[str, str]) -> SendOutcome:
        """Sends a message. Only a request with a reference is retried, because a repetition is then not sent twice.

        The body is a form, because the account's setting `content_decoding` changes only the meaning of JSON.
        """
        body = urlencode(fields).encode("ascii")
        pause, lost = self._pause, False
        for left in reversed(range(TRIES if fields.get("reference") else 1)):
            outcome, retry_after = self._post(body)
            if outcome.status not in _AGAIN | _IN_DOUBT or not left:
                # The gateway may have accepted an earlier try of this run.
                outcome.repeated &= not lost
                return outcome
            lost |= outcome.status in _IN_DOUBT
            time.sleep(min(retry_after if retry_after is not None else pause, _LONGEST_PAUSE_S))
            pause *= 2
        raise AssertionError("the last try returns")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _post(self, body: bytes) -> tuple[SendOutcome, float | None]:
        """Makes a try. Returns its outcome, and the seconds of the answer's Retry-After, or None."""
        try:
            if self._connection is None:
                kind = http.client.HTTPSConnection if self._tls else http.client.HTTPConnection
                self._connection = kind(self._host, self._port, timeout=_TIMEOUT_S)
            self._connection.request("POST", self._base + _PATH, body, self._headers())
            response = self._connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            return SendOutcome(0, {}, f"no answer from {self._address}: {reason_of(error)}"), None
        delay = response.headers.get("Retry-After", "")
        return _outcome(response, answer), float(delay) if _DELAY(delay) else None

    def _headers(self) -> dict[str, str]:
        return {
            "Authorization": self._authorization,
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
        }


def reason_of(error: Exception) -> str:
    """Returns why there was no answer, without the error number: `Connection refused`."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _outcome(response: http.client.HTTPResponse, answer: bytes) -> SendOutcome:
    try:
        body = json.loads(answer)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        return SendOutcome(response.status if response.status != 200 else 0, {}, "the answer is not from a gateway")
    problem = ""
    if response.status != 200:
        field = f"{body['Field']}: " if body.get("Field") else ""
        problem = f"{field}{body.get('Message') or response.reason}"
    return SendOutcome(response.status, body, problem, response.headers.get("Idempotency-Replayed") == "true")
