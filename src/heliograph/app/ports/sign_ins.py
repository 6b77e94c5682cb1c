"""Failures to sign in and known places, which nodes and runs of them tell each other."""

from collections.abc import Sequence
from typing import Protocol

from heliograph.app.records import KeyUse, SignInFailure, SignInPlace


class SignIns(Protocol):
    """Keeps failures to sign in and known places. Both are named by hashes."""

    async def key(self, fresh: bytes) -> bytes:
        """Returns the key that all nodes hash names with: `fresh`, unless there is one already."""

    async def add(
        self, failures: Sequence[SignInFailure], places: Sequence[SignInPlace], uses: Sequence[KeyUse] = ()
    ) -> None:
        """Adds failures, makes places known from their time on, and notes uses of keys, of which nobody need learn. No
        two of the failures have door, name, node and time alike."""

    async def failures(self, since: int, daily_since: int, but: int, limit: int) -> list[SignInFailure]:
        """Returns failures that nodes other than `but` wrote with a time from `since` on, the newest first; before them
        those of the door DAILY, from `daily_since` on."""

    async def places(self, limit: int) -> list[SignInPlace]:
        """Returns the places that were known last, the newest first."""

    async def rehash_account(self, account: int, was: str, hashed: str) -> None:
        """Replaces the hash of an account's password where it is still `was`. Nobody need read the account anew."""

    async def rehash_user(self, name: str, was: str, hashed: str) -> None:
        """Replaces the hash of a user's password likewise; the sessions stay."""

    async def forget(self, failures_before: int, daily_before: int, places_before: int, limit: int) -> int:
        """Deletes up to `limit` failures, of the door DAILY those before `daily_before`, and up to `limit` places;
        returns the larger number of both."""
