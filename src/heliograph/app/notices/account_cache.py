"""A cache of the accounts that notices are owed to."""

from itertools import islice
from zoneinfo import ZoneInfo

from heliograph.app.configuration import Account
from heliograph.app.ports import Accounts
from heliograph.domain.calendar import zone

ACCOUNTS_KEPT = 20_000
"""Most accounts in memory; at the limit, the oldest is dropped."""


class AccountCache:
    """Implements `notice.KnownAccounts`. An invalidated account is used as it is until `refresh` has read it again."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts
        self._known: dict[int, tuple[Account, ZoneInfo]] = {}
        self._stale: set[int] = set()

    def known(self, account: int) -> tuple[Account, ZoneInfo] | None:
        """See `notice.KnownAccounts`."""
        return self._known.get(account)

    async def learn(self, account: int) -> None:
        """See `notice.KnownAccounts`."""
        found = await self._accounts.by_id(account)
        if found is None:
            return
        self._known.pop(account, None)
        self._known[account] = (found, zone(found.timezone))
        if len(self._known) > ACCOUNTS_KEPT:
            del self._known[next(iter(self._known))]

    def invalidate(self) -> None:
        """Marks all accounts as stale, after a change of the configuration."""
        self._stale.update(self._known)

    async def refresh(self, limit: int = 100) -> None:
        """Reloads up to `limit` stale accounts. Raises Unavailable; accounts that were not read stay stale."""
        for account in list(islice(self._stale, limit)):
            await self.learn(account)
            self._stale.discard(account)
