"""Messages for those who run the gateway: found by what is known of them, and traced through all rows.

A search looks at rows newest first, a bounded number of them, and can be gone on with. By number it looks at the
newest rows themselves, and at the blocks of `numbers` for the older ones.
"""

from collections.abc import Iterator

from heliograph.adapters.store.postgres.database import Database
from heliograph.adapters.store.postgres.db import Db
from heliograph.adapters.store.postgres.driver import drive
from heliograph.adapters.store.shared.rows import MESSAGE_COLUMNS
from heliograph.adapters.store.shared.search import StoredMessages
from heliograph.adapters.store.shared.sql import fill
from heliograph.adapters.store.shared.standings import LATEST, STANDINGS
from heliograph.adapters.store.shared.trace import hit_of
from heliograph.adapters.store.shared.upkeep import reached
from heliograph.app.admin.oversight import Hit, Search, SearchPage
from heliograph.domain.ids import first_key_at, time_of
from heliograph.domain.message import LISTED, State
from heliograph.domain.status import MessageStatus

_HITS = f"SELECT {MESSAGE_COLUMNS}, f.state, f.err"
_JOIN_FINAL = "LEFT JOIN final AS f ON f.key = m.key"

# $1 and $2 are the earliest and the latest time (or key), $3 the key that the rows at the latest time are below,
# $4 the account, $5 the number, $6 the effort
# each of the statements below has all of these parameters, whether it asks for them or not
_ASKED = "($1::bigint, $2::bigint, $3::bigint, $4::bigint, $5::text) IS DISTINCT FROM NULL"
_BY_KEY = """
SELECT time, key FROM message
WHERE key >= $1 AND key < $2 {} ORDER BY key DESC
"""
_UNDELIVERED = fill("""
SELECT 0 AS time, key FROM final WHERE key >= $1 AND key < $2 AND state <> {Delivery.DELIVRD} ORDER BY key DESC
""")
_BY_NUMBER = """
SELECT b.block AS time, n.key FROM number_block AS b
CROSS JOIN LATERAL (
    SELECT key FROM message_number
    WHERE block = b.block AND number >= $5 AND number < $5 || ':' AND key >= $1 AND key < $2
    OFFSET 0
) AS n
WHERE b.last_key >= $1 AND b.first_key < $2
ORDER BY b.block DESC, n.key DESC
"""
_OF_ACCOUNT = """(
SELECT time, key FROM message
WHERE account = $4 AND {} AND time >= $1 AND time <= $2 AND (time < $2 OR key < $3) ORDER BY time DESC, key DESC
)"""
_LISTED = fill("state IN {LISTED}")
_HALVES = {state: f"state = {state:d}" for state in State if state not in LISTED}
"""Conditions of indexes by account and time, beside the one of _LISTED, by state."""
_DELIVERED = fill("{Delivery.DELIVRD}")

# `looked` are the rows within the effort, of which those are taken that the rest of the search fits: one by one, in
# their order, until the page is full. (OFFSET 0 keeps the planner from joining all of them first, and from turning the
# joins round.) Where rows are in the order of their keys alone, what is called their time says nothing.
_PAGE = f"""
{_HITS}
FROM ({{rows}} LIMIT $6) AS looked
JOIN LATERAL (SELECT * FROM message WHERE key = looked.key OFFSET 0) AS m ON true
LEFT JOIN LATERAL (SELECT state, err FROM final WHERE key = looked.key OFFSET 0) AS f ON true
WHERE {_ASKED} AND ($5 = '' OR starts_with(m.destination, $5))
  AND ($4::bigint IS NULL OR m.account = $4 AND m.time >= $10 AND m.time <= $11)
  AND ($7::smallint IS NULL OR m.state = $7)
  AND ($8::smallint IS NULL OR CASE $8
       WHEN 0 THEN f.state IS NULL WHEN 1 THEN f.state = {_DELIVERED} ELSE f.state <> {_DELIVERED} END)
ORDER BY {{order}} LIMIT $9
"""  # noqa: S608 - made of constants
_REACHED = f"SELECT time, key FROM ({{rows}}) AS found WHERE {_ASKED} LIMIT 1 OFFSET $6::bigint - 1"  # noqa: S608


async def _search(db: Db, search: Search) -> SearchPage:
    found = SearchPage([])
    for rows, order, places in _rows(search, await drive(db, reached, {}) if search.number else 0):
        found = await _page(db, search, rows, order, places, found.hits)
        if found.more is not None:
            break
    return found


async def _page(
    db: Db, search: Search, rows: str, order: str, places: tuple[int, int, int], hits: list[Hit]
) -> SearchPage:
    """What of these rows belongs to the page that begins with `hits`."""
    state, final = (None, None) if search.standing is None else STANDINGS[search.standing]
    limit = search.limit - len(hits)
    start = 0 if search.start is None else search.start
    end = LATEST[0] if search.end is None else search.end
    values = [*places, search.account, search.number, search.effort]
    page = await db.fetch(_PAGE.format(rows=rows, order=order), *values, state, final, limit + 1, start, end)
    hits = hits + [hit_of(row) for row in page[:limit]]
    if len(page) > limit:
        last = hits[-1].message
        return SearchPage(hits, (last.time, last.key))
    # nothing is left, unless the search came to its effort
    reached = await db.fetchrow(_REACHED.format(rows=rows), *values)
    if reached is None:
        return SearchPage(hits)
    time, key = reached
    return SearchPage(hits, (time, key), time_of(key) if search.by_acceptance else time)


def _rows(search: Search, indexed: int) -> Iterator[tuple[str, str, tuple[int, int, int]]]:
    """The statements that read times and keys newest first, one after the other, their order, and $1 to $3.

    `indexed` is the key up to which messages are in blocks.
    """
    time, key = LATEST if search.before is None else search.before
    start = 0 if search.start is None else search.start
    if not search.by_acceptance:
        if search.end is not None and search.end < time:
            time, key = search.end, LATEST[1]
        halves = " UNION ALL ".join(_OF_ACCOUNT.format(half) for half in _halves(search.standing))
        rows = f"SELECT time, key FROM ({halves}) AS merged ORDER BY time DESC, key DESC"  # noqa: S608 - made of constants
        yield rows, "looked.time DESC, looked.key DESC", (start, time, key)
        return
    if search.end is not None:
        key = min(key, first_key_at(search.end + 1))
    # messages of an account are asked for by when they are sent, for which they may have been accepted long before
    first = first_key_at(start) if search.account is None else 0
    order = "looked.key DESC"
    if search.number:
        yield _BY_KEY.format(""), order, (max(first, indexed + 1), key, 0)
        yield _BY_NUMBER, "looked.time DESC, looked.key DESC", (first, key, 0)
    elif search.standing is MessageStatus.UNDELIVERED:
        yield _UNDELIVERED, order, (first, key, 0)
    else:
        state = State.SENT if search.standing is None else STANDINGS[search.standing][0]
        # the states other than Sent have an index, which ends with the key
        only = "" if state == State.SENT else f"AND state <> {State.SENT:d} AND state = {state:d}"
        yield _BY_KEY.format(only), order, (first, key, 0)


def _halves(standing: MessageStatus | None) -> list[str]:
    if standing is None:
        return [_LISTED, *_HALVES.values()]
    return [_HALVES.get(STANDINGS[standing][0], _LISTED)]


class PostgresMessages(StoredMessages):
    """`app.ports.Messages` on one database."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._pool = database.pool

    async def search(self, search: Search) -> SearchPage:
        return await self._pool.look(lambda db: _search(db, search))
