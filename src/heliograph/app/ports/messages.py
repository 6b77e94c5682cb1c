"""Messages for administrators: searches, refused requests, and all data about a phone number."""

from collections.abc import Sequence
from typing import Protocol

from heliograph.app.kept_data import ErasureStep, PhoneTraces
from heliograph.app.records import (
    Earning,
    Hit,
    MessageRecord,
    RefusalCount,
    RefusalQuery,
    RefusalTotal,
    RefusedRequest,
    Search,
    SearchPage,
)


class Messages(Protocol):
    """Finds messages of any account, for users of the gateway."""

    async def search(self, search: Search) -> SearchPage:
        """Searches messages, newest first, among at most `effort` rows."""

    async def of_references(self, account: int, references: Sequence[str]) -> list[Hit]:
        """Returns the messages of the account's requests to a single destination with one of these references, by
        key.
        """

    async def held(self, keys: Sequence[int]) -> set[int]:
        """Returns the keys of held messages among some."""

    async def trace(self, key: int) -> MessageRecord | None:
        """Returns all rows of a message."""

    async def earnings(self, after: int, end: int, limit: int) -> list[Earning]:
        """Returns the money of the first messages with keys above `after` and below `end`, in their order."""


class RefusedRequests(Protocol):
    """Keeps counts of refused requests by account, reason and hour, and the last requests of each account and
    reason."""

    async def add(self, counts: Sequence[RefusalCount], latest: Sequence[RefusedRequest], most: int) -> None:
        """Adds to the counts, and keeps the requests. Of each account and reason among them, the last `most` stay."""

    async def totals(self, query: RefusalQuery, limit: int) -> list[RefusalTotal]:
        """Returns sums by account and reason, the largest first."""

    async def hours(self, query: RefusalQuery) -> list[tuple[int, int]]:
        """Returns hours with refused requests, and their numbers, oldest first."""

    async def latest(self, query: RefusalQuery, limit: int) -> list[RefusedRequest]:
        """Returns requests that are kept, newest first."""

    async def forget(self, before: int, limit: int) -> int:
        """Deletes up to `limit` counts of hours before `before`, and as many requests; returns how many."""


class Recipients(Protocol):
    """Finds and erases the data of a phone number. `account` None means all accounts, and data without an account."""

    async def traces(self, number: str, account: int | None) -> PhoneTraces:
        """Finds all data with the number, as of a single moment. Texts that mention the number are not searched."""

    async def judge(self, account: int, keys: Sequence[int]) -> ErasureStep:
        """Returns the effect that `erase` would have. Changes nothing."""

    async def erase(self, account: int, keys: Sequence[int], now: int) -> ErasureStep:
        """Erases text and number of an account's messages, outbound and inbound. Messages still waiting are cancelled
        and refunded first. Messages with pending work are noted; retention erases them later. So is a waiting message
        that an earlier operator took, or may have: it stays charged.
        """

    async def forget(self, number: str, account: int | None) -> None:
        """Erases the number outside messages: suppressions, which stay in force, and, if `account` is None, receipts
        that match no message.
        """
