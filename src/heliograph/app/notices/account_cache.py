"""The accounts that callbacks are owed to, kept in memory."""

from itertools import islice
from zoneinfo import ZoneInfo

from heliograph.app.configuration import Account
from heliograph.app.ports import Store
from heliograph.domain.calendar import zone

ACCOUNTS_KEPT = 20_000
"""Accounts held in memory; of more, the one learnt longest ago is dropped."""


class KnownReceivers:
    """Implements `notify.Receivers`. After a change of accounts what is known is used once more, then learnt anew."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[int, tuple[Account, ZoneInfo]] = {}
        self._stale: set[int] = set()

    def known(self, account: int) -> tuple[Account, ZoneInfo] | None:
        return self._known.get(account)

    async def learn(self, account: int) -> None:
        found = await self._store.account_by_id(account)
        if found is None:
            return
        self._known.pop(account, None)
        self._known[account] = (found, zone(found.timezone))
        if len(self._known) > ACCOUNTS_KEPT:
            del self._known[next(iter(self._known))]

    def doubt(self) -> None:
        """Something was changed: all accounts are to be learnt anew."""
        self._stale.update(self._known)

    async def refresh(self, limit: int = 100) -> None:
        """Learns up to `limit` doubtful accounts anew. Raises Unavailable; those not learnt stay doubtful."""
        for account in list(islice(self._stale, limit)):
            await self.learn(account)
            self._stale.discard(account)
