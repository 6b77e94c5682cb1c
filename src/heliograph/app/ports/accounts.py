"""Accounts: customers with their credit and API keys."""

from collections.abc import Sequence
from typing import Any, Protocol

from heliograph.app.configuration import Account, ApiKey, LedgerEntry, LedgerPage, LedgerQuery, Price
from heliograph.app.records import Usage


class Accounts(Protocol):
    """The customers' accounts. Each change adds one to the revision (`Network`)."""

    async def create(self, account: Account, key: ApiKey, credit: int, prices: Sequence[Price]) -> Account:
        """Creates the account with its first key, its opening credit (a ledger entry unless 0) and its own prices, if
        any. Returns the account with its new id. Raises Exists.
        """

    async def update(self, account: int, changes: dict[str, Any]) -> Account:
        """Changes fields out of ACCOUNT_FIELDS. Raises Missing."""

    async def find(self, name: str) -> tuple[Account, list[ApiKey]] | None:
        """Returns the account with its keys, revoked ones included."""

    async def by_id(self, account: int) -> Account | None: ...

    async def all(self) -> list[tuple[Account, int]]:
        """Returns every account with its balance, by name."""

    async def without_credit(self, limit: int) -> list[str]:
        """Returns the names of accounts that are not suspended and can pay for nothing more, in their order."""

    async def add_credit(self, account: int, amount: int, note: str, now: int) -> int:
        """Tops up (or, below zero, takes back) and writes the ledger; returns the new balance. Raises Missing."""

    async def ledger(self, account: int, limit: int, before: int | None = None) -> list[LedgerEntry]:
        """Returns entries before the key `before`, newest first."""

    async def statement(self, account: int, query: LedgerQuery) -> LedgerPage:
        """Returns a page of the ledger, with the balance after its newest entry."""

    async def usage(self, account: int, start: int, end: int, step: int) -> list[Usage]:
        """Sums the ledger from `start` up to `end` in spans of `step` ms. Returns the spans with entries, oldest first.

        Top-ups are left out. The sums may be limited to the latest millions of entries.
        """

    async def add_key(self, key: ApiKey) -> None:
        """Raises Missing for an unknown account, Exists for an id that the account has used before."""

    async def revoke_key(self, account: int, key: str, now: int) -> None:
        """Raises Missing if there is no such key that is not revoked."""
