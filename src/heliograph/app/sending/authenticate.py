"""Who sends a request: Basic credentials (RFC 7617) against an account's API keys (v1) or its password (v2).

A check that succeeded is remembered for some minutes under a keyed hash of the header, together with what proved it
(the key's digest, the password's hash): while the account still has that, the secret need not be checked again.
"""

import binascii
import hashlib
import hmac
from dataclasses import dataclass
from math import ceil

from heliograph.app.ports import Secrets
from heliograph.app.sending.directory import AccountView, Directory
from heliograph.app.sending.password_queue import Checks, Verify, network
from heliograph.domain.error import FORBIDDEN, TOO_EARLY, UNAUTHENTICATED, Fault
from heliograph.domain.host import is_within
from heliograph.domain.limits import LOGIN_FAILURES, LOGIN_WINDOW_S

REMEMBERED_S = 300.0
"""Seconds that a successful check is remembered."""

REMEMBERED = 20_000
"""Successful checks remembered at once; of more, the oldest is dropped."""

FAILURES_REFUSED = 100
"""Failures of one user from one address within LOGIN_WINDOW_S from which on nothing more is checked there."""

WATCHED = 20_000
"""Pairs of user and address whose failures are counted at once; of more, the oldest is dropped."""


@dataclass(slots=True)
class Known:
    """A success that is remembered, while `Gate.holds` says so. `proof` is the digest of the key, or the hash of the
    password, that it was made with."""

    name: str
    proof: bytes
    view: AccountView
    generation: int
    until: float


class Gate:
    """Times are seconds of a monotonic clock."""

    def __init__(self, directory: Directory, secrets: Secrets, verify: Verify) -> None:
        self._directory = directory
        self._checks = Checks(verify)
        self._hash_key = secrets.octets(32)
        self._dummy_hash = secrets.hash_password(secrets.token(32))
        self._known: dict[bytes, Known] = {}
        self._failures: dict[bytes, list[float]] = {}

    def remembered(self, version: int, header: bytes | None, now: float) -> AccountView | None:
        """The account of credentials that proved right lately, and None where more must be asked: see `check`."""
        known = self.known(version, header, now)
        return None if known is None else known.view

    def known(self, version: int, header: bytes | None, now: float) -> Known | None:
        """As `remembered`, for who may ask again soon: then `holds` tells without looking at the header."""
        if header is None:
            return None
        known = self._known.get(self._digest(version, header))
        return known if known is not None and self.holds(known, now) else None

    def holds(self, known: Known, now: float) -> bool:
        """Whether what was known is still so: its time has not passed, and nobody's account may have changed."""
        return known.generation == self._directory.generation and known.until >= now

    async def check(self, version: int, header: bytes | None, address: str, now: float) -> AccountView:
        """The account of the credentials; raises Fault (401, or 429 from the tenth failure in a minute on)."""
        name, secret = _credentials(header)
        assert header is not None
        digest = self._digest(version, header)
        known = self._known.get(digest)
        if known is not None and known.until >= now:
            generation = self._directory.generation
            view = await self._directory.account(known.name)
            if view is not None and known.proof in _proofs(version, view):
                known.view, known.generation = view, generation
                return view
        pair = self._pair(name, address)
        if len(failures := self._recent_failures(pair, now)) >= FAILURES_REFUSED:
            raise _slow_down(failures, now)
        generation = self._directory.generation
        if version == 1:
            view, proof = await self._prove_key(name, secret)
        else:
            view, proof = await self._prove_password(name, secret, digest, pair, address)
        if view is None:
            failures = self._recent_failures(pair, now)  # others may have failed meanwhile
            failures.append(now)
            if len(failures) >= LOGIN_FAILURES:
                raise _slow_down(failures, now)
            raise _wrong(version)
        self._known.pop(digest, None)
        self._known[digest] = Known(name, proof, view, generation, now + REMEMBERED_S)
        if len(self._known) > REMEMBERED:
            del self._known[next(iter(self._known))]
        return view

    # The account is read anew, so that a key made a moment ago works at once, and so that the time taken does not tell
    # whether there is such an account.

    async def _prove_key(self, name: str, secret: str) -> tuple[AccountView | None, bytes]:
        view = await self._directory.fresh_account(name)
        digest = hashlib.sha256(secret.encode()).digest()
        keys = view.keys if view is not None else (bytes(32),)
        right = False
        for key in keys:
            right |= hmac.compare_digest(key, digest)
        return (view, digest) if right and view is not None else (None, b"")

    async def _prove_password(
        self, name: str, secret: str, asked: bytes, pair: bytes, address: str
    ) -> tuple[AccountView | None, bytes]:
        view = await self._directory.fresh_account(name)
        hashed = view.account.password_hash if view is not None else self._dummy_hash
        right = await self._checks.right(hashed, secret, asked, pair, address)
        return (view, hashed.encode()) if right and view is not None else (None, b"")

    def _digest(self, version: int, header: bytes) -> bytes:
        person = b"v1" if version == 1 else b"v2"
        return hashlib.blake2b(header, key=self._hash_key, person=person, digest_size=16).digest()

    def _pair(self, name: str, address: str) -> bytes:
        """Stands for a user at an address."""
        return hashlib.blake2b(f"{network(address)}\n{name}".encode(), key=self._hash_key, digest_size=16).digest()

    def _recent_failures(self, pair: bytes, now: float) -> list[float]:
        """The failures of the last minute, to be added to; counted from now on if there were none."""
        failures = self._failures.pop(pair, [])
        since = now - LOGIN_WINDOW_S
        failures = [at for at in failures if at > since]
        self._failures[pair] = failures
        if len(self._failures) > WATCHED:
            del self._failures[next(iter(self._failures))]
        return failures


def admit(view: AccountView, address: str) -> None:
    """Raises Fault (403) unless the account may be used, and from there."""
    if view.account.suspended:
        raise Fault(FORBIDDEN, "The account is suspended; ask the operator of the gateway.")
    if view.networks and not is_within(address, view.networks):
        raise Fault(FORBIDDEN, "The account may not be used from this address; ask the operator of the gateway.")


def _proofs(version: int, view: AccountView) -> tuple[bytes, ...]:
    return view.keys if version == 1 else (view.account.password_hash.encode(),)


def _credentials(header: bytes | None) -> tuple[str, str]:
    """User and secret; raises Fault where there are none that can be read."""
    if header is None:
        raise Fault(UNAUTHENTICATED, "The header Authorization is missing; send Basic credentials.")
    scheme, _, encoded = header.strip().partition(b" ")
    problem = "The header Authorization cannot be read; send Basic and the base64 of user:secret in UTF-8."
    if scheme.lower() != b"basic":
        raise Fault(UNAUTHENTICATED, problem)
    try:
        name, colon, secret = binascii.a2b_base64(encoded.strip(), strict_mode=True).decode().partition(":")
    except ValueError:
        raise Fault(UNAUTHENTICATED, problem) from None
    if not colon or any(char < " " or char == "\x7f" for char in name):  # RFC 7617, 2: no control characters
        raise Fault(UNAUTHENTICATED, problem)
    return name, secret


def _wrong(version: int) -> Fault:
    secret = "API key" if version == 1 else "password"
    return Fault(UNAUTHENTICATED, f"The credentials are wrong; v{version} takes the user name and the {secret}.")


def _slow_down(failures: list[float], now: float) -> Fault:
    wait = max(1, ceil(failures[-LOGIN_FAILURES] + LOGIN_WINDOW_S - now))
    return Fault(TOO_EARLY, "Too many wrong credentials from this address; wait before the next try.", None, wait)
