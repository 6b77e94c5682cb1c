"""The customers' HTTP API as the `send` command uses it."""

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
"""Tries of a request that gets no answer, or 429 or 503."""

#: Answers after which no other request would fare better: credentials, credit, suspension.
HOPELESS = frozenset({401, 402, 403})

_AGAIN = frozenset({429, 503})


class BadUrl(Exception):
    """The given address of the gateway is no URL."""


@dataclass(slots=True)
class SendOutcome:
    """Result of one request. `status` is HTTP's, 0 if there was no answer; `problem` is for people."""

    status: int
    body: dict[str, Any]
    problem: str = ""
    repeated: bool = False
    """The gateway had accepted the request before this one was made for the first time."""

    @property
    def sent(self) -> bool:
        return self.status == 200


class Client:
    """One keep-alive connection; not for several threads at once."""

    __slots__ = ("_authorization", "_base", "_connection", "_host", "_pause", "_port", "_tls")

    def __init__(self, url: str, user: str, key: str, pause_s: float = 1.0) -> None:
        """`pause_s` is the first pause between tries, which then doubles. Raises BadUrl."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise BadUrl(f"{url!r} is no URL: {error}") from error
        if parts.scheme not in ("http", "https") or not host:
            raise BadUrl(f"{url!r} is no http or https URL, such as http://127.0.0.1:8080")
        self._host, self._port, self._tls = host, port, parts.scheme == "https"
        self._base = parts.path.rstrip("/")
        credentials = base64.b64encode(f"{user}:{key}".encode()).decode("ascii")
        self._authorization = f"Basic {credentials}"
        self._connection: http.client.HTTPConnection | None = None
        self._pause = pause_s

    def send(self, fields: Mapping[str, str]) -> SendOutcome:
        """Sends one message. Give it a reference: only then is it safe to try again, and is tried again.

        The body is a form, since a form's content means the same whatever the account's settings are.
        """
        body = urlencode(fields).encode("ascii")
        pause, lost = self._pause, False
        for left in reversed(range(TRIES if fields.get("reference") else 1)):
            outcome, retry_after = self._post(body)
            if (outcome.status and outcome.status not in _AGAIN) or not left:
                # after a try without an answer, it may have been that one which the gateway accepted
                outcome.repeated &= not lost
                return outcome
            lost |= not outcome.status
            time.sleep(min(retry_after if retry_after is not None else pause, _LONGEST_PAUSE_S))
            pause *= 2
        raise AssertionError("the last try returns")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _post(self, body: bytes) -> tuple[SendOutcome, float | None]:
        """One try: its outcome, and the pause that the gateway asked for, in seconds."""
        try:
            if self._connection is None:
                kind = http.client.HTTPSConnection if self._tls else http.client.HTTPConnection
                self._connection = kind(self._host, self._port, timeout=_TIMEOUT_S)
            self._connection.request("POST", self._base + _PATH, body, self._headers())
            response = self._connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            return SendOutcome(0, {}, f"no answer from {self._host}: {str(error) or type(error).__name__}"), None
        delay = response.headers.get("Retry-After", "")
        return _outcome(response, answer), float(delay) if _DELAY(delay) else None

    def _headers(self) -> dict[str, str]:
        return {
            "Authorization": self._authorization,
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
        }


def _outcome(response: http.client.HTTPResponse, answer: bytes) -> SendOutcome:
    try:
        body = json.loads(answer)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        return SendOutcome(response.status if response.status != 200 else 0, {}, "the answer is not the gateway's")
    problem = ""
    if response.status != 200:
        field = f"{body['Field']}: " if body.get("Field") else ""
        problem = f"{field}{body.get('Message') or response.reason}"
    return SendOutcome(response.status, body, problem, response.headers.get("Idempotency-Replayed") == "true")
