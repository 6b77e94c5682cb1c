"""The conversation of one phone with one account: what was sent to it and what came back, in one order of time."""

from dataclasses import dataclass

from heliograph.app.admin.message_lines import END, MessageLine, merged
from heliograph.app.ports import Store
from heliograph.app.records import InboundQuery, Search
from heliograph.app.resources.desk import account_id
from heliograph.domain.message.suppression import Suppression


@dataclass(slots=True)
class ConversationPage:
    """A page of a conversation, newest first.

    `more` is where the next page goes on, None at the end; a page may be short, and even empty, before it.
    """

    turns: list[MessageLine]
    more: int | None = None
    suppression: Suppression | None = None


class Conversations:
    """Reads conversations."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def page(self, account: str, phone: str, before: int | None, limit: int) -> ConversationPage:
        """Returns up to `limit` messages with keys below `before`. Raises Invalid or NoSuch for the account, and the
        store's Unavailable.

        Sent messages are searched for with a bounded effort, so both sides are told only as far back as both were
        looked at.
        """
        owner = await account_id(self._store, account)
        place = None if before is None else (END, before)
        sent = await self._store.messages.search(Search(owner, phone, before=place, limit=limit, accepted_order=True))
        received = await self._store.inbound.find(InboundQuery(owner, phone, before, limit))
        looked_back_to = 0 if sent.more is None else sent.more[1]
        if len(received) == limit:
            looked_back_to = max(looked_back_to, received[-1].message.key)
        turns, more = merged(
            [hit for hit in sent.hits if hit.message.destination == phone],
            [each for each in received if each.message.sender == phone],
            looked_back_to,
            limit,
        )
        suppression = await self._store.suppressions.find(owner, phone)
        return ConversationPage(turns, more, suppression)
