"""Leases: how nodes on a store share workers and binds. The past: how a node finds that the store lost commits."""

from dataclasses import dataclass
from enum import IntEnum
from math import inf
from typing import Protocol

from heliograph.domain.past import FoundPast, KnownPast


@dataclass(slots=True)
class LeaseEnd:
    """The end of a node's lease, which each renewal moves on. Adapters compare it with the clock before they write
    messages to an operator: a process that was stopped goes on in the middle of its work, before any timer runs."""

    at: float = inf
    """Seconds of the monotonic clock. Endless on a store with a single node."""


class SingleJob(IntEnum):
    """Work of a single node at a time."""

    ALERTS = 1


class Leases(Protocol):
    """Shares out workers and binds among the nodes on a store. A node is a single run of a process; its number is never
    used again.

    A node has a single lease. Its claims, worker numbers and bind slots depend on it. `heartbeat` renews the lease.
    Once the lease time is over, counted from before the call, the node must stop all effects in the outside world.

    `release_dead` finds leases that ended, by the store's clock, because the clocks of nodes may be wrong. Such a node
    is *fenced*: each of its later writes and claims raises Fenced.

    The caller judges that the other nodes could renew, and its call may reach the store much later: all machines slept
    in between, for example, and no node has renewed since. So each call has a `deadline` by the store's clock.
    """

    async def heartbeat(self, node: int, lasts: int) -> int | None:
        """Extends the node's lease to `lasts` milliseconds from now; the first call begins it. Returns the present time
        by the store's clock (ms), or None if the lease was given up: the node is fenced. A negative `lasts` ends the
        lease in the past, for example -60,000 a minute ago."""

    async def release_dead(self, deadline: int, ago: int = 0) -> list[int]:
        """Ends the leases that expired at least `ago` ms ago, and returns their nodes. Does nothing after `deadline`
        (ms, the store's clock).

        Their claims and bind slots become free. Pending work of their fast lanes goes to the queue and the other slow
        tables, due at once, so that any node finds it. Their worker numbers may be assigned again.
        """

    async def lease_worker(self, node: int) -> int | None:
        """Leases a free worker number (`domain.ids`) for the node; None if all are taken. The node must recover it
        next.
        """

    async def gathered(self, start: int, end: int) -> tuple[list[int], int]:
        """Returns messages of several parts without an end although the rows have the end of each part. The node that
        wrote the last end, between `start` (ms, inclusive) and `end`, died before it saw the others.

        Also returns the number of part ends read in that span.
        """

    async def lease_binds(self, connector: int, node: int, binds: int, want: int) -> list[int]:
        """Leases bind slots of a connector: up to `want` free slots, numbered from 0 and below `binds`. Returns the
        node's slots in order.

        Slots of the node beyond that become free; their links must be down already.
        """

    async def lease_job(self, job: SingleJob, node: int) -> bool:
        """Returns True if the job is the node's: it was free, or is the node's already. It stays so until the node's
        lease ends."""


class PastGuard(Protocol):
    """Keeps a gateway away from a database that lost confirmed commits. The store asks it for each new connection, and
    before each call."""

    known: KnownPast
    """The past that the data directory saw confirmed."""

    def judge(self, found: FoundPast, asked: KnownPast | None = None) -> None:
        """Compares the found past with the known one. Raises PastLost, and Fenced if a person accepted the loss while
        this process still has the work of the lost past in its memory.

        `asked`: the past that was known when the database was asked. More may be known by now, because commits went on
        while the answer was on its way.
        """

    def note_commits(self, writer: int, commits: int) -> None:
        """Notes the confirmed commits of the connection that commits."""

    def note_move(self, moves: int) -> None:
        """Notes that the store moved the directory's mark on by itself."""

    def check(self) -> None:
        """Raises PastLost if the store must not be used any more."""


class Past(Protocol):
    """The marks of data directories, and the accepted losses."""

    async def move(self, known: KnownPast, now: int) -> FoundPast:
        """Moves the directory's mark on, unless commits are missing. Returns the past before that."""

    async def find(self, known: KnownPast) -> FoundPast:
        """Returns the past of a directory. Works also while the guard refuses the store. Raises what the guard raises
        if the database cannot be reached otherwise."""

    async def accept(self, fork: int, now: int) -> None:
        """Adds a fork: a person accepted that commits are missing."""
