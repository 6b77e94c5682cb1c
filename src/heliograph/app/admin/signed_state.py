"""Signed state: a *ticket* carries texts from a step of signing in, or of setting up a factor, to the next step.

The visitor's browser keeps the ticket in a form. A MAC prevents changes. A ticket is valid for five minutes and for a
single purpose. The store does not know it, and every node with the key can read it.

    urlsafe base64 of   MAC (32 octets) | until (ms) NUL purpose NUL text NUL text ...
"""

import hashlib
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable

LIFETIME_MS = 5 * 60_000

SEAL_OCTETS = 32


class SignedState:
    """Makes and reads tickets. `now_ms` returns the time in ms since the epoch."""

    def __init__(self, key: bytes, now_ms: Callable[[], int]) -> None:
        self._key = hashlib.blake2b(b"tickets", key=key, digest_size=32).digest()
        self._now_ms = now_ms

    def make(self, purpose: str, *parts: str) -> str:
        """Returns a ticket for texts without NUL characters, for example `make("enrol", "ada", "5f2c...")`."""
        body = "\0".join((str(self._now_ms() + LIFETIME_MS), purpose, *parts)).encode()
        return urlsafe_b64encode(self._seal(body) + body).decode()

    def read(self, purpose: str, ticket: str) -> list[str] | None:
        """Returns the texts of a ticket, or None if it is forged, expired or for another purpose."""
        try:
            octets = urlsafe_b64decode(ticket.encode("ascii"))
        except ValueError:
            return None
        # Base64 has several spellings of the same octets. Only the canonical spelling is accepted, because a passkey's
        # challenge is made from the text.
        if urlsafe_b64encode(octets).decode() != ticket:
            return None
        seal, body = octets[:SEAL_OCTETS], octets[SEAL_OCTETS:]
        if not hmac.compare_digest(seal, self._seal(body)):
            return None
        until, made_for, *parts = body.decode().split("\0")
        return parts if made_for == purpose and int(until) > self._now_ms() else None

    def _seal(self, body: bytes) -> bytes:
        return hmac.digest(self._key, body, "sha256")
