"""What the store does for those who run the gateway: who they are, what they did, what they search and count."""

from collections.abc import Sequence
from typing import Protocol

from heliograph.app.admin.oversight import (
    BacklogCounts,
    CallbackView,
    Hit,
    MessageRecord,
    Search,
    SearchPage,
)


class Overseeing(Protocol):
    """A part of `Store`: see `app.admin.oversight`. None of it counts as a change of the configuration."""

    async def search(self, search: Search) -> SearchPage:
        """Looks at no more than `effort` rows."""

    async def identified(self, key: int, tail: int, limit: int) -> list[Hit]:
        """The message of that id, or the messages of that batch in their order; of any account."""

    async def referenced(self, reference: str, account: int | None, limit: int) -> list[Hit]:
        """The messages of requests that gave this reference; of one account, or of all."""

    async def of_references(self, account: int, references: Sequence[str]) -> list[Hit]:
        """The messages of the account's requests for one destination that gave one of these references, by key."""

    async def trace(self, key: int) -> MessageRecord | None: ...

    async def owed_callbacks(self, limit: int, after: tuple[int, int] | None = None) -> list[CallbackView]:
        """Those that no node has claimed, by `due` and key, beyond `after`."""

    async def ended_callbacks(self, limit: int, before: int | None = None) -> list[CallbackView]:
        """Given up or gone, newest message first, those of keys below `before`."""

    async def drop_callbacks(self, keys: Sequence[int], now: int) -> int:
        """Ends owed callbacks that no node has claimed, as given up; returns how many."""

    async def standing(self, now: int) -> BacklogCounts: ...

    async def ended_unknown(self, since: int) -> int:
        """How many messages that were accepted from `since` on ended as UNKNOWN: nobody knows whether they arrived. It
        reads all that were not delivered since."""
