"""Messages for those who run the gateway: found by what is known of them, and traced through all rows.

A search looks at rows newest first, a bounded number of them, and can be gone on with. By number it looks at the
newest rows themselves, and at the blocks of `numbers` for the older ones.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from heliograph.adapters.store.postgres import numbers
from heliograph.adapters.store.postgres.db import Db
from heliograph.adapters.store.postgres.rows import message_of
from heliograph.adapters.store.shared.rows import MESSAGE_COLUMNS, MESSAGE_WIDTH
from heliograph.adapters.store.shared.standings import LATEST, STANDINGS
from heliograph.app.admin.oversight import CallbackView, Hit, MessageRecord, Search, SearchPage
from heliograph.app.configuration import LedgerEntry
from heliograph.app.facts import Attempt, CallbackEnd, Message, PartReceipt, Submission
from heliograph.domain.ids import first_key_at, time_of
from heliograph.domain.message import State
from heliograph.domain.money import EntryKind
from heliograph.domain.receipt import Delivery
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
_UNDELIVERED = """
SELECT 0 AS time, key FROM final WHERE key >= $1 AND key < $2 AND state <> 2 ORDER BY key DESC
"""
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
_HALVES = {State.SCHEDULED: "state = 0", State.CANCELLED: "state = 2"}
_LISTED = "state IN (1, 3)"

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
  AND ($8::smallint IS NULL OR CASE $8 WHEN 0 THEN f.state IS NULL WHEN 1 THEN f.state = 2 ELSE f.state <> 2 END)
ORDER BY {{order}} LIMIT $9
"""  # noqa: S608 - made of constants
_REACHED = f"SELECT time, key FROM ({{rows}}) AS found WHERE {_ASKED} LIMIT 1 OFFSET $6::bigint - 1"  # noqa: S608

_IDENTIFIED = f"{_HITS} FROM message AS m {_JOIN_FINAL} WHERE m.key = $1 AND m.tail = $2"
_BATCH = "SELECT last_key FROM batch WHERE key = $1 AND tail = $2"
_OF_BATCH = f"""
{_HITS} FROM message AS m {_JOIN_FINAL}
WHERE m.key > $1 AND m.key <= $2 AND m.batch = $1 ORDER BY m.key LIMIT $3
"""
_REFERENCED = """
SELECT r.key, coalesce(b.last_key, r.key), r.batch FROM account AS a
JOIN reference AS r ON r.account = a.id AND r.reference = $1
LEFT JOIN batch AS b ON r.batch AND b.key = r.key
WHERE $2::bigint IS NULL OR a.id = $2
ORDER BY r.key DESC
"""
_OF_REFERENCES = f"""
{_HITS} FROM reference AS r JOIN message AS m ON m.key = r.key {_JOIN_FINAL}
WHERE r.account = $1 AND r.reference = ANY($2::text[]) AND NOT r.batch ORDER BY m.key
"""
_SINGLE = f"{_HITS} FROM message AS m {_JOIN_FINAL} WHERE m.key = $1"


async def search(db: Db, search: Search) -> SearchPage:
    found = SearchPage([])
    for rows, order, places in _rows(search, await numbers.reached(db) if search.number else 0):
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
    hits = hits + [_hit(row) for row in page[:limit]]
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
        only = "" if state == State.SENT else f"AND state <> 1 AND state = {int(state)}"
        yield _BY_KEY.format(only), order, (first, key, 0)


def _halves(standing: MessageStatus | None) -> list[str]:
    if standing is None:
        return [_LISTED, *_HALVES.values()]
    return [_HALVES.get(STANDINGS[standing][0], _LISTED)]


async def identified(db: Db, key: int, tail: int, limit: int) -> list[Hit]:
    row = await db.fetchrow(_IDENTIFIED, key, tail)
    if row is not None:
        return [_hit(row)]
    last_key = await db.fetchval(_BATCH, key, tail)
    return [] if last_key is None else await _of_batch(db, key, last_key, limit)


