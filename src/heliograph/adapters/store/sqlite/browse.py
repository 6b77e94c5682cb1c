"""What customers read: balance, messages, batches, lists."""

import sqlite3

from heliograph.adapters.store.sqlite.rows import MESSAGE_COLUMNS, message_of, messages_of
from heliograph.app.facts import Message
from heliograph.app.ports import BatchSlice, ListQuery
from heliograph.domain.receipt import Delivery

_BALANCE = "SELECT balance FROM account WHERE id = ?"
_MESSAGE = f"""
SELECT {MESSAGE_COLUMNS} FROM message AS m WHERE m.key = ? AND m.account = ? AND m.tail = ?
"""  # noqa: S608 - made of constants
_BATCH = "SELECT last_key, reference FROM batch WHERE key = ? AND account = ? AND tail = ?"
_SLICE = f"""
SELECT {MESSAGE_COLUMNS} FROM message AS m
WHERE m.key > ? AND m.key <= ? AND m.batch = ?
ORDER BY m.key LIMIT ? OFFSET ?
"""  # noqa: S608 - made of constants
_DELIVERY = "SELECT state, err, at FROM final WHERE key = ? AND state IS NOT NULL"
_LAST_LIST = "SELECT last_list FROM account WHERE id = ?"
_LISTED = "UPDATE account SET last_list = ? WHERE id = ?"

_EARLIEST = -(1 << 62)
_LATEST = 1 << 62
_SECOND = 1_000


def _page(pending: bool, order: str) -> str:
    """The keys of a page. Each half is read in the order of its index, and they are merged; nothing is sorted."""
    half = "SELECT time, key FROM message WHERE account = ?1 AND {} AND time >= ?2 AND time < ?3"
    halves = [half.format("state IN (1, 3)")] + [half.format("state = 0")] * pending
    return f"{' UNION ALL '.join(halves)} ORDER BY time {order}, key {order} LIMIT ?4 OFFSET ?5"


_PAGES = {
    (pending, descending): _page(pending, "DESC" if descending else "ASC")
    for pending in (False, True)
    for descending in (False, True)
}


def balance(db: sqlite3.Connection, account: int) -> int:
    row = db.execute(_BALANCE, (account,)).fetchone()
    return row[0] if row else 0


def message(db: sqlite3.Connection, account: int, key: int, tail: int) -> Message | None:
    row = db.execute(_MESSAGE, (key, account, tail)).fetchone()
    return message_of(row) if row else None


def batch(db: sqlite3.Connection, account: int, key: int, tail: int, index: int, limit: int) -> BatchSlice | None:
    row = db.execute(_BATCH, (key, account, tail)).fetchone()
    if row is None:
        return None
    last_key, reference = row
    messages = [message_of(row) for row in db.execute(_SLICE, (key, last_key, key, limit, index))]
    return BatchSlice(key, tail, reference, messages)


def messages(db: sqlite3.Connection, account: int, query: ListQuery) -> list[Message]:
    start = _EARLIEST if query.start is None else query.start
    end = _LATEST if query.end is None else query.end + _SECOND
    page = _PAGES[query.pending, query.descending]
    rows = db.execute(page, (account, start, end, query.limit, query.index))
    return messages_of(db, [key for _, key in rows])


def delivery(db: sqlite3.Connection, key: int) -> tuple[Delivery, str, int] | None:
    row = db.execute(_DELIVERY, (key,)).fetchone()
    return (Delivery(row[0]), row[1], row[2]) if row else None


def admit_list(db: sqlite3.Connection, account: int, now: int, interval: int, unanswered: int | None) -> int:
    """A later question may be asked earlier: a last query soon after this one counts. One far in the future (the clock
    went back) does not."""
    row = db.execute(_LAST_LIST, (account,)).fetchone()
    last = row[0] if row else None
    if last is not None and last != unanswered and abs(now - last) < interval:
        return int(last + interval - now)
    db.execute(_LISTED, (now, account))
    return 0
