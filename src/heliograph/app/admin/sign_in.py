"""Authentication of users of the console and of tokens of the admin API."""

import hashlib
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import ceil

from heliograph.app.admin.audit import Audited
from heliograph.app.admin.fields import MAX_NAME_CHARS
from heliograph.app.ports import Clock, Secrets, Store
from heliograph.app.records import SCOPES_OF, AdminSession, AdminUser, Scope, UserRole
from heliograph.domain.error import FORBIDDEN, TOO_EARLY, UNAUTHENTICATED, UNAVAILABLE, Fault

SESSION_MS = 12 * 3_600_000
"""Lifetime of a session. Milliseconds."""

FAILURES = 5
"""Wrong passwords for one user from one address within WINDOW_S, from which on further tries are refused."""

FAILURES_AN_ADDRESS = 20
"""The same for all users from one address."""

FAILURES_A_USER = 50
"""The same for one user from all addresses: slows down who guesses from many, locks nobody out for long."""

WINDOW_S = 300.0
"""Seconds in which failures are counted together."""

WATCHED = 20_000
"""Counts of failures kept at once; of more, the oldest is dropped."""

CHECKS_WAITING = 8
"""Passwords that may wait to be checked at once, since each check is slow on purpose."""

TOKEN_OCTETS = 32

Verify = Callable[[str, str], Awaitable[bool]]
"""`Secrets.verify_password`, run where it holds up nobody: (hash, password)."""

Hash = Callable[[str], Awaitable[str]]
"""`Secrets.hash_password`, likewise."""


@dataclass(frozen=True, slots=True)
class Actor:
    """A user or token with its scopes. `name` is that of the audit log: `user:ada`, `token:4f1a`."""

    name: str
    scopes: frozenset[Scope]
    address: str
    role: UserRole | None = None
    csrf: str = ""
    """CSRF token of the session's forms; empty for a token."""

    @property
    def plain_name(self) -> str:
        return self.name.partition(":")[2]

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes

    def need(self, scope: Scope) -> None:
        """Raises Fault (403) without the scope."""
        if scope in self.scopes:
            return
        if self.role is None:
            raise Fault(FORBIDDEN, f"The token has not the scope {scope.value}; use one that has it.")
        least = next(role for role in UserRole if scope in SCOPES_OF[role])
        raise Fault(FORBIDDEN, f"This takes the role {least.value}; yours is {self.role.value}.")


