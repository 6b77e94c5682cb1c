"""Messages to phones and from phones in one list, the newest first."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from heliograph.app.admin.message_lines import END, MessageLine, merged
from heliograph.app.admin.views import Views
from heliograph.app.records import InboundQuery, InboundRecord, Search
from heliograph.app.resources.desk import Desk
from heliograph.domain.message import ids
from heliograph.domain.numbers.phone import number_in


@dataclass(slots=True)
class TrafficPage:
    """A page of the list. `more` is the key below which the next page begins, None at the end. A page may be short, and
    even empty, before it."""

    lines: list[MessageLine]
    more: int | None = None


async def message_list(
    views: Views, text: str, search: Search, before: int | None, *, received: bool = True
) -> TrafficPage:
    """Finds messages of both directions by an id, a reference or a number, and by the account and the times of
    `search`, in the order in which they were accepted or came; `received` says whether those from phones are wanted.
    Raises Fault, and the store's Unavailable.

    The search for sent messages has a bounded effort, so both sides are told only as far back as both were looked at.
    """
    place = None if before is None else (END, before)
    page = await views.find(text, replace(search, accepted_order=True, before=place))
    came: Sequence[InboundRecord] = ()
    back_to = 0
    if received:
        came, back_to = await _received(views, text, search, before)
    if page.more is not None:
        back_to = max(back_to, page.more[1])
    return TrafficPage(*merged(page.hits, came, back_to, search.limit))


async def _received(desk: Desk, text: str, search: Search, before: int | None) -> tuple[list[InboundRecord], int]:
    """Returns messages from phones, and the key back to which they were looked for; 0 at the end."""
    id_ = ids.parse(text.strip())
    if id_ is not None:
        found = await desk.store.inbound.show(*id_)
        return ([] if found is None else [found]), 0
    number = number_in(text)
    if text.strip() and not number:
        return [], 0  # a reference, which messages from phones have none of
    latest = None if search.end is None else ids.first_key_at(max(0, search.end + 1))
    bounds = [key for key in (before, latest) if key is not None]
    page = await desk.store.inbound.find(InboundQuery(search.account, number, min(bounds, default=None), search.limit))
    start = search.start or 0
    fitting = [each for each in page if each.message.at >= start]
    ended = len(fitting) < len(page) or len(page) < search.limit
    return fitting, 0 if ended else page[-1].message.key
