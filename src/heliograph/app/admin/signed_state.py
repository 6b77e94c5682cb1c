"""SignedState: what a visitor carries from one step of signing in, or of enrolling, to the next.

A ticket is sealed, so that nobody makes or changes one, and good for some minutes and for one purpose. No store knows
of it, and any node that has the key can read it.
"""

import hashlib
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable

LIFETIME_MS = 5 * 60_000

SEAL_OCTETS = 32


class SignedState:
    """Makes and reads tickets. `now_ms` tells the time in ms since the epoch."""

    def __init__(self, key: bytes, now_ms: Callable[[], int]) -> None:
        self._key = hashlib.blake2b(b"tickets", key=key, digest_size=32).digest()
        self._now_ms = now_ms

    def make(self, purpose: str, *parts: str) -> str:
        """Returns a ticket for these texts, none of which has a NUL character."""
        body = "\0".join((str(self._now_ms() + LIFETIME_MS), purpose, *parts)).encode()
        return urlsafe_b64encode(self._seal(body) + body).decode()

    def read(self, purpose: str, ticket: str) -> list[str] | None:
        """Returns the texts of a ticket, None unless it is ours, for this purpose and still good."""
        try:
            octets = urlsafe_b64decode(ticket.encode("ascii"))
        except ValueError:
            return None
        if urlsafe_b64encode(octets).decode() != ticket:  # each has one spelling: a passkey's challenge is made of it
            return None
        seal, body = octets[:SEAL_OCTETS], octets[SEAL_OCTETS:]
        if not hmac.compare_digest(seal, self._seal(body)):
            return None
        until, made_for, *parts = body.decode().split("\0")
        return parts if made_for == purpose and int(until) > self._now_ms() else None

    def _seal(self, body: bytes) -> bytes:
        return hmac.digest(self._key, body, "sha256")
