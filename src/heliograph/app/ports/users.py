"""Users: administrators of the gateway, their sessions, tokens and sign-ins, and the log of their actions."""

from collections.abc import Sequence
from typing import Protocol

from heliograph.app.records import (
    AdminSession,
    AdminToken,
    AdminUser,
    AuditEntry,
    AuditHead,
    AuditLink,
    AuditQuery,
    KeyUse,
    SignInFailure,
    SignInPlace,
    UserRole,
)


class Users(Protocol):
    """Users and their sessions of the console."""

    async def create(self, user: AdminUser) -> None:
        """Raises Exists."""

    async def all(self) -> list[AdminUser]:
        """Returns every user, by name."""

    async def find(self, name: str) -> AdminUser | None: ...

    async def update(self, name: str, password_hash: str | None = None, role: UserRole | None = None) -> None:
        """Changes the password's hash or the role, and ends the sessions of the user. Raises Missing.

        None stays as it is in the store, where another administrator may have changed it meanwhile.
        """

    async def remove(self, name: str) -> None:
        """Removes the user and ends its sessions. Raises Missing."""

    async def open_session(self, session: AdminSession) -> None:
        """Opens a session, and deletes the sessions that had expired when it was created."""

    async def session(self, digest: bytes, now: int) -> tuple[AdminSession, AdminUser] | None:
        """Returns None if there is no such session, or if it has expired by `now`."""

    async def use_session(self, digest: bytes, now: int) -> None:
        """Notes the time of the user's last action. Harmless if there is no such session."""

    async def close_session(self, digest: bytes) -> None: ...


class Tokens(Protocol):
    """Tokens of the admin API."""

    async def add(self, token: AdminToken) -> None:
        """Raises Exists for the same id."""

    async def all(self) -> list[AdminToken]:
        """Returns the tokens in the order of their creation, revoked tokens included."""

    async def find(self, digest: bytes) -> AdminToken | None:
        """Returns the token of that digest unless it is revoked."""

    async def revoke(self, token: str, now: int) -> None:
        """Revokes the token. Raises Missing if there is no such token, or if it was revoked before."""


class AuditLog(Protocol):
    """The log of the users' actions. No entry is ever changed or deleted.

    Entries have the keys 1, 2, 3, ... in the order of their commits, over all processes. The hash of each entry covers
    the hash of the entry before it (`domain.audit_chain`).
    """

    async def append(self, deed: AuditEntry) -> None: ...

    async def head(self) -> AuditHead:
        """Returns the key and the hash of the last entry; 0 and GENESIS while the log is empty."""

    async def links(self, after: int, limit: int) -> list[AuditLink]:
        """Returns stored entries after the key `after`, oldest first."""

    async def find(self, query: AuditQuery) -> list[AuditEntry]:
        """Returns the entries of the query, newest first."""


class SignIns(Protocol):
    """Keeps failures to sign in and known places. Both are named by hashes."""

    async def key(self, fresh: bytes) -> bytes:
        """Returns the key with which all nodes hash names. Stores `fresh` as the key if there is none yet."""

    async def add(
        self, failures: Sequence[SignInFailure], places: Sequence[SignInPlace], uses: Sequence[KeyUse] = ()
    ) -> None:
        """Adds failures, records places as known from their time on, and notes uses of keys. Other nodes need not learn
        of the uses. No two failures may agree in door, name, node and time.
        """

    async def failures(self, since: int, daily_since: int, but: int, limit: int) -> list[SignInFailure]:
        """Returns failures written by nodes other than `but` from `since` on, newest first. Failures of the door DAILY,
        from `daily_since` on, come before them.
        """

    async def places(self, limit: int) -> list[SignInPlace]:
        """Returns the places that were known last, the newest first."""

    async def rehash_account(self, account: int, was: str, hashed: str) -> None:
        """Replaces the hash of an account's password if it is still `was`. The revision stays the same."""

    async def rehash_user(self, name: str, was: str, hashed: str) -> None:
        """Replaces the hash of a user's password if it is still `was`; the sessions stay."""

    async def forget(self, failures_before: int, daily_before: int, places_before: int, limit: int) -> int:
        """Deletes up to `limit` failures (of the door DAILY: before `daily_before`) and up to `limit` places. Returns
        the larger of both numbers.
        """
