"""Authentication: a user and a secret against an account's API keys or its password, as the door asks for.

A check that succeeded is remembered for some minutes under a keyed hash of the credentials as they came, together with
what proved them (the key's digest, the password's hash): while the account still has that, the secret need not be
checked again.
"""

import hashlib
import hmac
from dataclasses import dataclass
from math import ceil

from heliograph.app.ports import Secrets
from heliograph.app.sending.directory import AccountView, Directory
from heliograph.app.sending.password_queue import PasswordQueue, Verify, network
from heliograph.app.sending.principal import Door, Principal, Secret
from heliograph.domain import gate
from heliograph.domain.error import TOO_EARLY, UNAUTHENTICATED, Fault
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
class ClientCredentials:
    """A user and a secret, read from what a client sent."""

    name: str
    secret: str
    sent: bytes
    """The octets that they were read from; a success is remembered by these."""


@dataclass(slots=True)
class Proven:
    """A success that is remembered, good while `Authenticator.holds` says so. `proof` is the digest of the key, or the
    hash of the password, that it was made with."""

    name: str
    proof: bytes
    principal: Principal
    generation: int
    until: float


class Authenticator:
    """Checks credentials. Times are seconds of a monotonic clock."""

    def __init__(self, directory: Directory, secrets: Secrets, verify: Verify) -> None:
        self._directory = directory
        self._passwords = PasswordQueue(verify)
        self._hash_key = secrets.octets(32)
        self._dummy_hash = secrets.hash_password(secrets.token(32))
        self._proven: dict[bytes, Proven] = {}
        self._failures: dict[bytes, list[float]] = {}

    def proven(self, door: Door, sent: bytes | None, now: float) -> Proven | None:
        """Returns the success with these octets at this door, if there was one lately that still holds; else `check`
        must be asked."""
        if sent is None:
            return None
        proven = self._proven.get(self._digest(door, sent))
        return proven if proven is not None and self.holds(proven, now) else None

    def holds(self, proven: Proven, now: float) -> bool:
        """Says whether a success still stands: its time has not passed, and nobody's account may have changed."""
        return proven.generation == self._directory.generation and proven.until >= now

    async def check(self, door: Door, credentials: ClientCredentials, address: str, now: float) -> Principal:
        """Returns who the credentials prove; raises Fault (401, or 429 from the tenth failure in a minute on)."""
        digest = self._digest(door, credentials.sent)
        proven = self._proven.get(digest)
        if proven is not None and proven.until >= now:
            generation = self._directory.generation
            view = await self._directory.account(proven.name)
            if view is not None and proven.proof in _proofs(door, view):
                proven.principal, proven.generation = Principal(view, door), generation
                return proven.principal
        name = credentials.name
        pair = self._pair(name, address)
        if len(failures := self._recent_failures(pair, now)) >= FAILURES_REFUSED:
            raise _slow_down(failures, now)
        generation = self._directory.generation
        if door.secret is Secret.API_KEY:
            view, proof = await self._prove_key(name, credentials.secret)
        else:
            view, proof = await self._prove_password(name, credentials.secret, digest, pair, address)
        if view is None:
            failures = self._recent_failures(pair, now)  # others may have failed meanwhile
            failures.append(now)
            if len(failures) >= LOGIN_FAILURES:
                raise _slow_down(failures, now)
            raise _wrong(door)
        principal = Principal(view, door)
        self._proven.pop(digest, None)
        self._proven[digest] = Proven(name, proof, principal, generation, now + REMEMBERED_S)
        if len(self._proven) > REMEMBERED:
            del self._proven[next(iter(self._proven))]
        return principal

    # Both read the account anew: a key made a moment ago works at once, and the time taken does not tell whether there
    # is such an account.

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
        right = await self._passwords.right(hashed, secret, asked, pair, address)
        return (view, hashed.encode()) if right and view is not None else (None, b"")

    def _digest(self, door: Door, sent: bytes) -> bytes:
        return hashlib.blake2b(sent, key=self._hash_key, person=door.name.encode(), digest_size=16).digest()

    def _pair(self, name: str, address: str) -> bytes:
        """Returns what stands for a user at an address."""
        return hashlib.blake2b(f"{network(address)}\n{name}".encode(), key=self._hash_key, digest_size=16).digest()

    def _recent_failures(self, pair: bytes, now: float) -> list[float]:
        """Returns the failures of the last minute, to be added to; they are counted from now on if there were none."""
        failures = self._failures.pop(pair, [])
        since = now - LOGIN_WINDOW_S
        failures = [at for at in failures if at > since]
        self._failures[pair] = failures
        if len(self._failures) > WATCHED:
            del self._failures[next(iter(self._failures))]
        return failures


def admit(view: AccountView, address: str) -> None:
    """Raises Fault (403) unless the account may be used, and from there."""
    if view.policy is not None:
        judgement = gate.admit(view.policy, address)
        if isinstance(judgement, gate.Refuse):
            raise judgement.fault()


def _proofs(door: Door, view: AccountView) -> tuple[bytes, ...]:
    return view.keys if door.secret is Secret.API_KEY else (view.account.password_hash.encode(),)


def _wrong(door: Door) -> Fault:
    problem = f"The credentials are wrong; {door.name} takes the user name and the {door.secret.value}."
    return Fault(UNAUTHENTICATED, problem)


def _slow_down(failures: list[float], now: float) -> Fault:
    wait = max(1, ceil(failures[-LOGIN_FAILURES] + LOGIN_WINDOW_S - now))
    return Fault(TOO_EARLY, "Too many wrong credentials from this address; wait before the next try.", None, wait)
