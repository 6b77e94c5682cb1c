"""Register of failed sign-ins, and of places from which users signed in before.

A *place* is the network of an address; a *pair* is a user at a place. Only keyed hashes of them are kept, here and in
the store. A pair that signed in before is *known*: failures of others at its place, or of its user elsewhere, do not
affect it. Failures and places of other nodes and of earlier runs are merged in from the store.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import Final

from heliograph.app.records import SignInFailure, SignInPlace
from heliograph.domain.calendar import DAY_MS
from heliograph.domain.limits.failure_counts import TIMES, FailureCounts
from heliograph.domain.security.host import network

PLACES: Final = 20_000
"""Most known pairs; at the limit, the least recently used is forgotten."""

REFRESHED_MS: Final = 24 * 3_600_000
"""Milliseconds for which a known pair's last success is not written again."""

USED_MS: Final = 3_600_000
"""Milliseconds for which a key's last use is not written again."""

DAILY: Final = "codes"
"""Kind of the register that counts wrong codes of second factors by day; the store keeps its failures as long."""

DAY_S: Final = DAY_MS / 1000

UNWRITTEN: Final = 2_000
"""Most names with failures to be written; failures of further names are counted in this process only."""


class SignInDoor(StrEnum):
    """The doors at which people and programs sign in, as the metrics name them."""

    API = "api"
    CONSOLE = "console"
    ADMIN_API = "admin_api"


class SignInProblem(StrEnum):
    """The reasons for a failed sign-in, as the metrics name them."""

    WRONG = "wrong"
    LOCKED = "locked"
    """Nothing was checked, because of too many failures before."""
    SECOND_FACTOR = "second_factor"
    """The password was right, but the code or the passkey was wrong."""


SIGN_IN_PROBLEMS: Final = (
    (SignInDoor.API, SignInProblem.WRONG),
    (SignInDoor.API, SignInProblem.LOCKED),
    (SignInDoor.CONSOLE, SignInProblem.WRONG),
    (SignInDoor.CONSOLE, SignInProblem.LOCKED),
    (SignInDoor.CONSOLE, SignInProblem.SECOND_FACTOR),
    (SignInDoor.ADMIN_API, SignInProblem.WRONG),
)
"""Possible pairs of door and problem."""


@dataclass(slots=True)
class Unwritten:
    """Failures and places to be written to the store."""

    failures: dict[bytes, int] = field(default_factory=dict)
    places: dict[bytes, int] = field(default_factory=dict)
    uses: dict[tuple[int, str], int] = field(default_factory=dict)
    """Times of uses of keys, by account and key."""


class FailureRegister:
    """The failures and places of a kind of door. `kind` separates its names from those of other kinds."""

    def __init__(self, kind: str, window: float, key: bytes, now_ms: Callable[[], int]) -> None:
        """`key`: the hash key of all nodes. `window`: seconds. `now_ms`: returns the time in ms since the epoch."""
        self.kind = kind
        self.counts = FailureCounts(window)
        self._key = key
        self._now_ms = now_ms
        self._places: dict[bytes, int] = {}
        """Times at which known pairs signed in, in ms, within a day; oldest use first."""
        self._unwritten = Unwritten()
        self._under_way: Counter[bytes] = Counter()
        self.problems: Counter[tuple[SignInDoor, SignInProblem]] = Counter()
        """Sign-ins that this process refused since its start."""

    # --- names

    def place(self, address: str) -> bytes:
        return self._hash(b"place", network(address))

    def token_place(self, address: str) -> bytes:
        """Returns the name of the place of clients with tokens. Tokens belong to no user."""
        return self._hash(b"token", network(address))

    def guessed(self, name: str) -> bytes:
        """Names the user for failures of codes after a right password."""
        return self._hash(b"codes", name)

    def confirmed(self, name: str) -> bytes:
        """Names the user for failures of a password that is asked again within a session."""
        return self._hash(b"again", name)

    def pair(self, name: str, address: str) -> bytes:
        return self._hash(b"pair", f"{network(address)}\n{name}")

    def user(self, name: str) -> bytes:
        return self._hash(b"user", name)

    def _hash(self, what: bytes, text: str) -> bytes:
        octets = text.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(octets, key=self._key, person=self.kind.encode() + what, digest_size=16).digest()

    # --- failures

    def wait(self, name: bytes, most: int, now: float) -> float:
        """Returns the seconds until the name may fail again, 0 if it has failed fewer than `most` times."""
        return self.counts.wait(name, most, now)

    def wait_for_tries(self, name: bytes, most: int, now: float) -> float:
        """Returns the same as `wait`, but 1 second if as many tries are under way as may still fail."""
        wait = self.counts.wait(name, most, now)
        return wait if wait or self.counts.count(name, now) + self._under_way[name] < most else 1.0

    @contextmanager
    def trying(self, names: Iterable[bytes]) -> Iterator[None]:
        """Counts attempts in progress: of many attempts at once, no more are checked than may fail."""
        names = tuple(names)
        self._under_way.update(names)
        try:
            yield
        finally:
            for name in names:
                self._under_way[name] -= 1
                if not self._under_way[name]:
                    del self._under_way[name]

    def note_failure(self, names: Iterable[bytes], now: float) -> None:
        for name in names:
            self.counts.add(name, now, now)
            failures = self._unwritten.failures
            if name in failures or len(failures) < UNWRITTEN:
                failures[name] = failures.get(name, 0) + 1

    # --- keys

    def expired(self, expires: int | None) -> bool:
        """Returns whether a key with this expiry has expired."""
        return expires is not None and expires <= self._now_ms()

    def note_use(self, account: int, key: str, used: int | None) -> None:
        """Notes that a key, or a token with the account 0, is used; it is written unless `used` is of the last hour."""
        now_ms = self._now_ms()
        uses = self._unwritten.uses
        if (used is None or now_ms - used >= USED_MS) and ((account, key) in uses or len(uses) < UNWRITTEN):
            uses[account, key] = now_ms

    def left_s(self, expires: int | None) -> float:
        """Returns the seconds until a key expires."""
        return inf if expires is None else (expires - self._now_ms()) / 1000

    # --- places

    def knows(self, pair: bytes) -> bool:
        return pair in self._places

    def note_success(self, pair: bytes) -> None:
        """Marks the pair as known."""
        now_ms = self._now_ms()
        written = self._places.pop(pair, None)
        if written is None or now_ms - written >= REFRESHED_MS:
            self._unwritten.places[pair] = written = now_ms
        self._places[pair] = written
        self._keep_few()

    def _keep_few(self) -> None:
        while len(self._places) > PLACES:
            del self._places[next(iter(self._places))]

    # --- the store

    def take(self) -> Unwritten:
        """Returns the changes since the last call, to be written."""
        taken, self._unwritten = self._unwritten, Unwritten()
        return taken

    def merge_failures(self, failures: Iterable[SignInFailure], now: float) -> None:
        """Counts the failures of other nodes."""
        now_ms = self._now_ms()
        for each in failures:
            at = now - max(0, now_ms - each.at) / 1000
            for _ in range(min(each.failures, TIMES)):
                self.counts.add(each.name, at, now)

    def merge_places(self, places: Iterable[SignInPlace]) -> None:
        """Adds pairs that others know, the newest last."""
        for each in places:
            if each.name not in self._places:
                self._places[each.name] = each.at
        self._keep_few()
