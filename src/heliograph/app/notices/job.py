"""What the engine and the sender of callbacks give each other: all that the process that posts knows of the app."""

from dataclasses import dataclass


@dataclass(slots=True)
class Job:
    """One try of one callback. `secrets` sign it (several while one is being replaced)."""

    key: int
    webhook_id: str
    url: str
    body: bytes
    content_type: str
    secrets: tuple[bytes, ...]
    traceparent: str = ""
    """The header of that name (W3C Trace Context), where the message is traced."""


@dataclass(slots=True)
class Sent:
    """What became of one try: `code` is the HTTP status, 0 when there was no answer; `problem` says why, for people.

    `busy`: it was not tried, since that receiver has too many waiting already. `room` is in how many seconds there will
    be a place for it, at the rate at which the receiver answers; 0 where nobody knows.
    """

    key: int
    code: int
    problem: str = ""
    busy: bool = False
    room: float = 0.0
