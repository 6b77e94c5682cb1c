"""Failures to sign in, and known places, in the in-memory store."""

from collections.abc import Sequence
from dataclasses import replace

from heliograph.app.records import KeyUse, SignInFailure, SignInPlace
from heliograph.app.sending.failure_register import DAILY
from tests.support.memory_rows import MemoryPart


class MemorySignIns(MemoryPart):
    """`app.ports.SignIns`."""

    async def key(self, fresh: bytes) -> bytes:
        rows = self._open()
        rows.sign_in_key = rows.sign_in_key or fresh
        return rows.sign_in_key

    async def add(
        self, failures: Sequence[SignInFailure], places: Sequence[SignInPlace], uses: Sequence[KeyUse] = ()
    ) -> None:
        rows = self._open()
        rows.sign_in_failures += failures
        rows.sign_in_places.update({(each.door, each.name): each for each in places})
        for use in uses:
            for key in rows.keys:
                if (key.account, key.id) == (use.account, use.key):
                    key.used = max(key.used or 0, use.at)
            for token in self._place.staff().tokens.values():
                if (0, token.id) == (use.account, use.key):
                    token.used = max(token.used or 0, use.at)

    async def failures(self, since: int, daily_since: int, but: int, limit: int) -> list[SignInFailure]:
        found = [
            each
            for each in self._open().sign_in_failures
            if each.at >= (daily_since if each.door == DAILY else since) and each.node != but
        ]
        found.sort(key=lambda each: (each.door != DAILY, -each.at, each.node, each.door, each.name))
        return found[:limit]

    async def places(self, limit: int) -> list[SignInPlace]:
        known = self._open().sign_in_places.values()
        return sorted(known, key=lambda each: (-each.at, each.door, each.name))[:limit]

    async def rehash_account(self, account: int, was: str, hashed: str) -> None:
        rows = self._open()
        found = rows.accounts.get(account)
        if found is not None and found.password_hash == was:
            rows.accounts[account] = replace(found, password_hash=hashed)

    async def rehash_user(self, name: str, was: str, hashed: str) -> None:
        found = self._place.staff().users.get(name)
        if found is not None and found.password_hash == was:
            found.password_hash = hashed

    async def forget(self, failures_before: int, daily_before: int, places_before: int, limit: int) -> int:
        rows = self._open()
        old = [
            each
            for each in rows.sign_in_failures
            if each.at < (min(failures_before, daily_before) if each.door == DAILY else failures_before)
        ]
        old.sort(key=lambda each: each.at)
        unseen = [where for where, each in rows.sign_in_places.items() if each.at < places_before]
        unseen.sort(key=lambda where: rows.sign_in_places[where].at)
        for each in old[:limit]:
            rows.sign_in_failures.remove(each)
        for where in unseen[:limit]:
            del rows.sign_in_places[where]
        return max(len(old[:limit]), len(unseen[:limit]))
