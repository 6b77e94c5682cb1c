"""A node's lease on a store that several nodes share. While the lease holds, the node may act in the outside world:
send, answer, post."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from math import inf

from heliograph.app.ports import Clock, Fenced, Journal, LeaseEnd, Leases, Unavailable
from heliograph.domain.message.ids import WORKERS
from heliograph.runtime.outage import Outage

LEASE_S = 6.0
"""Seconds from a renewal until other nodes may give up this node."""

MARGIN_S = 1.0
"""Seconds before the lease's end at which the node stops, because its clock may run slower than the store's."""

RENEW_S = 1.5
"""Seconds between two renewals, and timeout of a renewal."""

LATE_S = 2 * RENEW_S + 0.25
"""Seconds between the beginnings of two renewals, above which the later one is late: a pause and a timeout together
take 3 s at most."""

RELEASE_MS = int((LEASE_S - LATE_S) * 1000)
"""Milliseconds after a renewal in which the node may give up others. When it renewed, each living node had renewed at
most LATE_S before. So its lease ends no earlier, even if no node can renew until then."""

LONG_AGO_MS = 3_600_000
"""Milliseconds in the past at which a returned lease ends, so that giving it up does not give up the lease of another
node."""


class Lease:
    """The lease of a node, renewed by `keep`. `holds` uses the monotonic clock, even while a renewal hangs."""

    def __init__(
        self, leases: Leases, node: int, clock: Clock, journal: Journal, outage: Outage, lapsed: Callable[[], None]
    ) -> None:
        """`lapsed` is called when the lease was not renewed in time. A later renewal may still succeed."""
        self._leases = leases
        self._node = node
        self._clock = clock
        self._journal = journal
        self._outage = outage
        self._lapsed = lapsed
        self.end = LeaseEnd(-inf)
        self._renewed = -inf
        self._renewed_at = 0
        """Of the last renewal, by the store's clock (ms)."""
        self._since = inf
        self._timer: asyncio.TimerHandle | None = None

    @property
    def holds(self) -> bool:
        """Whether the lease holds, so that the node may act."""
        return self._clock.monotonic() < self.end.at

    @property
    def settled(self) -> bool:
        """True if the lease was renewed in time for long enough that all other nodes could renew theirs.

        After an outage of the store, leases end before they can be renewed. The outage shows in this node's renewals:
        one of them failed or came late, though its own lease may have held throughout. A process that was stopped
        during the outage has not renewed since: the store does nothing so long after a renewal.
        """
        return self.holds and self._clock.monotonic() - self._since >= LEASE_S

    async def begin(self) -> int:
        """Takes the lease, and with it a worker number, which is returned. Raises Unavailable."""
        try:
            await self._renew()
        except TimeoutError:
            raise Unavailable("the database does not answer") from None
        worker = await self._leases.lease_worker(self._node)
        if worker is None:
            raise Unavailable(f"{WORKERS} nodes are on this database, and no worker number is free")
        return worker

    async def keep(self) -> None:
        """Renews the lease until cancelled. Raises Fenced when it was given up."""
        while True:
            await asyncio.sleep(RENEW_S)
            try:
                await self._renew()
                self._outage.found_there("lease")
            except Fenced:
                self.end.at = -inf
                self._lapse()
                raise
            except (Unavailable, TimeoutError) as problem:
                self._since = inf
                self._outage.found_away("lease", problem)

    async def release_dead(self) -> list[int]:
        """Ends the leases of nodes that look dead from here. Returns the nodes."""
        if not self.settled:
            return []
        dead = await self._leases.release_dead(self._renewed_at + RELEASE_MS)
        for node in dead:
            self._journal.log("warning", "node.released", node=node)
        return dead

    async def give_back(self) -> None:
        """Gives the lease up at a planned end, so that other nodes take over its work at once."""
        if self._timer is not None:
            self._timer.cancel()
        with suppress(Unavailable):
            now = await self._leases.heartbeat(self._node, -LONG_AGO_MS)
            if now is not None:
                await self._leases.release_dead(now + RELEASE_MS, LONG_AGO_MS)

    async def _renew(self) -> None:
        start = self._clock.monotonic()
        async with asyncio.timeout(RENEW_S):
            renewed = await self._leases.heartbeat(self._node, int(LEASE_S * 1000))
        if renewed is None:
            raise Fenced("the work of this node was given to others")
        if self._since == inf or start - self._renewed > LATE_S:
            self._since = start
        self._renewed = start
        self._renewed_at = renewed
        self.end.at = start + LEASE_S - MARGIN_S
        if self._timer is not None:
            self._timer.cancel()
        left = max(0.0, self.end.at - self._clock.monotonic())
        self._timer = asyncio.get_running_loop().call_later(left, self._lapse)

    def _lapse(self) -> None:
        self._journal.log("error", "lease.lapsed")
        self._lapsed()
