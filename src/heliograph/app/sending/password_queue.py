"""A fair queue of password checks: a client with many checks cannot delay the others.

Each check is slow on purpose. Checks from an address wait in its own line; the lines take turns. A user who signed in
from an address before has a separate line there, which goes first. So thousands of wrong names from anywhere do not
delay known users. An address without waiting checks always gets a place.
"""

import hashlib
from collections.abc import Awaitable
from typing import Protocol

from heliograph.domain.error import UNAVAILABLE, Fault
from heliograph.domain.security.host import network

A_LINE = 32
"""Most different passwords that wait in a line."""

ALL_LINES = 1_000
"""Most different passwords that wait in all lines of addresses together. Beyond that, the first of a line still gets a
place, as long as there are fewer lines than that.
"""


class Verify(Protocol):
    """Runs `Secrets.verify_password` without blocking the loop. The lines take turns; `first` checks go before the
    others.
    """

    def __call__(self, hashed: str, password: str, line: bytes = b"", *, first: bool = False) -> Awaitable[bool]: ...


class PasswordQueue:
    """Queues password checks. `pair`: hash of a user and an address. `asked`: hash of all inputs of a check."""

    def __init__(self, verify: Verify) -> None:
        self._verify = verify
        self._lines: dict[bytes, dict[bytes, int]] = {}
        """Requests that wait for a result, by line and by `asked`."""
        self._strangers = 0
        """Checks that wait in the lines of addresses."""

    async def right(self, hashed: str, password: str, asked: bytes, pair: bytes, address: str, *, known: bool) -> bool:
        """True if the password matches the hash. `known`: the pair signed in before. Raises Fault (503) if too many
        wait.
        """
        first = known
        name = pair if first else hashlib.blake2b(network(address).encode(), digest_size=16).digest()
        line = self._lines.get(name, {})
        full = not first and self._strangers >= ALL_LINES and (line or len(self._lines) >= ALL_LINES)
        if asked not in line and (full or len(line) >= A_LINE):
            raise Fault(UNAVAILABLE, "Too many passwords are being checked at this moment; try again in a second.")
        self._enter(name, asked, first=first)
        try:
            return await self._verify(hashed, password, name, first=first)
        finally:
            self._leave(name, asked, first=first)

    def _enter(self, name: bytes, asked: bytes, *, first: bool) -> None:
        line = self._lines.setdefault(name, {})
        waiting = line.get(asked, 0)
        line[asked] = waiting + 1
        if not waiting and not first:
            self._strangers += 1

    def _leave(self, name: bytes, asked: bytes, *, first: bool) -> None:
        line = self._lines[name]
        line[asked] -= 1
        if line[asked]:
            return
        del line[asked]
        if not first:
            self._strangers -= 1
        if not line:
            del self._lines[name]
