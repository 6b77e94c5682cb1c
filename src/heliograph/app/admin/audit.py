"""Writes the audit log in the name of an actor."""

from collections.abc import Mapping
from copy import copy
from typing import Self

from heliograph.app.ports import Clock, Store
from heliograph.app.records import AuditEntry


class Audited:
    """Use cases whose changes write their entries into the audit log, each by the transaction of its change."""

    def __init__(self, store: Store, clock: Clock, actor: str = "system", address: str = "") -> None:
        """Entries have `actor`, such as `user:ada`, and the `address` of the client."""
        self._store = store
        self._clock = clock
        self.actor = actor
        self.address = address

    @property
    def now(self) -> int:
        """Milliseconds since the epoch by the clock that changes are dated with."""
        return self._clock.now()

    def acting_as(self, actor: str, address: str = "") -> Self:
        """Returns the same use cases in the name of another actor."""
        other = copy(self)
        other.actor, other.address = actor, address
        return other

    async def note(self, action: str, target: str, details: Mapping[str, str] | None = None) -> None:
        """Writes an entry about an action that changes no rows; no secrets, no message texts."""
        await self._store.audit_log.append(self._entry(action, target, details))

    def audited(self, action: str, target: str, details: Mapping[str, str] | None = None) -> Store:
        """Returns the store for one change, whose transaction writes this entry."""
        entry = self._entry(action, target, details)
        return self._store.noting(lambda _: entry)

    def _entry(self, action: str, target: str, details: Mapping[str, str] | None = None) -> AuditEntry:
        return AuditEntry(self.now, self.actor, action, target, dict(details or {}), self.address)
