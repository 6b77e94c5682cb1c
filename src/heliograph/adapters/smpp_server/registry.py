"""The connections of customers on this node, and their binds by account: free slots, and figures about them."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final, Generic, Protocol, TypeVar

from heliograph.app.observing.counters import BindCounters
from heliograph.app.records import BindState
from heliograph.smpp.state import SessionState

C = TypeVar("C")

KINDS: Final = {
    SessionState.BOUND_TX: "transmitter",
    SessionState.BOUND_RX: "receiver",
    SessionState.BOUND_TRX: "transceiver",
}
"""The kinds of binds for people."""


class Bind(Protocol):
    """A connection that is bound, as the registry needs it."""

    id: int
    account: int

    @property
    def room(self) -> int:
        """Number of deliver_sm that it takes now; 0 for a transmitter."""

    @property
    def state(self) -> BindState:
        """Its state for people."""

    def unbind(self) -> None:
        """Ends the bind: answers first, then unbind."""


class Connections(Generic[C]):
    """All connections, and those that are not bound, by host. Each look takes the same time, however many there are: a
    flood of new connections is looked at one by one."""

    def __init__(self) -> None:
        self._all: dict[C, None] = {}
        self._unbound: dict[C, str] = {}
        """Their hosts, slowest first."""
        self._unbound_of: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[C]:
        return iter(self._all)

    def enter(self, connection: C, host: str) -> None:
        """Adds a connection that is not bound."""
        self._all[connection] = None
        self._unbound[connection] = host
        self._unbound_of[host] += 1

    def bound(self, connection: C) -> None:
        """Notes that the connection is bound; harmless if it is noted already."""
        host = self._unbound.pop(connection, None)
        if host is not None:
            self._unbound_of[host] -= 1
            if not self._unbound_of[host]:
                del self._unbound_of[host]

    def leave(self, connection: C) -> None:
        """Forgets a connection."""
        self._all.pop(connection, None)
        self.bound(connection)

    def unbound_of(self, host: str) -> int:
        """Returns how many connections of the host are not bound."""
        return self._unbound_of[host]

    def slowest(self) -> C | None:
        """Returns the connection that has taken longest to bind, if any is not bound."""
        return next(iter(self._unbound), None)


class Binds:
    """The binds of this node."""

    def __init__(self, counts: BindCounters) -> None:
        self.counts = counts
        self.connections: Connections[Any] = Connections()
        self._by_account: dict[int, dict[int, Bind]] = {}
        counts.receiving = self.receiving

    def __len__(self) -> int:
        return sum(map(len, self._by_account.values()))

    def enter(self, bind: Bind) -> None:
        """Adds a bind."""
        self._by_account.setdefault(bind.account, {})[bind.id] = bind
        self.counts.bound = len(self)

    def leave(self, bind: Bind) -> None:
        """Forgets a bind; harmless if it never entered."""
        binds = self._by_account.get(bind.account)
        if binds is not None:
            binds.pop(bind.id, None)
            if not binds:
                del self._by_account[bind.account]
        self.counts.bound = len(self)

    def of(self, account: int) -> Iterable[Bind]:
        """Returns the binds of an account."""
        return self._by_account.get(account, {}).values()

    def receiving(self) -> list[int]:
        """Returns the accounts that have a receiver or transceiver bind."""
        return [
            account
            for account, binds in self._by_account.items()
            if any(bind.state.kind != "transmitter" for bind in binds.values())
        ]

    def accounts(self) -> list[int]:
        """Returns the accounts that have binds."""
        return list(self._by_account)

    def all(self) -> list[Bind]:
        """Returns all binds, by account."""
        return [bind for binds in self._by_account.values() for bind in binds.values()]

    def room(self, account: int) -> int:
        """Returns how many deliver_sm the account's binds take now."""
        return sum(bind.room for bind in self.of(account))

    def has_room(self, account: int) -> bool:
        """True if any of the account's binds takes a deliver_sm now. Fast even with hundreds of binds."""
        return any(bind.room for bind in self.of(account))

    def drop(self, number: int) -> bool:
        """Unbinds the bind with this id. Returns False if there is none."""
        for bind in self.all():
            if bind.id == number:
                bind.unbind()
                return True
        return False