async def referenced(db: Db, reference: str, account: int | None, limit: int) -> list[Hit]:
    hits: list[Hit] = []
    for key, last_key, batch in await db.fetch(_REFERENCED, reference, account):
        if len(hits) >= limit:
            break
        if batch:
            hits += await _of_batch(db, key, last_key, limit - len(hits))
        else:
            hits += [_hit(row) for row in await db.fetch(_SINGLE, key)]
    return hits


async def of_references(db: Db, account: int, references: Sequence[str]) -> list[Hit]:
    return [_hit(row) for row in await db.fetch(_OF_REFERENCES, account, list(references))]


async def _of_batch(db: Db, key: int, last_key: int, limit: int) -> list[Hit]:
    return [_hit(row) for row in await db.fetch(_OF_BATCH, key, last_key, limit)]


def _hit(row: Sequence[Any]) -> Hit:
    state, err = row[MESSAGE_WIDTH], row[MESSAGE_WIDTH + 1]
    return Hit(message_of(row), None if state is None else Delivery(state), err or "")


_SENT = "SELECT key, segment, connector, operator_id, status, at FROM sent WHERE key = $1 ORDER BY at, segment"
_ATTEMPTS = "SELECT key, segment, connector, status, at FROM attempt WHERE key = $1 ORDER BY at, segment"
_RECEIPTS = """
SELECT key, segment, state, err, at FROM progress WHERE key = $1
UNION ALL SELECT key, segment, state, err, at FROM part_receipt WHERE key = $1
ORDER BY at, segment
"""
_FINAL = "SELECT state, err, at FROM final WHERE key = $1"
_ENTRIES = """
SELECT key, account, kind, amount, message, at, note FROM ledger WHERE account = $1 AND key = $2 AND kind = 0
UNION ALL
SELECT key, account, kind, amount, message, at, note FROM ledger WHERE message = $3 AND kind = 1
"""
_QUEUED = "SELECT connector, due, node IS NOT NULL FROM queue WHERE key = $1"
_RETRY = 'SELECT attempts, problem, "first", due, node FROM callback_retry WHERE key = $1'
_CALLBACK = 'SELECT "end", code, attempts, at FROM callback WHERE key = $1'


async def trace(db: Db, key: int) -> MessageRecord | None:
    row = await db.fetchrow(_SINGLE, key)
    if row is None:
        return None
    message = message_of(row)
    final = await db.fetchrow(_FINAL, key)
    queued = await db.fetchrow(_QUEUED, key)
    receipts = map(tuple, await db.fetch(_RECEIPTS, key))
    entries = map(tuple, await db.fetch(_ENTRIES, message.account, message.batch or key, key))
    return MessageRecord(
        message=message,
        submissions=[Submission(message.account, *each) for each in await db.fetch(_SENT, key)],
        attempts=[Attempt(message.account, *each) for each in await db.fetch(_ATTEMPTS, key)],
        receipts=[PartReceipt(message.account, each[0], each[1], Delivery(each[2]), *each[3:]) for each in receipts],
        final=None if final is None else (None if final[0] is None else Delivery(final[0]), final[1], final[2]),
        entries=[LedgerEntry(each[0], each[1], EntryKind(each[2]), *each[3:]) for each in entries],
        queued=None if queued is None else (queued[0], queued[1], queued[2]),
        callback=await _callback(db, message),
    )


async def _callback(db: Db, message: Message) -> CallbackView | None:
    retry = await db.fetchrow(_RETRY, message.key)
    done = await db.fetchrow(_CALLBACK, message.key)
    if retry is None and done is None:
        return None
    view = CallbackView(message.key, message.tail, message.account, message.callback_url, 0, "", 0)
    if retry is not None:
        view.attempts, view.problem, view.first, view.due = tuple(retry)[:4]
        view.held = retry[4] is not None
    if done is not None:
        view.end = CallbackEnd(done[0])
        view.code, view.attempts, view.at = tuple(done)[1:]
    return view
