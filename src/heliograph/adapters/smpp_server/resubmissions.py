"""Submissions that come again because the client never got their answer: the account setting `smpp_dedupe_s`.

A submission has a name: a digest of its octets, and a number that tells copies under way apart. In the store the name
is the reference of the request, until the client's system has acknowledged the octets of the answer (TCP, RFC 9293).

    submit_sm --> smpp:<digest>:0 ==commit==> submit_sm_resp --acknowledged--> forgotten, 0 is free
        |                            |             |
        |                            +-------------+------connection lost----> lost, stays in the store
        +-- the same octets
              while 0 is under way --> smpp:<digest>:1: a second message
              after 0 was lost ------> smpp:<digest>:0: the first answer again, charged once

A repeat that is refused for the moment, for example while the store is away, leaves its name lost: the first submission
may be stored. Otherwise the next repeat would take another number, and be charged a second time.

Names of an earlier run and of other nodes are read from the store at each bind, and every RELOAD_S.
"""

import asyncio
import fcntl
import re
import socket
import sys
import termios
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from math import inf
from typing import Final

from heliograph.app.ports import Clock, CustomerBinds, Unavailable
from heliograph.app.ports.accounts import SUBMISSION_PREFIX
from heliograph.domain.error import IN_DOUBT, Fault
from heliograph.domain.message import ids

RELOAD_S: Final = 60.0
"""Seconds between two readings of an account's names: by so much a name may outlive `smpp_dedupe_s`."""

SETTLED_MS: Final = 10_000
"""Age of a name, in ms, from which it counts as lost without a bind anew: answers of other nodes arrive before."""

ALL: Final = 1 << 62
"""More octets than are ever written."""

_DIGEST_OCTETS: Final = 16

_NAME = re.compile(rf"{SUBMISSION_PREFIX}[0-9a-f]{{{2 * _DIGEST_OCTETS}}}:[0-9]{{1,9}}").fullmatch

_TCP_INFO: Final = getattr(socket, "TCP_INFO", 11)
_TCP_CLOSE: Final = 7
"""State of a connection that was reset: `tcpi_state` of Linux' tcp_info."""


class _Copies:
    """The numbers of submissions with the same octets."""

    __slots__ = ("lost", "next", "repeated", "under_way")

    def __init__(self) -> None:
        self.under_way: set[int] = set()
        self.lost: set[int] = set()
        self.repeated: set[int] = set()
        """Numbers that were lost, and that a repeat has taken. The first submission may be stored."""
        self.next = 1

    def take(self) -> int:
        """Returns the number of a submission: a lost one first, then 0, which other nodes take first as well."""
        if self.lost:
            number = min(self.lost)
            self.lost.remove(number)
            self.repeated.add(number)
        elif 0 not in self.under_way:
            number = 0
        else:
            number = self.next
            self.next += 1
        self.under_way.add(number)
        return number


class GivenNames:
    """Names of submissions with answers that a client may not have yet. The connection looks once a second whether its
    octets have arrived.

    An answer since the last look is left: the client's system may have it, and the client be gone before it read it. On
    a busy link octets are under way at each look. All that were written before the last look have arrived if no more
    are under way than were written since.
    """

    __slots__ = ("_before", "_octets_before", "names", "octets")

    def __init__(self) -> None:
        self.names: list[str] = []
        """Oldest first."""
        self.octets = 0
        """Octets that were written, of answers and anything else."""
        self._before = self._octets_before = 0
        """Names and octets at the last look."""

    def arrived(self, under_way: int) -> list[str]:
        """Returns the names whose answers have arrived, and forgets them. `under_way`: octets that have not."""
        found: list[str] = []
        if under_way <= self.octets - self._octets_before:
            found, self.names = self.names[: self._before], self.names[self._before :]
        self.mark()
        return found

    def mark(self) -> None:
        """Notes the names and octets of now as those of the last look."""
        self._before, self._octets_before = len(self.names), self.octets


