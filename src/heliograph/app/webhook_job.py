"""Messages between the engine and the process that posts callbacks. That process imports no other module of `app`."""

from dataclasses import dataclass


@dataclass(slots=True)
class WebhookJob:
    """An attempt of a callback. `secrets` sign it; there are several while a secret is being replaced."""

    key: int
    webhook_id: str
    url: str
    body: bytes
    content_type: str
    secrets: tuple[bytes, ...]
    traceparent: str = ""
    """The header of that name (W3C Trace Context), where the message is traced."""
    operator_code: str = ""
    """The header `heliograph-operator-code`: printable ASCII; empty for no header."""
    wants_reply: bool = False
    """Whether the text of the answer is wanted."""
    account: int = 0
    """The account that it belongs to: connections and places in line are shared out by account."""


@dataclass(slots=True)
class TryResult:
    """The result of an attempt of a notice.

    `code`: the HTTP status; 0 without an answer.

    `problem`: the reason, for people.

    `busy`: no attempt was made, because the receiver has too many waiting attempts.

    `room`: seconds until a slot is free, at the receiver's present rate; 0 means unknown.

    `reply`: the text of a 2xx, if it was wanted. If it cannot be read, `problem` says why.
    """

    key: int
    code: int
    problem: str = ""
    busy: bool = False
    room: float = 0.0
    reply: str = ""
