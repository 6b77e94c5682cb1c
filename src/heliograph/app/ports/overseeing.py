"""What the store does for those who run the gateway: who they are, what they did, what they search and count."""

from collections.abc import Sequence
from typing import Protocol

from heliograph.app.admin.oversight import (
    AdminSession,
    AdminToken,
    AdminUser,
    AuditEntry,
    AuditQuery,
    BacklogCounts,
    CallbackView,
    Hit,
    MessageRecord,
    Search,
    SearchPage,
    Usage,
)


class Overseeing(Protocol):
    """A part of `Store`: see `app.admin.oversight`. None of it counts as a change of the configuration."""

    async def create_admin(self, user: AdminUser) -> None:
        """Raises Exists."""

    async def admins(self) -> list[AdminUser]:
        """By name."""

    async def admin(self, name: str) -> AdminUser | None: ...

    async def update_admin(self, user: AdminUser) -> None:
        """Changes the password's hash and the role; the sessions of the user end. Raises Missing."""

    async def remove_admin(self, name: str) -> None:
        """Its sessions end. Raises Missing."""

    async def open_session(self, session: AdminSession) -> None:
        """Sessions that had expired when this one was created are deleted."""

    async def session(self, digest: bytes, now: int) -> tuple[AdminSession, AdminUser] | None:
        """None if there is none, or it has expired by `now`."""

    async def close_session(self, digest: bytes) -> None: ...

    async def add_token(self, token: AdminToken) -> None:
        """Raises Exists for the same id."""

    async def tokens(self) -> list[AdminToken]:
        """In the order of their making, revoked ones included."""

    async def token(self, digest: bytes) -> AdminToken | None:
        """The token of that digest unless it is revoked."""

    async def revoke_token(self, token: str, now: int) -> None:
        """Raises Missing if there is no such token that is not revoked."""

    async def note(self, deed: AuditEntry) -> None:
        """Appends to the audit log; nothing ever changes or deletes a line of it."""

    async def deeds(self, query: AuditQuery) -> list[AuditEntry]: ...

    async def search(self, search: Search) -> SearchPage:
        """Looks at no more than `effort` rows."""

    async def identified(self, key: int, tail: int, limit: int) -> list[Hit]:
        """The message of that id, or the messages of that batch in their order; of any account."""

    async def referenced(self, reference: str, account: int | None, limit: int) -> list[Hit]:
        """The messages of requests that gave this reference; of one account, or of all."""

    async def of_references(self, account: int, references: Sequence[str]) -> list[Hit]:
        """The messages of the account's requests for one destination that gave one of these references, by key."""

    async def trace(self, key: int) -> MessageRecord | None: ...

    async def owed_callbacks(self, limit: int, after: tuple[int, int] | None = None) -> list[CallbackView]:
        """Those that no node has claimed, by `due` and key, beyond `after`."""

    async def ended_callbacks(self, limit: int, before: int | None = None) -> list[CallbackView]:
        """Given up or gone, newest message first, those of keys below `before`."""

    async def drop_callbacks(self, keys: Sequence[int], now: int) -> int:
        """Ends owed callbacks that no node has claimed, as given up; returns how many."""

    async def standing(self, now: int) -> BacklogCounts: ...

    async def ended_unknown(self, since: int) -> int:
        """How many messages that were accepted from `since` on ended as UNKNOWN: nobody knows whether they arrived. It
        reads all that were not delivered since."""

    async def usage(self, account: int, start: int, end: int, step: int) -> list[Usage]:
        """Its ledger from `start` up to `end` by spans of `step` ms, those with entries, oldest first. Top-ups are
        left out. It may be cut to the latest millions of entries."""
