"""Lists of messages in both directions, newest first: for a search, and for the conversation of a phone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from heliograph.app.records import Hit, InboundQuery, InboundRecord, Search
from heliograph.app.resources.desk import Desk, account_id
from heliograph.app.resources.inbound import page_of_text
from heliograph.app.resources.messages import find, merged
from heliograph.domain.message import ids
from heliograph.domain.message.suppression import Suppression
from heliograph.domain.numbers.phone import number_in


@dataclass(slots=True)
class MessageLine:
    """A message in either direction."""

    key: int
    sent: Hit | None = None
    """The message to a phone, or None."""
    received: InboundRecord | None = None
    """The message from a phone, or None."""

    @property
    def at(self) -> int:
        """Time of acceptance or arrival, in ms."""
        return ids.time_of(self.key) if self.received is None else self.received.message.at


@dataclass(slots=True)
class TrafficPage:
    """A page of the list. It may be short, and even empty, before the end."""

    lines: list[MessageLine]
    more: int | None = None
    """The next page has keys below this; None after the last page."""
    suppression: Suppression | None = None
    """The phone's opt-out, in a conversation."""


async def message_list(
    desk: Desk, text: str, search: Search, before: int | None, *, received: bool = True
) -> TrafficPage:
    """Finds messages in both directions by an id, a reference or a number, and by account and times of `search`.

    They are in the order of acceptance or arrival. `received` False leaves out messages from phones. Raises Fault, and
    the store's Unavailable. The search for sent messages may stop at its limit of rows. Then received messages from
    before that point are left to the next page.
    """
    page = await find(desk, text, replace(search, accepted_order=True, before=_cursor(before)))
    found, more = await _received(desk, text.strip(), search, before) if received else ([], None)
    return _merged(page.hits, page.more, found, more, search.limit)


def _cursor(before: int | None) -> tuple[int, int] | None:
    """Returns the cursor of a search in the order of acceptance that goes on below the key `before`."""
    return None if before is None else (0, before)


async def _received(
    desk: Desk, text: str, search: Search, before: int | None
) -> tuple[list[InboundRecord], int | None]:
    """Returns messages from phones, and the key that the next page begins below; None at the end."""
    number = number_in(text)
    if text and not number and ids.parse(text) is None:
        return [], None  # the text is a reference, but messages from phones do not have references
    latest = None if search.end is None else ids.first_key_at(max(0, search.end + 1))
    bounds = [key for key in (before, latest) if key is not None]
    query = InboundQuery(search.account, number, min(bounds, default=None), search.limit)
    return await page_of_text(desk, text, query, search.start or 0)


async def conversation(desk: Desk, account: str, phone: str, before: int | None, limit: int) -> TrafficPage:
    """Returns up to `limit` messages of a phone and an account with keys below `before`. Raises Invalid or NoSuch for
    the account, and the store's Unavailable."""
    owner = await account_id(desk.store, account)
    wanted = Search(owner, phone, before=_cursor(before), limit=limit, accepted_order=True)
    sent = await desk.store.messages.search(wanted)
    received, more = await page_of_text(desk, "", InboundQuery(owner, phone, before, limit))
    page = _merged(
        [hit for hit in sent.hits if hit.message.destination == phone],
        sent.more,
        [each for each in received if each.message.sender == phone],
        more,
        limit,
    )
    page.suppression = await desk.store.suppressions.find(owner, phone)
    return page


def _merged(
    sent: Sequence[Hit],
    more_sent: tuple[int, int] | None,
    received: Sequence[InboundRecord],
    more_received: int | None,
    limit: int,
) -> TrafficPage:
    """Returns a page of up to `limit` lines of a page in each direction, with their cursors."""
    lines = [MessageLine(hit.message.key, sent=hit) for hit in sent]
    lines += [MessageLine(each.message.key, received=each) for each in received]
    lines, back_to = merged(lines, (more_sent, _cursor(more_received)), limit, lambda line: line.key)
    return TrafficPage(lines, back_to or None)
