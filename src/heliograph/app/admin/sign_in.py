"""Authentication of users of the console, and of tokens of the admin API.

The way of a user into the console:

    name, password --> sign_in ------------------------------> session token
                          | the user has a second factor
                          v
                       SecondStep (ticket) --> second_step --> session token
                                               code or passkey

Failures slow down further tries in three ways. A pair of user and address is refused after FAILURES wrong passwords.
An address is refused after FAILURES_AN_ADDRESS, for pairs that never signed in. A user with many failures is never
refused, because an attacker could then lock out the user; tries from unknown addresses only wait a few seconds.
"""

import hashlib
import hmac
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from math import ceil
from typing import Any

from heliograph.app.admin.second_step import (
    PasskeyAnswer,
    can_be_guessed,
    challenge_of,
    passkeys_of,
    proves,
    proves_passkey,
)
from heliograph.app.admin.signed_state import SignedState
from heliograph.app.ports import Clock, Passkeys, Secrets, Store, Unavailable
from heliograph.app.records import SCOPES_OF, AdminSession, AdminUser, Scope
from heliograph.app.resources.desk import MAX_NAME_CHARS, Actor, Desk
from heliograph.app.sending.authenticate import Rehash
from heliograph.app.sending.failure_register import FailureRegister, SignInDoor, SignInProblem
from heliograph.app.sending.password_queue import PasswordQueue, Verify
from heliograph.domain.error import TOO_EARLY, UNAUTHENTICATED, Fault
from heliograph.domain.security.secret_text import ADMIN_TOKEN, digest, is_misspelt

SESSION_MS = 12 * 3_600_000
"""Milliseconds. Lifetime of a session."""

IDLE_MS = 3_600_000
"""Milliseconds. A session without use ends after this time, unless the settings have another time."""

USED_MS = 60_000
"""Milliseconds. The last use of a session is written at most this often, so that a page view rarely writes."""

FAILURES = 5
"""Wrong passwords within WINDOW_S. From then on, tries for the user from the address are refused."""

FAILURES_AN_ADDRESS = 20
"""Wrong passwords from an address, for any user, within WINDOW_S. From then on, unknown pairs are refused."""

FAILURES_A_USER = 50
"""Wrong passwords for a user, from any address, within WINDOW_S. From then on, tries from unknown addresses wait. Each
further failure makes the wait PAUSE_S longer."""

CODES_A_DAY = 50
"""Wrong app codes for a user within a day. From then on, app codes are no longer checked. Three of a million codes are
valid at a time, so 50 guesses a day succeed with a probability of 0.015 %."""

PAUSE_S = 0.1
"""Seconds. The wait grows by this with each failure beyond FAILURES_A_USER."""

MOST_PAUSE_S = 5.0
MOST_PAUSES = 200
"""Tries that may wait at a time. Further tries do not wait, so that an attacker cannot fill the memory."""

WINDOW_S = 300.0
"""Seconds. Failures within this window are counted together."""

TOKEN_OCTETS = 32

_SIGN_IN = "second-step"
_CHANGE = "change"

Pause = Callable[[float], Awaitable[None]]
"""Waits for a number of seconds."""


class SecondStep(Exception):
    """The password is right, and the user has a second factor. The next request gives a code, or a passkey's answer,
    with the ticket."""

    def __init__(self, ticket: str) -> None:
        super().__init__("a second factor is needed")
        self.ticket = ticket


