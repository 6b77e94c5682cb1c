"""Authentication: checks a user and a secret against an account's API keys or its password, as the door requires.

A successful check is remembered for some minutes, under a keyed hash of the received credentials. It is stored with its
proof (the key's digest, or the password's hash): while the account still has that proof, the secret is not checked
again.
"""

import hashlib
import hmac
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from math import ceil, inf
from typing import Any

from heliograph.app.ports import Secrets, SignIns, Unavailable
from heliograph.app.sending.directory import AccountView, Directory
from heliograph.app.sending.failure_register import FailureRegister, SignInDoor, SignInProblem
from heliograph.app.sending.limits import RateLimits
from heliograph.app.sending.password_queue import PasswordQueue, Verify
from heliograph.app.sending.principal import Door, Principal, Secret
from heliograph.domain.error import TOO_EARLY, UNAUTHENTICATED, Fault
from heliograph.domain.limits.defaults import LOGIN_FAILURES, LOGIN_FAILURES_AN_ADDRESS
from heliograph.domain.limits.gate import admit, over_requests, require

REMEMBERED_S = 300.0
"""Seconds that a successful check is remembered."""

REMEMBERED = 20_000
"""Most successful checks in memory. Beyond that the oldest is dropped."""

FAILURES_REFUSED = 100
"""Failures of a user from an address within LOGIN_WINDOW_S after which the address is refused without a check. The same
number of failures of all users from an address stops checks of users who never signed in from there."""

Hash = Callable[[str], Awaitable[str]]
"""Runs `Secrets.hash_password` without blocking the loop."""


@dataclass(slots=True)
class ClientCredentials:
    """A user and a secret, from a client's request."""

    name: str
    secret: str
    sent: bytes
    """The octets that they were read from. A success is remembered under their hash."""


@dataclass(slots=True)
class PasswordAsked:
    """A password that is to be checked: the digest of the credentials, and who asks from where."""

    digest: bytes
    pair: bytes
    address: str
    known: bool


@dataclass(slots=True)
class Proven:
    """A success that is remembered, good while `Authenticator.holds` says so. `proof` is the digest of the key, or the
    hash of the password, that it was made with."""

    name: str
    proof: bytes
    principal: Principal
    generation: int
    until: float


class Rehash:
    """Rehashes a password after a successful sign-in if its hash uses outdated argon2 parameters."""

    def __init__(self, secrets: Secrets, hash_password: Hash, store: SignIns) -> None:
        self._secrets = secrets
        self._hash = hash_password
        self._store = store

    async def account(self, account: int, hashed: str, password: str) -> None:
        """Replaces the hash of a customer's password, unless the password has changed meanwhile."""
        if self._secrets.is_outdated(hashed):
            with suppress(Unavailable):  # the hash is then replaced after the next sign-in
                await self._store.rehash_account(account, hashed, await self._hash(password))

    async def user(self, name: str, hashed: str, password: str) -> None:
        """Replaces the hash of a console user's password, unless it has changed meanwhile. Sessions stay open."""
        if self._secrets.is_outdated(hashed):
            with suppress(Unavailable):
                await self._store.rehash_user(name, hashed, await self._hash(password))


