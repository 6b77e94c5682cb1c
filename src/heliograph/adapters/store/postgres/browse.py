"""What customers read: balance, messages, batches, lists, histories."""

from heliograph.adapters.store.postgres.db import Db
from heliograph.adapters.store.postgres.rows import message_of, messages_of
from heliograph.adapters.store.shared.history import Rowset, compose
from heliograph.adapters.store.shared.rows import MESSAGE_COLUMNS
from heliograph.app.facts import Message
from heliograph.app.ports import BatchSlice, Event, ListQuery
from heliograph.domain.receipt import Delivery

_BALANCE = "SELECT balance FROM account WHERE id = $1"
_MESSAGE = f"""
SELECT {MESSAGE_COLUMNS} FROM message AS m WHERE m.key = $1 AND m.account = $2 AND m.tail = $3
"""  # noqa: S608 - made of constants
_BATCH = "SELECT last_key, reference FROM batch WHERE key = $1 AND account = $2 AND tail = $3"
_SLICE = f"""
SELECT {MESSAGE_COLUMNS} FROM message AS m
WHERE m.key > $1 AND m.key <= $2 AND m.batch = $1
ORDER BY m.key LIMIT $3 OFFSET $4
"""  # noqa: S608 - made of constants
_DELIVERY = "SELECT state, err, at FROM final WHERE key = $1 AND state IS NOT NULL"

# Nodes' clocks differ, and a later question may be asked earlier: a last query soon after this one counts. One far in
# the future (the clock went back) does not.
_LISTED = """
INSERT INTO listing (account, at) VALUES ($1, $2)
ON CONFLICT (account) DO UPDATE SET at = $2 WHERE abs(listing.at - $2) >= $3 OR listing.at = $4
RETURNING 1
"""
_LAST_LIST = "SELECT at FROM listing WHERE account = $1"

_CHARGE = "SELECT at FROM ledger WHERE account = $1 AND key = $2 AND kind = 0"
_MOVES = "SELECT at, was, time FROM moved WHERE key = $1 ORDER BY at"
_ATTEMPTS = """
SELECT a.segment, a.status, a.at, a.connector, c.name FROM attempt AS a
LEFT JOIN connector AS c ON c.id = a.connector WHERE a.key = $1 ORDER BY a.at, a.segment
"""
_SENT = """
SELECT s.segment, s.status, s.operator_id, s.at, s.connector, c.name FROM sent AS s
LEFT JOIN connector AS c ON c.id = s.connector WHERE s.key = $1 ORDER BY s.at, s.segment
"""
_RECEIPTS = """
SELECT segment, state, err, at FROM progress WHERE key = $1
UNION ALL SELECT segment, state, err, at FROM part_receipt WHERE key = $1
ORDER BY at, segment
"""
_FINAL = "SELECT state, err, at FROM final WHERE key = $1"
_REFUND = "SELECT amount, at FROM ledger WHERE message = $1 AND kind = 1"
_CALLBACK = 'SELECT "end", code, attempts, at FROM callback WHERE key = $1'
_RETRY = 'SELECT attempts, problem, due, "first" FROM callback_retry WHERE key = $1 AND due IS NOT NULL'

_EARLIEST = -(1 << 62)
_LATEST = 1 << 62
_SECOND = 1_000


def _page(pending: bool, order: str) -> str:
    """The keys of a page. Each half is read in the order of its index, and they are merged; nothing is sorted."""
    half = "(SELECT time, key FROM message WHERE account = $1 AND {} AND time >= $2 AND time < $3 {})"
    ordered = f"ORDER BY time {order}, key {order}"
    halves = [half.format("state IN (1, 3)", ordered)] + [half.format("state = 0", ordered)] * pending
    return f"SELECT key FROM ({' UNION ALL '.join(halves)}) AS page {ordered} LIMIT $4 OFFSET $5"  # noqa: S608


_PAGES = {
    (pending, descending): _page(pending, "DESC" if descending else "ASC")
    for pending in (False, True)
    for descending in (False, True)
}


async def balance(db: Db, account: int) -> int:
    found: int | None = await db.fetchval(_BALANCE, account)
    return found or 0


async def message(db: Db, account: int, key: int, tail: int) -> Message | None:
    row = await db.fetchrow(_MESSAGE, key, account, tail)
    return message_of(row) if row else None


async def batch(db: Db, account: int, key: int, tail: int, index: int, limit: int) -> BatchSlice | None:
    row = await db.fetchrow(_BATCH, key, account, tail)
    if row is None:
        return None
    messages = [message_of(each) for each in await db.fetch(_SLICE, key, row[0], limit, index)]
    return BatchSlice(key, tail, row[1], messages)


async def messages(db: Db, account: int, query: ListQuery) -> list[Message]:
    start = _EARLIEST if query.start is None else query.start
    end = _LATEST if query.end is None else query.end + _SECOND
    page = _PAGES[query.pending, query.descending]
    rows = await db.fetch(page, account, start, end, query.limit, query.index)
    return await messages_of(db, [row[0] for row in rows])


async def delivery(db: Db, key: int) -> tuple[Delivery, str, int] | None:
    row = await db.fetchrow(_DELIVERY, key)
    return (Delivery(row[0]), row[1], row[2]) if row else None


async def admit_list(db: Db, account: int, now: int, interval: int, unanswered: int | None) -> int:
    if await db.fetchval(_LISTED, account, now, interval, unanswered) is not None:
        return 0
    last: int = await db.fetchval(_LAST_LIST, account)
    return last + interval - now


async def history(db: Db, account: int, key: int, tail: int) -> list[Event] | None:
    found = await message(db, account, key, tail)
    if found is None:
        return None
    rows = Rowset(
        charge=await db.fetchval(_CHARGE, account, found.batch or key),
        moves=await db.fetch(_MOVES, key),
        attempts=await db.fetch(_ATTEMPTS, key),
        sent=await db.fetch(_SENT, key),
        receipts=await db.fetch(_RECEIPTS, key),
        finals=await db.fetch(_FINAL, key),
        refunds=await db.fetch(_REFUND, key),
        retries=await db.fetch(_RETRY, key),
        callbacks=await db.fetch(_CALLBACK, key),
    )
    return compose(found, rows)