class SignIn:
    """Slows down guessing: counts failures by user and address, in memory only."""

    def __init__(self, store: Store, secrets: Secrets, clock: Clock, verify: Verify) -> None:
        self._store = store
        self._secrets = secrets
        self._clock = clock
        self._verify = verify
        self._dummy_hash = secrets.hash_password(secrets.token(32))
        self._failures: dict[str, list[float]] = {}
        self._checking = 0

    async def sign_in(self, name: str, password: str, address: str) -> str:
        """Opens a session and returns its token. Raises Fault (401, 429, 503)."""
        short = name[: MAX_NAME_CHARS + 1]  # no user has a longer one, and what is remembered is bounded
        watched = (
            (f"{address}\n{short}", FAILURES),
            (f"{address}\n", FAILURES_AN_ADDRESS),
            (f"\n{short}", FAILURES_A_USER),
        )
        for what, most in watched:
            self._slow_down(what, most)
        user = await self._store.users.find(name)
        if not await self._right(self._dummy_hash if user is None else user.password_hash, password) or user is None:
            now = self._clock.monotonic()
            for what, _ in watched:
                self._recent(what).append(now)
            # the name is not noted where there is no such user: people type passwords there
            who, target = (f"user:{name}", name) if user else ("unknown", "")
            await self._as(who, address).note("session.refuse", target)
            raise Fault(UNAUTHENTICATED, "The name or the password is wrong.")
        return await self._open(user, address)

    async def confirm(self, actor: Actor, password: str) -> None:
        """Checks the password of a signed-in user once more. Raises Fault (401, 429, 503)."""
        what = f"{actor.address}\n{actor.plain_name}"
        self._slow_down(what, FAILURES)
        user = await self._store.users.find(actor.plain_name)
        if user is None or not await self._right(user.password_hash, password):
            self._recent(what).append(self._clock.monotonic())
            raise Fault(UNAUTHENTICATED, "The password is wrong.", "old")

    async def _right(self, hashed: str, password: str) -> bool:
        if self._checking >= CHECKS_WAITING:
            raise Fault(UNAVAILABLE, "Too many passwords are being checked at this moment; try again in a second.")
        self._checking += 1
        try:
            return await self._verify(hashed, password)
        finally:
            self._checking -= 1

    async def _open(self, user: AdminUser, address: str) -> str:
        token = self._secrets.token(TOKEN_OCTETS)
        now = self._clock.now()
        session = AdminSession(digest(token), user.name, self._secrets.token(TOKEN_OCTETS), now, now + SESSION_MS)
        audited = self._as(f"user:{user.name}", address).audited("session.open", user.name)
        await audited.users.open_session(session)
        return token

    async def session(self, token: str, address: str) -> Actor | None:
        """Returns the user of a session with the present role, None if there is no such session."""
        if not token or len(token) > 128:
            return None
        found = await self._store.users.session(digest(token), self._clock.now())
        if found is None:
            return None
        session, user = found
        return Actor(f"user:{user.name}", SCOPES_OF[user.role], address, user.role, session.csrf)

    async def sign_out(self, token: str, actor: Actor) -> None:
        audited = self._as(actor.name, actor.address).audited("session.close", actor.plain_name)
        await audited.users.close_session(digest(token))

    async def bearer(self, authorization: bytes | None, address: str) -> Actor:
        """Authenticates an admin token (RFC 6750, 2.1). Raises Fault (401, 429)."""
        if authorization is None:
            raise Fault(UNAUTHENTICATED, "The header Authorization is missing; send Bearer and an admin token.")
        scheme, _, text = authorization.strip().partition(b" ")
        found = None
        if scheme.lower() == b"bearer" and len(text) <= 128:
            found = await self._store.tokens.find(hashlib.sha256(text.strip()).digest())
        if found is None:
            # a right token is never slowed down: it has too many random bits to be guessed, and may share its address
            self._slow_down(f"{address}\n\n", FAILURES_AN_ADDRESS)
            self._recent(f"{address}\n\n").append(self._clock.monotonic())
            raise Fault(UNAUTHENTICATED, "The token is wrong or revoked; send Bearer and an admin token.")
        scopes = frozenset(scope for scope in Scope if scope in found.scopes)
        return Actor(f"token:{found.id}", scopes, address)

    def _as(self, actor: str, address: str) -> Audited:
        return Audited(self._store, self._clock, actor, address)

    def _slow_down(self, what: str, most: int) -> None:
        failures = self._recent(what)
        if len(failures) >= most:
            wait = max(1, ceil(failures[-most] + WINDOW_S - self._clock.monotonic()))
            raise Fault(TOO_EARLY, "Too many wrong credentials; wait before the next try.", None, wait)

    def _recent(self, what: str) -> list[float]:
        """Returns the list of recent failures, to be appended to."""
        since = self._clock.monotonic() - WINDOW_S
        failures = [at for at in self._failures.pop(what, []) if at > since]
        self._failures[what] = failures
        if len(self._failures) > WATCHED:
            del self._failures[next(iter(self._failures))]
        return failures


def hash_at_once(secrets: Secrets) -> Hash:
    """Returns a hash that blocks the loop, for commands and tests."""

    async def hashed(password: str) -> str:
        return secrets.hash_password(password)

    return hashed


def digest(token: str) -> bytes:
    """Returns the SHA-256 of a token, which the store keeps. A token has enough random bits to need no slow hash."""
    return hashlib.sha256(token.encode()).digest()


def same(one: str, other: str) -> bool:
    """Compares two secrets in constant time."""
    return hmac.compare_digest(one.encode(), other.encode())
