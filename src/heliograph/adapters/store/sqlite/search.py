"""Messages for those who run the gateway: found by what is known of them, and traced through all rows.

A search looks at rows newest first, a bounded number of them, and can be gone on with. By number it looks at the
newest rows themselves, and at the blocks of `numbers` for the older ones.
"""

import sqlite3
from collections.abc import Iterator
from typing import Any

from heliograph.adapters.store.shared.rows import MESSAGE_COLUMNS
from heliograph.adapters.store.shared.search import StoredMessages
from heliograph.adapters.store.shared.sql import fill
from heliograph.adapters.store.shared.standings import LATEST, STANDINGS
from heliograph.adapters.store.shared.trace import hit_of
from heliograph.adapters.store.shared.upkeep import reached
from heliograph.adapters.store.sqlite.driver import drive
from heliograph.adapters.store.sqlite.threads import Threads
from heliograph.app.admin.oversight import Hit, Search, SearchPage
from heliograph.domain.ids import first_key_at, time_of
from heliograph.domain.message import LISTED, State
from heliograph.domain.status import MessageStatus

_FINAL_COLUMNS = "f.state, f.err"
_HITS = f"SELECT {MESSAGE_COLUMNS}, {_FINAL_COLUMNS}"
_JOIN_FINAL = "LEFT JOIN final AS f ON f.key = m.key"

_BY_KEY = "SELECT time, key FROM message WHERE key >= :start AND key < :key {} ORDER BY key DESC"
_UNDELIVERED = fill("""
SELECT 0 AS time, key FROM final WHERE key >= :start AND key < :key AND state <> {Delivery.DELIVRD} ORDER BY key DESC
""")
_BY_NUMBER = """
SELECT 0 AS time, n.key FROM number_block AS b
CROSS JOIN message_number AS n ON n.block = b.block AND n.number >= :number AND n.number < :number || ':'
WHERE b.last_key >= :start AND b.first_key < :key AND n.key >= :start AND n.key < :key
ORDER BY b.block DESC, n.key DESC
"""
_OF_ACCOUNT = """
SELECT time, key FROM message
WHERE account = :account AND {} AND time >= :start AND time <= :end AND (time < :end OR key < :key)
"""
_LISTED = fill("state IN {LISTED}")
_HALVES = {state: f"state = {state:d}" for state in State if state not in LISTED}
"""Conditions of indexes by account and time, beside the one of _LISTED, by state."""
_DELIVERED = fill("{Delivery.DELIVRD}")

# `looked` are the rows within the effort, of which those are taken that the rest of the search fits.
_PAGE = f"""
{_HITS}
FROM (SELECT time, key FROM ({{rows}}) LIMIT :effort) AS looked
CROSS JOIN message AS m ON m.key = looked.key
{_JOIN_FINAL}
WHERE (:number = '' OR substr(m.destination, 1, length(:number)) = :number)
  AND (:account IS NULL OR m.account = :account AND m.time >= :from AND m.time <= :to)
  AND (:state IS NULL OR m.state = :state)
  AND (:final IS NULL OR CASE :final
       WHEN 0 THEN f.state IS NULL WHEN 1 THEN f.state = {_DELIVERED} ELSE f.state <> {_DELIVERED} END)
LIMIT :limit
"""  # noqa: S608 - made of constants
_REACHED = "SELECT time, key FROM ({rows}) LIMIT 1 OFFSET :effort - 1"


def _search(db: sqlite3.Connection, search: Search) -> SearchPage:
    found = SearchPage([])
    for rows, values in _rows(search, drive(db, reached) if search.number else 0):
        found = _page(db, search, rows, values, found.hits)
        if found.more is not None:
            break
    return found


def _page(db: sqlite3.Connection, search: Search, rows: str, values: dict[str, Any], hits: list[Hit]) -> SearchPage:
    """What of these rows belongs to the page that begins with `hits`."""
    state, final = (None, None) if search.standing is None else STANDINGS[search.standing]
    limit = search.limit - len(hits)
    values |= {
        "effort": search.effort,
        "number": search.number,
        "account": search.account,
        "from": 0 if search.start is None else search.start,
        "to": LATEST[0] if search.end is None else search.end,
        "state": state,
        "final": final,
        "limit": limit + 1,
    }
    page = db.execute(_PAGE.format(rows=rows), values).fetchall()
    hits = hits + [hit_of(row) for row in page[:limit]]
    if len(page) > limit:
        last = hits[-1].message
        return SearchPage(hits, (last.time, last.key))
    # nothing is left, unless the search came to its effort
    end = db.execute(_REACHED.format(rows=rows), values).fetchone()
    if end is None:
        return SearchPage(hits)
    time, key = end
    return SearchPage(hits, (time, key), time_of(key) if search.by_acceptance else time)


def _rows(search: Search, indexed: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The statements that read times and keys newest first, one after the other, and their parameters.

    `indexed` is the key up to which messages are in blocks.
    """
    time, key = LATEST if search.before is None else search.before
    start = 0 if search.start is None else search.start
    if not search.by_acceptance:
        if search.end is not None and search.end < time:
            time, key = search.end, LATEST[1]
        rows = " UNION ALL ".join(_OF_ACCOUNT.format(half) for half in _halves(search.standing))
        yield f"{rows} ORDER BY time DESC, key DESC", {"start": start, "key": key, "end": time}
        return
    if search.end is not None:
        key = min(key, first_key_at(search.end + 1))
    # messages of an account are asked for by when they are sent, for which they may have been accepted long before
    first = first_key_at(start) if search.account is None else 0
    if search.number:
        yield _BY_KEY.format(""), {"start": max(first, indexed + 1), "key": key}
        yield _BY_NUMBER, {"start": first, "key": key}
    elif search.standing is MessageStatus.UNDELIVERED:
        yield _UNDELIVERED, {"start": first, "key": key}
    else:
        state = State.SENT if search.standing is None else STANDINGS[search.standing][0]
        # the states other than Sent have an index, which ends with the key
        only = "" if state == State.SENT else f"AND state <> {State.SENT:d} AND state = {state:d}"
        yield _BY_KEY.format(only), {"start": first, "key": key}


def _halves(standing: MessageStatus | None) -> list[str]:
    if standing is None:
        return [_LISTED, *_HALVES.values()]
    return [_HALVES.get(STANDINGS[standing][0], _LISTED)]


class SqliteMessages(StoredMessages):
    """`app.ports.Messages` on one file."""

    def __init__(self, threads: Threads) -> None:
        super().__init__(threads)
        self._searcher = threads.searcher

    async def search(self, search: Search) -> SearchPage:
        return await self._searcher.transact(_search, search)
