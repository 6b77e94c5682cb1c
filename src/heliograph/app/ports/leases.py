"""Leases: what many nodes on one store share out."""

from typing import Protocol


class Leases(Protocol):
    """What many nodes on one store share out. A node is one run of one process, and its number is never used again.

    All that a node has hangs on its one lease: its claims, its worker numbers, its bind slots. The lease is renewed by
    `heartbeat`; the node itself must do nothing in the world outside once that time is over, counted from before the
    call. When another one finds the lease ended (`release_dead`), by the store's one clock, as those of nodes may be
    wrong, the node is *fenced*: whatever it still asks of the store that would write or claim for it raises Fenced.
    """

    async def heartbeat(self, node: int, lasts: int) -> bool:
        """The node has its lease for so many milliseconds more; the first call begins it. False if it was given up: it
        is too late. Fewer than none: it ended so long ago."""

    async def release_dead(self, ago: int = 0) -> list[int]:
        """Gives up the leases that ended so many milliseconds ago, or longer, and returns their nodes.

        Their claims and bind slots are free again. What their fast lanes still owed is put into the queue and the
        other slow tables, due at once, so that any node finds it there; their worker numbers may be given anew.
        """

    async def lease_worker(self, node: int) -> int | None:
        """A worker number (`domain.ids`) that is no other's; None if all are taken. The node recovers it next."""

    async def gathered(self, start: int, end: int) -> tuple[list[int], int]:
        """Messages of several parts that nobody has ended though the rows know the end of each part, the last of them
        from `start` (ms) on and before `end`: the node that wrote it died before it saw the others. Reads the ends of
        parts in that span; also returns how many there are."""

    async def lease_binds(self, connector: int, node: int, binds: int, want: int) -> list[int]:
        """The node's bind slots of a connector, from 0, in order: `want` of those below `binds`, as far as no other
        node has them. Slots it had beyond that are given back: their links must be down already."""
