"""Failed sign-ins and known places, shared among nodes and over restarts."""

from collections.abc import Sequence
from typing import Protocol

from heliograph.app.records import KeyUse, SignInFailure, SignInPlace


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
        """Replaces the hash of a user's password likewise; the sessions stay."""

    async def forget(self, failures_before: int, daily_before: int, places_before: int, limit: int) -> int:
        """Deletes up to `limit` failures (of the door DAILY: before `daily_before`) and up to `limit` places. Returns
        the larger of both numbers.
        """