class SignIn:
    """Opens sessions of the console, and authenticates admin tokens. Slows down guessing."""

    def __init__(
        self,
        store: Store,
        secrets: Secrets,
        clock: Clock,
        verify: Verify,
        register: FailureRegister,
        wrong_codes: FailureRegister,
        pause: Pause,
        rehash: Rehash,
        tickets: SignedState,
        passkeys: Passkeys,
        idle_ms: int = IDLE_MS,
        *,
        second_required: bool = False,
    ) -> None:
        """Takes the services for both.

        `register` remembers failures, and pairs of user and address that signed in before. `wrong_codes` counts app
        codes by the day. Sessions end after `idle_ms` without use. If `second_required` is true, users without a second
        factor may only set it up.
        """
        self._store = store
        self._secrets = secrets
        self._clock = clock
        self._passwords = PasswordQueue(verify)
        self._register = register
        self._wrong_codes = wrong_codes
        self._pause = pause
        self._rehash = rehash
        self._tickets = tickets
        self._passkeys = passkeys
        self._second_required = second_required
        self._pausing = 0
        self._idle_ms = idle_ms
        self._dummy_hash = secrets.hash_password(secrets.token(32))

    async def sign_in(self, name: str, password: str, address: str) -> str:
        """Opens a session and returns its token. Raises Fault (401, 429, 503), and SecondStep for the second factor."""
        short = name[: MAX_NAME_CHARS + 1]  # names of users are not longer
        register = self._register
        pair, place, user_name = register.pair(short, address), register.place(address), register.user(short)
        self._slow_down(pair, FAILURES)
        if not register.knows(pair):
            self._slow_down(place, FAILURES_AN_ADDRESS)
            await self._wait_for_others(user_name)
        self._slow_down(pair, FAILURES)  # again, because other tries may have failed during the wait
        with register.trying((pair,)):
            user = await self._store.users.find(name)
            hashed = self._dummy_hash if user is None else user.password_hash
            if not await self._right(hashed, password, pair, address) or user is None:
                self._note_wrong((pair, place, user_name))
                # An unknown name is not written to the audit log, because people type passwords into this field.
                who, target = (f"user:{name}", name) if user else ("unknown", "")
                await self._as(who, address).note("session.refuse", target)
                raise Fault(UNAUTHENTICATED, "The name or the password is wrong.")
        await self._rehash.user(user.name, hashed, password)
        if user.second_factor:
            # Read again: the rehash may have changed the hash, and the ticket depends on it.
            raise self._step(_SIGN_IN, await self._store.users.find(name) or user)
        register.note_success(pair)
        return await self._open(user, address)

    async def second_step(self, ticket: str, given: str | PasskeyAnswer, address: str) -> str:
        """Opens the session of a ticket's user if the code or passkey is right, and returns its token.

        Raises Fault (401, 429). The fault has the field `ticket` if the user must give the password again.
        """
        user, proof = await self._second(_SIGN_IN, ticket, given, address)
        self._register.note_success(self._register.pair(user.name, address))
        return await self._open(user, address, {"second": proof})

    async def confirm_second(self, actor: Actor, ticket: str, given: str | PasskeyAnswer) -> None:
        """Checks the second factor of a signed-in user after `confirm_fully`. A code or answer can be used only once.

        Raises Fault like `second_step`.
        """
        await self._second(_purpose(actor), ticket, given, actor.address)

    def _step(self, purpose: str, user: AdminUser) -> SecondStep:
        return SecondStep(self._tickets.make(purpose, user.name, str(self._clock.now()), _password_version(user)))

    async def _second(
        self, purpose: str, ticket: str, given: str | PasskeyAnswer, address: str
    ) -> tuple[AdminUser, str]:
        """Returns the user of a ticket for this purpose, and the kind of the second factor, such as `app`.

        Raises Fault (401, 429).
        """
        register = self._register
        found = self._tickets.read(purpose, ticket)
        user = None if found is None else await self._store.users.find(found[0])
        if found is None or user is None or found[2:] != [_password_version(user)]:
            again = "sign in again" if purpose == _SIGN_IN else "give your password again"
            raise Fault(UNAUTHENTICATED, f"That took too long; {again}.", "ticket")
        # A guesser at this point knows the password. So refusing further codes locks out only users whose password is
        # stolen anyway.
        pair = register.pair(user.name, address)
        names = self._slow_down_codes(user.name, pair, given)
        with register.trying(names):
            if isinstance(given, str):
                proof = await self._proves(user.name, given, pair)
            else:
                factors, now = self._store.factors, self._clock.now()
                proof = await proves_passkey(factors, self._passkeys, user.name, given, ticket, int(found[1]), now)
            if not proof:
                self._note_wrong(names, SignInProblem.SECOND_FACTOR)
                step = {"step": "second" if purpose == _SIGN_IN else "change"}
                await self._as(f"user:{user.name}", address).note("session.refuse", user.name, step)
                raise Fault(UNAUTHENTICATED, "The code is wrong, or was used already.", "code")
        return user, proof

    def _slow_down_codes(self, user: str, pair: bytes, given: str | PasskeyAnswer) -> tuple[bytes, ...]:
        """Returns the names that a wrong code is counted for: the pair, and for an unknown pair also the user.

        A passkey or recovery code cannot be guessed, so it counts only for the pair. Otherwise guesses from other
        addresses would lock out the owner. Raises Fault (429).
        """
        guessable = isinstance(given, str) and can_be_guessed(given)
        guessed = (self._register.guessed(user),) if guessable and not self._register.knows(pair) else ()
        self._slow_down(pair, FAILURES)
        for name in guessed:
            self._slow_down(name, FAILURES_AN_ADDRESS)
        return (pair, *guessed)

    async def _proves(self, user: str, code: str, pair: bytes) -> str:
        """Checks and uses up a code, like `proves`.

        An app's code can be guessed, so only CODES_A_DAY may be wrong. Each known pair has its own count; all unknown
        pairs of a user share a count. Raises Fault (429).
        """
        codes, now = self._wrong_codes, self._clock.monotonic()
        if not can_be_guessed(code):
            return await proves(self._store.factors, user, code, self._clock.now())
        name = pair if self._register.knows(pair) else codes.guessed(user)
        wait = codes.wait_for_tries(name, CODES_A_DAY, now)
        if wait:
            self._register.problems[SignInDoor.CONSOLE, SignInProblem.LOCKED] += 1
            problem = "Too many codes were wrong today. Use a passkey or a recovery code, or an address used before."
            raise Fault(TOO_EARLY, problem, "code", ceil(wait))
        with codes.trying((name,)):
            proof = await proves(self._store.factors, user, code, self._clock.now())
            if not proof:
                codes.note_failure((name,), self._clock.monotonic())
        return proof

    async def passkey_options(self, ticket: str, host: str, actor: Actor | None = None) -> dict[str, Any] | None:
        """Returns the options with which a browser asks for a passkey, or None if the user has no passkey.

        `actor` is the signed-in user for the confirmation of a change, and None for signing in.
        """
        found = self._tickets.read(_purpose(actor), ticket)
        known = [] if found is None else await passkeys_of(self._store.factors, found[0])
        if not known:
            return None
        return self._passkeys.request_options(host, [each.secret for each in known], challenge_of(ticket))

    async def confirm_fully(self, actor: Actor, password: str) -> None:
        """Checks the password of a signed-in user again before a sensitive change.

        A person with a stolen session does not know it. Raises SecondStep if the user has a second factor, and Fault
        (401, 429, 503).
        """
        user = await self.confirm(actor, password)
        if await self._store.factors.of(user.name):
            raise self._step(_purpose(actor), user)

    async def confirm(self, actor: Actor, password: str) -> AdminUser:
        """Checks the password of a signed-in user again, and returns the user. Raises Fault (401, 429, 503)."""
        # Counted apart from sign-in. Otherwise guesses with a stolen session would lock out the user.
        pair, again = self._register.pair(actor.plain_name, actor.address), self._register.confirmed(actor.plain_name)
        self._slow_down(pair, FAILURES)
        self._slow_down(again, FAILURES_AN_ADDRESS)
        with self._register.trying((pair, again)):
            user = await self._store.users.find(actor.plain_name)
            if user is None or not await self._right(user.password_hash, password, pair, actor.address):
                self._note_wrong((pair, again))
                raise Fault(UNAUTHENTICATED, "The password is wrong.", "old")
        return user

    async def _right(self, hashed: str, password: str, pair: bytes, address: str) -> bool:
        asked = hashlib.blake2b(f"{hashed}\n{password}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
        known = self._register.knows(pair)
        return await self._passwords.right(hashed, password, asked, pair, address, known=known)

    async def _wait_for_others(self, user_name: bytes) -> None:
        """Waits if many recent tries to sign in as the user failed."""
        beyond = self._register.counts.count(user_name, self._clock.monotonic()) - FAILURES_A_USER
        if beyond < 0 or self._pausing >= MOST_PAUSES:
            return
        self._pausing += 1
        try:
            await self._pause(min(MOST_PAUSE_S, PAUSE_S * (beyond + 1)))
        finally:
            self._pausing -= 1

    async def _open(self, user: AdminUser, address: str, details: Mapping[str, str] | None = None) -> str:
        token = self._secrets.token(TOKEN_OCTETS)
        now = self._clock.now()
        session = AdminSession(digest(token), user.name, self._secrets.token(TOKEN_OCTETS), now, now + SESSION_MS, now)
        audited = self._as(f"user:{user.name}", address).audited("session.open", user.name, details)
        await audited.users.open_session(session)
        return token

    async def session(self, token: str, address: str, *, uses: bool = True) -> Actor | None:
        """Returns the user of a session with the present role, or None if the session is unknown or has ended.

        `uses` is False for automatic requests, which do not prolong the session.
        """
        if not token or len(token) > 128:
            return None
        now = self._clock.now()
        found = await self._store.users.session(digest(token), now)
        if found is None:
            return None
        session, user = found
        idle = now - session.used
        if idle >= self._idle_ms:
            # Closed for good, so that a longer idle time in the settings does not revive it.
            await self._store.users.close_session(session.digest)
            return None
        if uses and idle >= min(USED_MS, self._idle_ms // 4):
            with suppress(Unavailable):  # users may read in the console while the store rejects writes
                await self._store.users.use_session(session.digest, now)
        lacks = self._second_required and not user.second_factor
        return Actor(f"user:{user.name}", SCOPES_OF[user.role], address, user.role, session.csrf, lacks)

    async def sign_out(self, token: str, actor: Actor) -> None:
        audited = self._as(actor.name, actor.address).audited("session.close", actor.plain_name)
        await audited.users.close_session(digest(token))

    async def bearer(self, authorization: bytes | None, address: str) -> Actor:
        """Authenticates an admin token (RFC 6750, 2.1). Raises Fault (401, 429)."""
        if authorization is None:
            raise Fault(UNAUTHENTICATED, "The header Authorization is missing. Send Bearer and an admin token.")
        scheme, _, text = authorization.strip().partition(b" ")
        found = None
        misspelt = is_misspelt(ADMIN_TOKEN, text.strip().decode("latin-1"))
        if scheme.lower() == b"bearer" and len(text) <= 128 and not misspelt:
            found = await self._store.tokens.find(hashlib.sha256(text.strip()).digest())
        if found is None or self._register.expired(found.expires):
            # Only wrong tokens are slowed down: a client with a right token may share its address with an attacker.
            place = self._register.token_place(address)
            self._register.problems[SignInDoor.ADMIN_API, SignInProblem.WRONG] += 1
            wait = self._register.wait(place, FAILURES_AN_ADDRESS, self._clock.monotonic())
            if wait:
                raise _too_many(wait)
            self._register.note_failure((place,), self._clock.monotonic())
            raise Fault(UNAUTHENTICATED, "The token is wrong, revoked or expired. Send Bearer and an admin token.")
        self._register.note_use(0, found.id, found.used)
        scopes = frozenset(scope for scope in Scope if scope in found.scopes)
        return Actor(f"token:{found.id}", scopes, address)

    def _as(self, actor: str, address: str) -> Desk:
        return Desk(self._store, self._clock, actor, address)

    def _slow_down(self, name: bytes, most: int) -> None:
        wait = self._register.wait_for_tries(name, most, self._clock.monotonic())
        if wait:
            self._register.problems[SignInDoor.CONSOLE, SignInProblem.LOCKED] += 1
            raise _too_many(wait)

    def _note_wrong(self, names: Iterable[bytes], problem: SignInProblem = SignInProblem.WRONG) -> None:
        self._register.note_failure(names, self._clock.monotonic())
        self._register.problems[SignInDoor.CONSOLE, problem] += 1


def _purpose(actor: Actor | None) -> str:
    """Returns the purpose of a ticket: signing in, or changes in the session of `actor`.

    The CSRF token identifies the session, so that a ticket is useless in another session.
    """
    return _SIGN_IN if actor is None else f"{_CHANGE} {actor.csrf}"


def _password_version(user: AdminUser) -> str:
    """Returns a digest of the password's hash. Tickets carry it, so that a new password makes old tickets invalid."""
    return hashlib.sha256(user.password_hash.encode()).hexdigest()


def _too_many(wait: float) -> Fault:
    return Fault(TOO_EARLY, "Too many wrong credentials. Wait before the next try.", None, max(1, ceil(wait)))


def same(first: str, second: str) -> bool:
    """Compares two secrets in constant time."""
    return hmac.compare_digest(first.encode(), second.encode())
