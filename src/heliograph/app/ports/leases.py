"""Leases: what many nodes on one store share out."""

from typing import Protocol


class Leases(Protocol):
    """Shares out workers and binds among nodes on one store. A node is one run of one process; its number is never used
    again.

    All that a node has hangs on its one lease: its claims, its worker numbers, its bind slots. The lease is renewed by
    `heartbeat`; the node itself must do nothing in the world outside once that time is over, counted from before the
    call. When another one finds the lease ended (`release_dead`), by the store's one clock, as those of nodes may be
    wrong, the node is *fenced*: whatever it still asks of the store that would write or claim for it raises Fenced.
    """

    async def heartbeat(self, node: int, lasts: int) -> bool:
        """Extends the node's lease to `lasts` milliseconds from now; the first call begins it. Returns False if the
        lease was given up: the node is fenced. A negative `lasts` lets the lease have ended so long ago."""

    async def release_dead(self, ago: int = 0) -> list[int]:
        """Gives up the leases that ended so many milliseconds ago, or longer, and returns their nodes.

        Their claims and bind slots are free again. What their fast lanes still owed is put into the queue and the
        other slow tables, due at once, so that any node finds it there; their worker numbers may be given anew.
        """

    async def lease_worker(self, node: int) -> int | None:
        """Returns a free worker number (`domain.ids`), now the node's; None if all are taken. The node recovers it
        next."""

    async def gathered(self, start: int, end: int) -> tuple[list[int], int]:
        """Returns the messages of several parts that have no final though the rows hold the end of each part, the last
        one written from `start` (ms) on and before `end`: the node that wrote it died before it saw the others. Reads
        the ends of parts in that span, and also returns their number."""

    async def lease_binds(self, connector: int, node: int, binds: int, want: int) -> list[int]:
        """Leases bind slots of a connector and returns the node's, in order: up to `want` of those from 0 and below
        `binds` that no other node has. Frees the slots that it had beyond that; their links must be down already."""
