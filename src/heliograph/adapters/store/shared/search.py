"""`app.ports.Messages`: searches of messages by administrators, and traces.

A search reads a bounded number of rows, newest first, and can be continued. By number it reads the newest rows, and the
blocks of `numbers` for older rows. By country, connector or sender it reads the newest rows, and then only blocks that
have a message of this country, connector or sender.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from heliograph.adapters.store.shared.steps import Operations, Q, Query, Steps, browse, first, listing
from heliograph.adapters.store.shared.trace import hit_of, record_of
from heliograph.adapters.store.shared.upkeep import reached
from heliograph.app.records import Earning, Hit, MessageRecord, Search, SearchPage, TakenSegment
from heliograph.domain.message.ids import first_key_at, time_of
from heliograph.domain.message.receipt import ending_of
from heliograph.domain.message.state import LISTED, State
from heliograph.domain.message.status import STATE_OF, MessageStatus
from heliograph.domain.numbers.country import heads_of

_LATEST = (1 << 62, 1 << 62)
"""A cursor (time and key) after every message."""

RARE: Final = 200
"""A connector or sender is rare if fewer than 1 in this many messages of an account has it. It is then searched in
blocks, because a page of the account's own rows would take thousands of reads."""

RARE_BLOCKS: Final = 100
"""Number of the newest blocks in which this is counted."""

RARE_COUNTRY: Final = 5_000
"""A country with fewer messages, over all accounts, is searched in blocks."""

SCATTERED: Final = 2
"""A search among undelivered messages reads so many times fewer rows than another: each row is on a page of its own, so
that it takes three times as long."""

_FINALS = {
    MessageStatus.DELIVERED: 1, MessageStatus.UNDELIVERED: 2, MessageStatus.SUBMITTED: 3, MessageStatus.PENDING: 4,
    MessageStatus.SCHEDULED: 5, MessageStatus.HELD: 6,
}  # fmt: skip
"""Number of the condition on final, parts and hold, by status: 1 DELIVRD, 2 another; none, and 3 all parts taken, 4 not
all and not held; 5 not held; 6 held."""


class StoredMessages(Operations):
    @browse
    def search(self, search: Search) -> Steps[SearchPage]:
        in_blocks = search.number or search.connector is not None or search.sender or search.country
        indexed = (yield from reached()) if in_blocks else 0
        found = SearchPage([])
        if ending_of(search.error) is None:
            return found
        if search.before is None and (yield from _is_rare(search)):
            search = replace(search, accepted_order=True)
        for rows, start, end, key in _rows(search, indexed):
            found = yield from _page(search, found.hits, rows, {"start": start, "end": end, "key": key})
            if found.more is not None:
                break
        return found

    @browse
    def earnings(self, after: int, end: int, limit: int) -> Steps[list[Earning]]:
        rows = yield Q.earning_messages(after=after, end=end, limit=limit)
        earnings = {row[0]: Earning(*row) for row in rows}
        if earnings:
            begin, last = rows[0][0], rows[-1][0]
            for key, connector, at, delivered in (yield Q.taken_segments(first=begin, last=last)):
                earnings[key].segments.append(TakenSegment(connector, at, bool(delivered)))
            for key, amount in (yield Q.refunds_of_messages(first=begin, last=last)):
                if key in earnings:
                    earnings[key].amount -= amount
        return list(earnings.values())

    @listing
    def of_references(self, account: int, references: Sequence[str]) -> Steps[list[Hit]]:
        rows = yield Q.hits_of_references(account=account, references=list(references))
        return [hit_of(row) for row in rows]

    @browse
    def held(self, keys: Sequence[int]) -> Steps[set[int]]:
        return {key for (key,) in (yield Q.held_of(keys=list(keys)))}

    @browse
    def trace(self, key: int) -> Steps[MessageRecord | None]:
        found = yield from first(Q.hit(key=key))
        return None if found is None else (yield from record_of(hit_of(found).message))


