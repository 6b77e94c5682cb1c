"""Users: who runs the gateway, with which sessions and tokens, and what they did."""

from typing import Protocol

from heliograph.app.records import AdminSession, AdminToken, AdminUser, AuditEntry, AuditQuery


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
        """Opens a session, and deletes those that had expired when it was created."""

    async def session(self, digest: bytes, now: int) -> tuple[AdminSession, AdminUser] | None:
        """Returns None if there is no such session, or it has expired by `now`."""

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
    """The record of what users did. Nothing ever changes or deletes a line of it."""

    async def append(self, deed: AuditEntry) -> None: ...

    async def find(self, query: AuditQuery) -> list[AuditEntry]:
        """Returns lines that the query asks for, newest first."""
