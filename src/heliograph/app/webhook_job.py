"""Messages between the engine and the process that posts callbacks, which imports nothing else of `app`."""

from dataclasses import dataclass


@dataclass(slots=True)
class WebhookJob:
    """One try of one callback. `secrets` sign it (several while one is being replaced)."""

    key: int
    webhook_id: str
    url: str
    body: bytes
    content_type: str
    secrets: tuple[bytes, ...]
    traceparent: str = ""
    """The header of that name (W3C Trace Context), where the message is traced."""
    operator_code: str = ""
    """The header `heliograph-operator-code`: printable ASCII; empty for none."""
    wants_reply: bool = False
    """Whether the text of the answer is wanted."""
    account: int = 0
    """The account that it belongs to: connections and places in line are shared out by account."""


@dataclass(slots=True)
class TryResult:
    """The result of one try of a notice: `code` is the HTTP status, 0 without an answer; `problem` says why to people.

    `busy`: nothing was tried, since the receiver has too many waiting already. `room` is in how many seconds there
    will be a place, at the rate at which the receiver answers; 0 means unknown. `reply` is the text of a 2xx, where it
    was wanted; if it cannot be read `problem` says why.
    """

    key: int
    code: int
    problem: str = ""
    busy: bool = False
    room: float = 0.0
    reply: str = ""
