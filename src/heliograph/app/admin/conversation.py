"""The conversation of one phone with one account: what was sent to it and what came back, in one order of time."""

from dataclasses import dataclass

from heliograph.app.admin.manage import account_id
from heliograph.app.ports import Store
from heliograph.app.records import Hit, InboundQuery, InboundRecord, Search
from heliograph.domain.suppression import Suppression

_END = 1 << 62
"""A key, and a time, after all."""


@dataclass(slots=True)
class Turn:
    """One message of a conversation, by its key: `sent` to the phone, or `received` from it."""

    key: int
    sent: Hit | None = None
    received: InboundRecord | None = None


@dataclass(slots=True)
class ConversationPage:
    """A page of a conversation, newest first.

    `more` is where the next page goes on, None at the end; a page may be short, and even empty, before it.
    """

    turns: list[Turn]
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
        place = None if before is None else (_END, before)
        sent = await self._store.messages.search(Search(owner, phone, before=place, limit=limit, accepted_order=True))
        received = await self._store.inbound.find(InboundQuery(owner, phone, before, limit))
        looked_back_to = 0 if sent.more is None else sent.more[1]
        if len(received) == limit:
            looked_back_to = max(looked_back_to, received[-1].message.key)
        turns = [Turn(hit.message.key, sent=hit) for hit in sent.hits if hit.message.destination == phone]
        turns += [Turn(each.message.key, received=each) for each in received if each.message.sender == phone]
        turns = sorted((turn for turn in turns if turn.key >= looked_back_to), key=lambda turn: -turn.key)
        if len(turns) > limit:
            turns = turns[:limit]
            looked_back_to = turns[-1].key
        suppression = await self._store.suppressions.find(owner, phone)
        return ConversationPage(turns, looked_back_to or None, suppression)
