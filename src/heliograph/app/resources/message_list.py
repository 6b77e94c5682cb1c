"""Lists of messages in both directions, newest first: for a search, and for the conversation of a phone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from heliograph.app.records import Hit, InboundQuery, InboundRecord, Search
from heliograph.app.resources.desk import Desk, account_id
from heliograph.app.resources.messages import find
from heliograph.domain.message import ids
from heliograph.domain.message.suppression import Suppression
from heliograph.domain.numbers.phone import number_in

END = 1 << 62
"""A key, and a time in ms, beyond all real values."""


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
    start = None if before is None else (END, before)
    page = await find(desk, text, replace(search, accepted_order=True, before=start))
    came: Sequence[InboundRecord] = ()
    back_to = 0
    if received:
        came, back_to = await _received(desk, text, search, before)
    if page.more is not None:
        back_to = max(back_to, page.more[1])
    return _merged(page.hits, came, back_to, search.limit)


async def _received(desk: Desk, text: str, search: Search, before: int | None) -> tuple[list[InboundRecord], int]:
    """Returns messages from phones, and the key that the search went back to; 0 at the end."""
    id_ = ids.parse(text.strip())
    if id_ is not None:
        found = await desk.store.inbound.show(*id_)
        return ([] if found is None else [found]), 0
    number = number_in(text)
    if text.strip() and not number:
        return [], 0  # the text is a reference, but messages from phones do not have references
    latest = None if search.end is None else ids.first_key_at(max(0, search.end + 1))
    bounds = [key for key in (before, latest) if key is not None]
    page = await desk.store.inbound.find(InboundQuery(search.account, number, min(bounds, default=None), search.limit))
    start = search.start or 0
    fitting = [each for each in page if each.message.at >= start]
    ended = len(fitting) < len(page) or len(page) < search.limit
    return fitting, 0 if ended else page[-1].message.key


async def conversation(desk: Desk, account: str, phone: str, before: int | None, limit: int) -> TrafficPage:
    """Returns up to `limit` messages of a phone and an account with keys below `before`. Raises Invalid or NoSuch for
    the account, and the store's Unavailable."""
    owner = await account_id(desk.store, account)
    start = None if before is None else (END, before)
    sent = await desk.store.messages.search(Search(owner, phone, before=start, limit=limit, accepted_order=True))
    received = await desk.store.inbound.find(InboundQuery(owner, phone, before, limit))
    back_to = 0 if sent.more is None else sent.more[1]
    if len(received) == limit:
        back_to = max(back_to, received[-1].message.key)
    page = _merged(
        [hit for hit in sent.hits if hit.message.destination == phone],
        [each for each in received if each.message.sender == phone],
        back_to,
        limit,
    )
    page.suppression = await desk.store.suppressions.find(owner, phone)
    return page


def _merged(sent: Iterable[Hit], received: Iterable[InboundRecord], back_to: int, limit: int) -> TrafficPage:
    """Returns a page of up to `limit` lines. Messages below the key `back_to` are left to the next page."""
    lines = [MessageLine(hit.message.key, sent=hit) for hit in sent]
    lines += [MessageLine(each.message.key, received=each) for each in received]
    lines = sorted((line for line in lines if line.key >= back_to), key=lambda line: -line.key)
    if len(lines) > limit:
        lines = lines[:limit]
        back_to = lines[-1].key
    return TrafficPage(lines, back_to or None)
