"""Refused requests of customers, for people."""

from collections.abc import Sequence
from typing import Protocol

from heliograph.app.records import RefusalCount, RefusalQuery, RefusalTotal, RefusedRequest


class RefusedRequests(Protocol):
    """Keeps counts of refused requests by account, reason and hour, and the last requests of each account and
    reason."""

    async def add(self, counts: Sequence[RefusalCount], latest: Sequence[RefusedRequest], most: int) -> None:
        """Adds to the counts, and keeps the requests; of each account and reason among them at most the `most` that
        were added last stay."""

    async def totals(self, query: RefusalQuery, limit: int) -> list[RefusalTotal]:
        """Returns sums by account and reason, the largest first."""

    async def hours(self, query: RefusalQuery) -> list[tuple[int, int]]:
        """Returns hours in which requests were refused, and how many were, in the order of time."""

    async def latest(self, query: RefusalQuery, limit: int) -> list[RefusedRequest]:
        """Returns requests that are kept, newest first."""

    async def forget(self, before: int, limit: int) -> int:
        """Deletes up to `limit` counts of hours before `before`, and as many requests; returns how many."""
