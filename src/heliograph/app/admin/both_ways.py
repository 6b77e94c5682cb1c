"""Messages to phones and from phones in one list, the newest first."""

from dataclasses import dataclass, replace

from heliograph.app.admin.inbound import ManageInbound
from heliograph.app.admin.views import Views
from heliograph.app.records import Hit, InboundQuery, InboundRecord, Search
from heliograph.domain import ids

_END = 1 << 62
"""A time after all."""


@dataclass(slots=True)
class TrafficLine:
    """One message by its key: `sent` to a phone, or `received` from one."""

    key: int
    sent: Hit | None = None
    received: InboundRecord | None = None

    @property
    def at(self) -> int:
        """Time at which it was accepted, or came."""
        return ids.time_of(self.key) if self.received is None else self.received.message.at


@dataclass(slots=True)
class TrafficPage:
    """A page of the list. `more` is the key below which the next page begins, None at the end. A page may be short, and
    even empty, before it."""

    lines: list[TrafficLine]
    more: int | None = None


async def both_ways(
    views: Views, inbound: ManageInbound, text: str, search: Search, before: int | None, *, received: bool = True
) -> TrafficPage:
    """Finds messages of both directions by an id, a reference or a number, and by the account and the times of
    `search`, in the order in which they were accepted or came; `received` says whether those from phones are wanted.
    Raises Fault, and the store's Unavailable.

    The search for sent messages has a bounded effort, so both sides are told only as far back as both were looked at.
    """
    place = None if before is None else (_END, before)
    page = await views.find(text, replace(search, accepted_order=True, before=place))
    back_to = 0 if page.more is None else page.more[1]
    lines = [TrafficLine(hit.message.key, sent=hit) for hit in page.hits]
    if received:
        came, looked = await _received(inbound, text, search, before)
        back_to = max(back_to, looked)
        lines += [TrafficLine(each.message.key, received=each) for each in came]
    lines = sorted((line for line in lines if line.key >= back_to), key=lambda line: -line.key)
    if len(lines) > search.limit:
        lines = lines[: search.limit]
        back_to = lines[-1].key
    return TrafficPage(lines, back_to or None)


async def _received(
    inbound: ManageInbound, text: str, search: Search, before: int | None
) -> tuple[list[InboundRecord], int]:
    """Returns messages from phones, and the key back to which they were looked for; 0 at the end."""
    id_ = ids.parse(text.strip())
    if id_ is not None:
        found = await inbound.find_one(*id_)
        return ([] if found is None else [found]), 0
    number = text.strip().removeprefix("+").replace(" ", "").replace("-", "")
    if text.strip() and not number.isdigit():
        return [], 0  # a reference, which messages from phones have none of
    latest = None if search.end is None else ids.first_key_at(max(0, search.end + 1))
    bounds = [key for key in (before, latest) if key is not None]
    page = await inbound.find(InboundQuery(search.account, number, min(bounds, default=None), search.limit))
    start = search.start or 0
    fitting = [each for each in page if each.message.at >= start]
    ended = len(fitting) < len(page) or len(page) < search.limit
    return fitting, 0 if ended else page[-1].message.key