def _is_rare(search: Search) -> Steps[bool]:
    """Returns whether the wanted messages are so few among the account's that searching blocks is cheaper. Blocks are
    in the order of acceptance, and a search by status is never rare."""
    by_content = search.connector is not None or search.sender
    if search.by_acceptance or search.status is not None:
        return False
    if by_content:
        connector = -1 if search.connector is None else search.connector
        ((all_, these),) = yield Q.rarity(
            account=search.account, connector=connector, sender=search.sender.lower(), blocks=RARE_BLOCKS
        )
        # rows of other times are read too, as a block should have only a few
        timed = search.start is not None or search.end is not None
        return int(these) * RARE <= int(all_) and (not timed or int(these) * 2 <= RARE_BLOCKS)
    if not search.country:
        return False
    return not (yield Query("reached_by_number", _values(search, {"start": 0, "key": _LATEST[1]}, RARE_COUNTRY, 0)))


def _page(search: Search, hits: list[Hit], rows: str, cursor: dict[str, int]) -> Steps[SearchPage]:
    """Fills the page that begins with `hits` from these rows, up to the search's limit."""
    limit = search.limit - len(hits)
    effort = max(1, search.effort // SCATTERED) if rows == "undelivered" else search.effort
    values = _values(search, cursor, effort, limit + 1)
    page = yield Query(f"page_{rows}", values)
    hits = hits + [hit_of(row) for row in page[:limit]]
    if len(page) > limit:
        last = hits[-1].message
        return SearchPage(hits, (0 if search.by_acceptance else last.time, last.key))
    # nothing is left, unless the search reached its `effort`
    end = yield from first(Query(f"reached_{rows}", values))
    if end is None:
        return SearchPage(hits)
    time, key = end
    return SearchPage(hits, (0, key), time_of(key)) if search.by_acceptance else SearchPage(hits, (time, key), time)


def _values(search: Search, cursor: dict[str, int], effort: int, limit: int) -> dict[str, Any]:
    """Returns the values of the statements of a page."""
    state, code = ending_of(search.error) or (None, "")
    heads = heads_of(search.country)
    id_, tail = search.id or (None, None)
    return cursor | {
        "effort": effort,
        "number": search.number,
        "account": search.account,
        "from": 0 if search.start is None else search.start,
        "to": _LATEST[0] if search.end is None else search.end,
        "state": None if search.status is None else STATE_OF.get(search.status),
        "final": None if search.status is None else _FINALS.get(search.status),
        "connector": search.connector,
        "sender": search.sender.lower(),
        "network": search.network,
        "id": id_,
        "tail": tail,
        "reference": search.reference,
        "heads": heads if search.country else None,
        "low": search.number or min(heads, default=""),
        "high": search.number or max(heads, default=""),
        "ended": bool(search.error),
        "delivery": state,
        "code": code,
        "limit": limit,
    }


def _rows(search: Search, indexed: int) -> Iterator[tuple[str, int, int, int]]:
    """The statements `rows_...` that read times and keys newest first, in their order. Each has the earliest time (or
    key), the latest time, and the key below which the rows at the latest time are.

    `indexed` is the key up to which messages are in blocks.
    """
    time, key = _LATEST if search.before is None else search.before
    start = 0 if search.start is None else search.start
    state = None if search.status is None else STATE_OF.get(search.status)
    if not search.by_acceptance:
        if search.end is not None and search.end < time:
            time, key = search.end, _LATEST[1]
        part = "" if state is None else f"_{'listed' if state in LISTED else state.name.lower()}"
        yield f"of_account{part}", start, time, key
        return
    if search.end is not None:
        key = min(key, first_key_at(search.end + 1))
    # messages of an account are searched by time of sending, and may have been accepted long before
    earliest = first_key_at(start) if search.account is None else 0
    by_content = search.connector is not None or bool(search.sender)
    if search.names_request:
        yield "of_id" if search.id is not None else "of_reference", earliest, time, key
    elif search.status is MessageStatus.HELD:
        yield "held", earliest, time, key
    elif search.number:
        yield "by_key", max(earliest, indexed + 1), time, key
        yield "by_number", earliest, time, key
    elif search.status is MessageStatus.UNDELIVERED or search.error:
        yield "undelivered", earliest, time, key
    elif state not in (None, State.SENT):
        # these states have an index, which ends with the key
        yield state.name.lower(), earliest, time, key
    elif search.country and (search.account is None or not by_content):
        yield "by_key", max(earliest, indexed + 1), time, key
        yield "by_number", earliest, time, key
    elif by_content:
        yield "by_key", max(earliest, indexed + 1), time, key
        yield "by_block", earliest, time, key
    else:
        yield "by_key", earliest, time, key
