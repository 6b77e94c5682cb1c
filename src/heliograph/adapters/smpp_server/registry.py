"""The binds of customers on this node, by account: their free slots, and figures about them."""

from collections.abc import Iterable
from typing import Protocol

from heliograph.app.observing.counters import BindCounters
from heliograph.app.records import BindState


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


class Binds:
    """The binds of this node."""

    def __init__(self, counts: BindCounters) -> None:
        self.counts = counts
        self._by_account: dict[int, dict[int, Bind]] = {}

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
