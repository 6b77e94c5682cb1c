"""Whole replies, and the texts of the server's own answers, which the application chooses."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol


@dataclass(slots=True)
class Reply:
    """A complete answer to a request."""

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()
    """Headers in addition to content-type, content-length and x-request-id."""
    content_type: bytes = b"application/json"
    pieces: AsyncGenerator[bytes] | None = None
    """The body piece by piece, instead of `body`, without a content-length."""


class Declined(Exception):
    """The request gets this reply instead of an answer of the application."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply


class Replies(Protocol):
    """Texts, request ids and counters of the application behind the server.

    The server itself answers unreadable octets, too many connections, requests during a stop, and failures of the
    application. None of these methods may raise.
    """

    def malformed(self, problem: str) -> Reply:
        """Returns the reply (400) to octets that are no valid request."""

    def overloaded(self, problem: str) -> Reply:
        """Returns the reply (503) to a client that should try again later."""

    def too_many(self, problem: str, seconds: int) -> Reply:
        """Returns the reply (429) to a client over its share, which may try again after these seconds."""

    def failed(self, error: Exception, method: str, request_id: bytes | None) -> Reply:
        """Reports an error of the application, and returns the reply (500) to its request."""

    def next_request_id(self) -> bytes:
        """Returns a new `X-Request-Id`."""

    def note_response(self, status: int) -> None:
        """Counts a reply that the application has not seen."""

    def note_no_room(self, problem: OSError) -> None:
        """Reports that the system refuses to accept more connections."""

    def note_turned_away(self, why: str, client: str) -> None:
        """Counts, and may report, a connection that was refused or closed to make room; see `clients`."""
