"""Rehashes a password after a successful sign-in if its hash uses outdated argon2 parameters."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

from heliograph.app.ports import Secrets, SignIns, Unavailable

Hash = Callable[[str], Awaitable[str]]
"""Runs `Secrets.hash_password` without blocking the loop."""


class Rehash:
    """Replaces outdated hashes of passwords that were just found right."""

    def __init__(self, secrets: Secrets, hash_password: Hash, store: SignIns) -> None:
        self._secrets = secrets
        self._hash = hash_password
        self._store = store

    async def account(self, account: int, hashed: str, password: str) -> None:
        """Replaces the hash of a customer's password, unless the password has changed meanwhile."""
        if self._secrets.is_outdated(hashed):
            with suppress(Unavailable):  # then it is done at the next login
                await self._store.rehash_account(account, hashed, await self._hash(password))

    async def user(self, name: str, hashed: str, password: str) -> None:
        """Replaces the hash of a console user's password, likewise; sessions stay open."""
        if self._secrets.is_outdated(hashed):
            with suppress(Unavailable):
                await self._store.rehash_user(name, hashed, await self._hash(password))
