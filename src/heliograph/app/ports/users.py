"""Users: administrators of the gateway, their sessions and tokens, and the log of their actions."""

from typing import Protocol

from heliograph.app.records import AdminSession, AdminToken, AdminUser, AuditEntry, AuditHead, AuditLink, AuditQuery


class Users(Protocol):
    """Users and their sessions of the console."""

    async def create(self, user: AdminUser) -> None:
        """Raises Exists."""

    async def all(self) -> list[AdminUser]:
        """Returns every user, by name."""

    async def find(self, name: str) -> AdminUser | None: ...

    async def update(self, user: AdminUser) -> None:
        """Changes the password's hash and the role, and ends the sessions of the user. Raises Missing."""

    async def remove(self, name: str) -> None:
        """Removes the user and ends its sessions. Raises Missing."""

    async def open_session(self, session: AdminSession) -> None:
        """Opens a session, and deletes the sessions that had expired when it was created."""

    async def session(self, digest: bytes, now: int) -> tuple[AdminSession, AdminUser] | None:
        """Returns None if there is no such session, or if it has expired by `now`."""

    async def use_session(self, digest: bytes, now: int) -> None:
        """Notes when the user last did something. Harmless if there is no such session."""

    async def close_session(self, digest: bytes) -> None: ...


class Tokens(Protocol):
    """Tokens of the admin API."""

    async def add(self, token: AdminToken) -> None:
        """Raises Exists for the same id."""

    async def all(self) -> list[AdminToken]:
        """Returns the tokens in the order of their making, revoked ones included."""

    async def find(self, digest: bytes) -> AdminToken | None:
        """Returns the token of that digest unless it is revoked."""

    async def revoke(self, token: str, now: int) -> None:
        """Raises Missing if there is no such token that is not revoked."""


class AuditLog(Protocol):
    """The log of the users' actions. No entry is ever changed or deleted.

    Entries have the keys 1, 2, 3, ... in the order of their commits, over all processes. The hash of each entry covers
    the hash of the entry before it (`domain.audit_chain`).
    """

    async def append(self, deed: AuditEntry) -> None: ...

    async def head(self) -> AuditHead:
        """Returns the end of the log; key 0 and GENESIS while it has no line."""

    async def links(self, after: int, limit: int) -> list[AuditLink]:
        """Returns lines after the key `after` as they are kept, oldest first."""

    async def find(self, query: AuditQuery) -> list[AuditEntry]:
        """Returns lines that the query asks for, newest first."""
