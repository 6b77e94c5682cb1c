"""Search: messages for administrators."""

from collections.abc import Sequence
from typing import Protocol

from heliograph.app.records import Hit, MessageRecord, Search, SearchPage


class Messages(Protocol):
    """Finds messages of any account, for users of the gateway."""

    async def search(self, search: Search) -> SearchPage:
        """Searches messages, newest first, among at most `effort` rows."""

    async def identified(self, key: int, tail: int, limit: int) -> list[Hit]:
        """Returns the message of that id, or the messages of that batch in their order."""

    async def referenced(self, reference: str, account: int | None, limit: int) -> list[Hit]:
        """Returns the messages of requests with this reference; of an account, or of all accounts."""

    async def of_references(self, account: int, references: Sequence[str]) -> list[Hit]:
        """Returns the messages of the account's requests to a single destination with one of these references, by
        key.
        """

    async def trace(self, key: int) -> MessageRecord | None:
        """Returns all rows of a message."""
