"""The store, the leases of several nodes on one, and how both fail."""

from collections.abc import Callable
from typing import Any, Protocol

from heliograph.app.admin.oversight import AuditEntry, RestorePoint
from heliograph.app.ports.accounts import Accounts
from heliograph.app.ports.asking import Asking
from heliograph.app.ports.delivering import Delivering
from heliograph.app.ports.network import Network
from heliograph.app.ports.overseeing import Overseeing
from heliograph.app.ports.users import AuditLog, Tokens, Users


class Unavailable(Exception):
    """The store cannot be reached or written. Nothing of the call is known to be durable; trying again is safe."""


class Fenced(Unavailable):
    """This node's lease was given up and its work is others': the process must end, or begin anew as another node."""


class Unfit(Exception):
    """The store will not have one of the facts, however often it is told: nothing of the call was recorded. The text
    quotes no value."""


class NotScheduled(Exception):
    """The message is not in a state for it: already sent, cancelled, or due."""


class Store(Delivering, Asking, Overseeing, Protocol):
    """Durable truth. Each method is one transaction: after it returns all of it is on disk, after it raises none is.

    Every method may raise `Unavailable`. Every `now` is the caller's clock; the store has none. Messages are looked
    up by account, key and tail together: another account's message, or a wrong tail, is the same as none.
    """

    accounts: Accounts
    network: Network
    users: Users
    tokens: Tokens
    audit_log: AuditLog

    def noting(self, describe: Callable[[Any], AuditEntry | None]) -> "Store":
        """The same store for one change, which has its line in the audit log by its own transaction.

        `describe` is given what the change returns, and makes the line, or None for none; it may be called again
        where the transaction has to be. A change that raises leaves no line.
        """

    # --- keeping house

    async def index_numbers(self, now: int, size: int) -> int:
        """Makes the next `size` messages quick to find by their number, all or none; returns how many it took.

        Those of the last seconds may be left out, and so may fewer than `size`: a search finds them all the same.
        """

    async def probe(self) -> None:
        """Writes something small and durable; raises Unavailable if that cannot be done."""

    async def hazards(self) -> list[str]:
        """What breaks the promise above and cannot be helped from here, a sentence each; nothing as a rule."""

    async def backlog(self) -> dict[str, int]:
        """Counts for people and metrics: scheduled, queued, callbacks, callbacks_failed, orphans, awaiting."""

    async def reach(self) -> RestorePoint:
        """Exact, all of one moment; it reads whole tables."""

    async def audit(self) -> list[str]:
        """Proves the books from the rows: one sentence for each thing that is wrong; none if all is well."""

    async def close(self) -> None: ...


class Leases(Protocol):
    """What many nodes on one store share out. A node is one run of one process, and its number is never used again.

    All that a node has hangs on its one lease: its claims, its worker numbers, its bind slots. The lease is renewed by
    `heartbeat`; the node itself must do nothing in the world outside once that time is over, counted from before the
    call. When another one finds the lease ended (`release_dead`), by the store's one clock, as those of nodes may be
    wrong, the node is *fenced*: whatever it still asks of the store that would write or claim for it raises Fenced. On
    an embedded store there is one node, and nothing ends.
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
