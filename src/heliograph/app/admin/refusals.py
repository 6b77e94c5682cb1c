"""Refused requests of customers: sums, hours, and the last requests of each account and reason."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from heliograph.app.ports import Clock, Store
from heliograph.app.records import RefusalQuery, RefusalTotal, RefusedRequest
from heliograph.app.resources.desk import Invalid, account_id
from heliograph.domain.error import Reason

HOUR_MS: Final = 3_600_000

MOST_HOURS: Final = 14 * 24
"""Hours back from now, at most: older ones are not kept."""

TOTALS: Final = 200
"""Sums of accounts and reasons that are told, the largest ones."""


@dataclass(slots=True)
class RefusalReport:
    """Refused requests since a time. Totals and hours count from the beginning of its hour."""

    since: int
    totals: list[RefusalTotal]
    hours: list[tuple[int, int]]
    """Hours in which requests were refused, and how many."""
    latest: list[RefusedRequest]
    """The last requests that are kept, newest first."""
    names: Mapping[int, str]
    """Names of accounts by id."""

    @property
    def requests(self) -> int:
        return sum(number for _, number in self.hours)


class ViewRefusals:
    """Reads refused requests. What was refused in the last seconds may not be in it yet."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def report(self, account: str, reason: str, hours: int, limit: int) -> RefusalReport:
        """Reports the last `hours`, of an account and a reason where these are not empty; with `limit` requests at
        most. Raises Invalid and NoSuch, and the store's Unavailable."""
        if not 1 <= hours <= MOST_HOURS:
            raise Invalid("hours", f"give 1 to {MOST_HOURS}")
        if reason and reason not in tuple(Reason):
            raise Invalid("reason", f"{reason!r} is none; there are {', '.join(Reason)}")
        number = await account_id(self._store, account) if account else None
        since = self._clock.now() - hours * HOUR_MS
        query = RefusalQuery(since, number, Reason(reason) if reason else None)
        refused = self._store.refused_requests
        return RefusalReport(
            since,
            await refused.totals(query, TOTALS),
            await refused.hours(query),
            await refused.latest(query, limit),
            {each.id: each.name for each, _ in await self._store.accounts.all()},
        )