class Authenticator:
    """Checks credentials. Times are seconds of a monotonic clock."""

    def __init__(
        self, directory: Directory, secrets: Secrets, verify: Verify, register: FailureRegister, rehash: Rehash
    ) -> None:
        """`register` remembers failures and known pairs of user and place. `rehash` replaces outdated hashes."""
        self._directory = directory
        self._passwords = PasswordQueue(verify)
        self._hash_key = secrets.octets(32)
        self._hashes: dict[str, Any] = {}
        """By the door's name, a keyed hash that nothing was added to: a copy costs half as much as a new one."""
        self._dummy_hash = secrets.hash_password(secrets.token(32))
        self._proven: dict[bytes, Proven] = {}
        self._register = register
        self.admission = Admission()
        self._rehash = rehash

    def proven(self, door: Door, sent: bytes | None, now: float) -> Proven | None:
        """Returns an earlier success with these octets at this door, if it is still valid. Otherwise `check` must be
        called.
        """
        if sent is None:
            return None
        proven = self._proven.get(self._digest(door, sent))
        return proven if proven is not None and self.holds(proven, now) else None

    def holds(self, proven: Proven, now: float) -> bool:
        """True if an earlier success is still valid: its time has not passed, and no account may have changed."""
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
        name, register = credentials.name, self._register
        pair, place = register.pair(name, address), register.place(address)
        known = register.knows(pair)
        if register.wait(pair, FAILURES_REFUSED, now) or (not known and register.wait(place, FAILURES_REFUSED, now)):
            register.problems[SignInDoor.API, SignInProblem.LOCKED] += 1
            raise self._slow_down(pair, place, now)
        generation = self._directory.generation
        if door.secret is Secret.API_KEY:
            view, proof, good_s = await self._prove_key(name, credentials.secret)
        else:
            asked = PasswordAsked(digest, pair, address, known)
            view, proof = await self._prove_password(door, name, credentials.secret, asked)
            good_s = inf
        if view is None:
            register.note_failure((pair, place), now)
            register.problems[SignInDoor.API, SignInProblem.WRONG] += 1
            if register.wait(pair, LOGIN_FAILURES, now) or register.wait(place, LOGIN_FAILURES_AN_ADDRESS, now):
                raise self._slow_down(pair, place, now)
            problem = f"The credentials are wrong; {door.name} takes the user name and the {door.secret.value}."
            raise Fault(UNAUTHENTICATED, problem)
        register.note_success(pair)
        principal = Principal(view, door)
        self._proven.pop(digest, None)
        self._proven[digest] = Proven(view.account.name, proof, principal, generation, now + min(REMEMBERED_S, good_s))
        if len(self._proven) > REMEMBERED:
            del self._proven[next(iter(self._proven))]
        return principal

    # Both reload the account: a new key works at once, and the time taken does not reveal whether the account exists.

    async def _prove_key(self, name: str, secret: str) -> tuple[AccountView | None, bytes, float]:
        """Returns the account, the proof, and the seconds for which it is good."""
        view = await self._directory.fresh_account(name)
        digest = hashlib.sha256(secret.encode()).digest()
        keys = view.keys if view is not None else (bytes(32),)
        right = False
        for key in keys:
            right |= hmac.compare_digest(key, digest)
        if not right or view is None:
            return None, b"", inf
        found = view.api_keys[digest]
        if self._register.expired(found.expires):
            return None, b"", inf
        self._register.note_use(view.account.id, found.id, found.used)
        return view, digest, self._register.left_s(found.expires)

    async def _prove_password(
        self, door: Door, name: str, secret: str, asked: PasswordAsked
    ) -> tuple[AccountView | None, bytes]:
        find = self._directory.fresh_account if door.secret is Secret.PASSWORD else self._directory.account_to_bind
        view = await find(name)
        hashed = (_hash_of(door, view) if view is not None else "") or self._dummy_hash
        right = await self._passwords.right(hashed, secret, asked.digest, asked.pair, asked.address, known=asked.known)
        if not right or view is None:
            return None, b""
        if door.secret is Secret.PASSWORD:
            await self._rehash.account(view.account.id, hashed, secret)
        return view, hashed.encode()

    def _digest(self, door: Door, sent: bytes) -> bytes:
        empty = self._hashes.get(door.name)
        if empty is None:
            empty = hashlib.blake2b(key=self._hash_key, person=door.name.encode(), digest_size=16)
            self._hashes[door.name] = empty
        keyed = empty.copy()
        keyed.update(sent)
        digest: bytes = keyed.digest()
        return digest

    def _slow_down(self, pair: bytes, place: bytes, now: float) -> Fault:
        wait = max(
            self._register.wait(pair, LOGIN_FAILURES, now), self._register.wait(place, LOGIN_FAILURES_AN_ADDRESS, now)
        )
        problem = "Too many wrong credentials from this address; wait before the next try."
        return Fault(TOO_EARLY, problem, None, max(1, ceil(wait)))


class Admission:
    """Judges whether requests of an account are looked at, and counts them against its requests a second."""

    def __init__(self) -> None:
        self._requests = RateLimits()

    def admit(self, view: AccountView, address: str, now: float) -> None:
        """Raises Fault: 403 unless the account may be used, and from there; 429 beyond its requests a second."""
        policy = view.policy
        if policy is None:
            return
        require(admit(policy, address))
        rate = policy.request_rate
        if rate > 0:
            wait = self._requests.take(view.account.id, rate, 1, now, policy.request_burst)
            if wait > 0:
                raise over_requests(rate, wait)

    def forget(self, view: AccountView) -> None:
        """Counts a request no longer that was admitted, because it is admitted once more on another way."""
        if view.policy is not None and view.policy.request_rate > 0:
            self._requests.give_back(view.account.id, 1)


def readmit(view: AccountView, address: str) -> None:
    """Raises Fault (403) unless the account may be used, and from there."""
    if view.policy is not None:
        require(admit(view.policy, address))


def _proofs(door: Door, view: AccountView) -> tuple[bytes, ...]:
    return view.keys if door.secret is Secret.API_KEY else (_hash_of(door, view).encode(),)


def _hash_of(door: Door, view: AccountView) -> str:
    """Returns the hash of the account's password at the door; empty if it has none there."""
    account = view.account
    return account.smpp.password_hash if door.secret is Secret.SMPP_PASSWORD else account.password_hash