class Resubmissions:
    """The names of the submissions of this node's binds."""

    def __init__(self, store: CustomerBinds, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._accounts: dict[int, dict[str, _Copies]] = {}
        """The numbers by account and digest."""
        self._arrived: list[tuple[int, str]] = []
        self._loaded: dict[int, float] = {}
        """When the names of an account were last read, by the monotonic clock."""

    def name(self, account: int, octets: bytes) -> str:
        """Returns the name of a submission, for example `smpp:9f86d081884c7d659a2feaa0c55ad015:0`."""
        digest = blake2b(octets, digest_size=_DIGEST_OCTETS).hexdigest()
        return f"{SUBMISSION_PREFIX}{digest}:{self._copies(account, digest).take()}"

    def arrived(self, account: int, name: str) -> None:
        """Notes that the client has the answer: `flush` forgets the name."""
        self._arrived.append((account, name))

    def lost(self, account: int, name: str) -> None:
        """Notes that the client may lack the answer of a submission that may be stored."""
        digest, number = _parsed(name)
        copies = self._copies(account, digest)
        copies.under_way.discard(number)
        copies.lost.add(number)

    def failed(self, account: int, name: str, fault: Fault, *, is_owed: bool) -> None:
        """Notes that a submission ended in a fault. `is_owed`: whether its client still waits for the answer. Else the
        name is lost already, and a repeat may have taken it, which keeps it."""
        if is_owed:
            (self.lost if self._may_be_stored(account, name, fault) else self.refused)(account, name)
        elif not self._may_be_stored(account, name, fault):
            digest, number = _parsed(name)
            self._copies(account, digest).lost.discard(number)
            self._clean(account, digest)

    def refused(self, account: int, name: str) -> None:
        """Notes that nothing is stored under a name."""
        digest, number = _parsed(name)
        copies = self._copies(account, digest)
        copies.under_way.discard(number)
        copies.repeated.discard(number)
        self._clean(account, digest)

    def _may_be_stored(self, account: int, name: str, fault: Fault) -> bool:
        """Whether a message may be stored under the name of a submission that ended in the fault. A fault that may
        pass, such as UNAVAILABLE, tells nothing about the first submission of a repeat."""
        if not fault.entry.retry:
            return False
        digest, number = _parsed(name)
        return fault.entry is IN_DOUBT or number in self._copies(account, digest).repeated

    def _clean(self, account: int, digest: str) -> None:
        copies = self._copies(account, digest)
        if not copies.under_way and not copies.lost:
            del self._accounts[account][digest]
            if not self._accounts[account]:
                del self._accounts[account]

    async def load(self, account: int, dedupe_s: int, *, least_age_ms: int = 0) -> None:
        """Reads the account's lost names from the store, and has the ones older than `dedupe_s` seconds forgotten.
        Raises Unavailable."""
        self._loaded[account] = self._clock.monotonic()
        found = await self._store.submissions(account)
        now = self._clock.now()
        for name, key in found:
            if _NAME(name) is None:
                continue  # not a name of ours: an error here would end the answers of all customers
            digest, number = _parsed(name)
            age_ms = now - ids.time_of(key)
            known = self._accounts.get(account, {}).get(digest)
            if age_ms < least_age_ms or (known is not None and number in known.under_way):
                continue
            copies = self._copies(account, digest)
            if age_ms <= dedupe_s * 1_000:
                copies.lost.add(number)
            else:
                copies.lost.discard(number)
                copies.under_way.add(number)  # until it is forgotten
                self.arrived(account, name)

    async def reload(self, dedupe_s: Mapping[int, int]) -> None:
        """Reads the names of these accounts again where that is due. `dedupe_s`: their setting by account."""
        now = self._clock.monotonic()
        for account, seconds in dedupe_s.items():
            if now - self._loaded.get(account, -inf) >= RELOAD_S:
                with suppress(Unavailable):  # the next reading is due in a minute
                    await self.load(account, seconds, least_age_ms=SETTLED_MS)

    async def flush(self) -> None:
        """Forgets the names whose answers arrived. While the store cannot write, the next call tries again."""
        arrived = self._arrived[:]
        try:
            if arrived:
                await self._store.forget_submissions(arrived)
        except Unavailable:
            return
        del self._arrived[: len(arrived)]
        for account, name in arrived:
            self.refused(account, name)

    def _copies(self, account: int, digest: str) -> _Copies:
        return self._accounts.setdefault(account, {}).setdefault(digest, _Copies())


def unacknowledged(transport: asyncio.WriteTransport) -> int:
    """Returns how many of the octets that were written the peer's system has not acknowledged. With TLS they are more
    than ours."""
    waiting = transport.get_write_buffer_size()
    octets = bytearray(4)
    connection = transport.get_extra_info("socket")
    try:
        fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, octets)
        # A reset empties the queue as well.
        is_reset = connection.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, 1)[0] == _TCP_CLOSE
    except OSError:
        return waiting  # a system without these questions: the octets have left
    return ALL if is_reset else waiting + int.from_bytes(octets, sys.byteorder)


def _parsed(name: str) -> tuple[str, int]:
    _, digest, number = name.split(":")
    return digest, int(number)
