"""Messages for those who run the gateway: found by what is known of them, and traced through all rows.

A search looks at rows newest first, a bounded number of them, and can be gone on with. By number it looks at the
newest rows themselves, and at the blocks of `numbers` for the older ones.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from heliograph.adapters.store.shared.standings import LATEST, STANDINGS
from heliograph.adapters.store.sqlite import numbers
from heliograph.adapters.store.sqlite.rows import MESSAGE_COLUMNS, MESSAGE_WIDTH, message_of
from heliograph.app.admin.oversight import CallbackView, Hit, MessageRecord, Search, SearchPage
from heliograph.app.configuration import LedgerEntry
from heliograph.app.facts import Attempt, CallbackEnd, Message, PartReceipt, Submission
from heliograph.domain.ids import first_key_at, time_of
from heliograph.domain.message import State
from heliograph.domain.money import EntryKind
from heliograph.domain.receipt import Delivery
from heliograph.domain.status import MessageStatus

_FINAL_COLUMNS = "f.state, f.err"
_HITS = f"SELECT {MESSAGE_COLUMNS}, {_FINAL_COLUMNS}"
_JOIN_FINAL = "LEFT JOIN final AS f ON f.key = m.key"

_BY_KEY = "SELECT time, key FROM message WHERE key >= :start AND key < :key {} ORDER BY key DESC"
_UNDELIVERED = "SELECT 0 AS time, key FROM final WHERE key >= :start AND key < :key AND state <> 2 ORDER BY key DESC"
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
_HALVES = {State.SCHEDULED: "state = 0", State.CANCELLED: "state = 2"}
_LISTED = "state IN (1, 3)"

# `looked` are the rows within the effort, of which those are taken that the rest of the search fits.
_PAGE = f"""
{_HITS}
FROM (SELECT time, key FROM ({{rows}}) LIMIT :effort) AS looked
CROSS JOIN message AS m ON m.key = looked.key
{_JOIN_FINAL}
WHERE (:number = '' OR substr(m.destination, 1, length(:number)) = :number)
  AND (:account IS NULL OR m.account = :account AND m.time >= :from AND m.time <= :to)
  AND (:state IS NULL OR m.state = :state)
  AND (:final IS NULL OR CASE :final WHEN 0 THEN f.state IS NULL WHEN 1 THEN f.state = 2 ELSE f.state <> 2 END)
LIMIT :limit
"""  # noqa: S608 - made of constants
_REACHED = "SELECT time, key FROM ({rows}) LIMIT 1 OFFSET :effort - 1"

_IDENTIFIED = f"{_HITS} FROM message AS m {_JOIN_FINAL} WHERE m.key = ? AND m.tail = ?"
_BATCH = "SELECT last_key FROM batch WHERE key = ? AND tail = ?"
_OF_BATCH = f"""
{_HITS} FROM message AS m {_JOIN_FINAL}
WHERE m.key > ?1 AND m.key <= ?2 AND m.batch = ?1 ORDER BY m.key LIMIT ?3
"""
_REFERENCED = """
SELECT r.key, coalesce(b.last_key, r.key), r.batch FROM account AS a
CROSS JOIN reference AS r ON r.account = a.id AND r.reference = ?1
LEFT JOIN batch AS b ON r.batch = 1 AND b.key = r.key
WHERE ?2 IS NULL OR a.id = ?2
ORDER BY r.key DESC
"""
_OF_REFERENCES = f"""
{_HITS} FROM json_each(?1) AS wanted
CROSS JOIN reference AS r ON r.account = ?2 AND r.reference = wanted.value
CROSS JOIN message AS m ON m.key = r.key {_JOIN_FINAL}
WHERE r.batch = 0 ORDER BY m.key
"""
_SINGLE = f"{_HITS} FROM message AS m {_JOIN_FINAL} WHERE m.key = ?"


def search(db: sqlite3.Connection, search: Search) -> SearchPage:
    found = SearchPage([])
    for rows, values in _rows(search, numbers.reached(db) if search.number else 0):
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
    hits = hits + [_hit(row) for row in page[:limit]]
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
        only = "" if state == State.SENT else f"AND state <> 1 AND state = {int(state)}"
        yield _BY_KEY.format(only), {"start": first, "key": key}


def _halves(standing: MessageStatus | None) -> list[str]:
    if standing is None:
        return [_LISTED, *_HALVES.values()]
    return [_HALVES.get(STANDINGS[standing][0], _LISTED)]


def identified(db: sqlite3.Connection, key: int, tail: int, limit: int) -> list[Hit]:
    row = db.execute(_IDENTIFIED, (key, tail)).fetchone()
    if row is not None:
        return [_hit(row)]
    batch = db.execute(_BATCH, (key, tail)).fetchone()
    return [] if batch is None else _of_batch(db, key, batch[0], limit)


def referenced(db: sqlite3.Connection, reference: str, account: int | None, limit: int) -> list[Hit]:
    hits: list[Hit] = []
    for key, last_key, batch in db.execute(_REFERENCED, (reference, account)).fetchall():
        if len(hits) >= limit:
            break
        if batch:
            hits += _of_batch(db, key, last_key, limit - len(hits))
        else:
            hits += [_hit(row) for row in db.execute(_SINGLE, (key,))]
    return hits


def of_references(db: sqlite3.Connection, account: int, references: Sequence[str]) -> list[Hit]:
    return [_hit(row) for row in db.execute(_OF_REFERENCES, (json.dumps(references), account))]


def _of_batch(db: sqlite3.Connection, key: int, last_key: int, limit: int) -> list[Hit]:
    return [_hit(row) for row in db.execute(_OF_BATCH, (key, last_key, limit))]


def _hit(row: tuple[Any, ...]) -> Hit:
    state, err = row[MESSAGE_WIDTH:]
    return Hit(message_of(row), None if state is None else Delivery(state), err or "")


_SENT = "SELECT key, segment, connector, operator_id, status, at FROM sent WHERE key = ? ORDER BY at, segment"
_ATTEMPTS = "SELECT key, segment, connector, status, at FROM attempt WHERE key = ? ORDER BY at, segment"
_RECEIPTS = """
SELECT key, segment, state, err, at FROM progress WHERE key = ?1
UNION ALL SELECT key, segment, state, err, at FROM part_receipt WHERE key = ?1
ORDER BY at, segment
"""
_FINAL = "SELECT state, err, at FROM final WHERE key = ?"
_ENTRIES = """
SELECT key, account, kind, amount, message, at, note FROM ledger WHERE account = ?1 AND key = ?2 AND kind = 0
UNION ALL
SELECT key, account, kind, amount, message, at, note FROM ledger WHERE message = ?3 AND kind = 1
"""
_QUEUED = "SELECT connector, due, node IS NOT NULL FROM queue WHERE key = ?"
_RETRY = 'SELECT attempts, problem, "first", due, node FROM callback_retry WHERE key = ?'
_CALLBACK = 'SELECT "end", code, attempts, at FROM callback WHERE key = ?'


def trace(db: sqlite3.Connection, key: int) -> MessageRecord | None:
    row = db.execute(_SINGLE, (key,)).fetchone()
    if row is None:
        return None
    message = message_of(row)
    final = db.execute(_FINAL, (key,)).fetchone()
    queued = db.execute(_QUEUED, (key,)).fetchone()
    return MessageRecord(
        message=message,
        submissions=[Submission(message.account, *row) for row in db.execute(_SENT, (key,))],
        attempts=[Attempt(message.account, *row) for row in db.execute(_ATTEMPTS, (key,))],
        receipts=[
            PartReceipt(message.account, row[0], row[1], Delivery(row[2]), *row[3:])
            for row in db.execute(_RECEIPTS, (key,))
        ],
        final=None if final is None else (None if final[0] is None else Delivery(final[0]), *final[1:]),
        entries=[
            LedgerEntry(row[0], row[1], EntryKind(row[2]), *row[3:])
            for row in db.execute(_ENTRIES, (message.account, message.batch or key, key))
        ],
        queued=None if queued is None else (queued[0], queued[1], bool(queued[2])),
        callback=_callback(db, message),
    )


def _callback(db: sqlite3.Connection, message: Message) -> CallbackView | None:
    retry = db.execute(_RETRY, (message.key,)).fetchone()
    done = db.execute(_CALLBACK, (message.key,)).fetchone()
    if retry is None and done is None:
        return None
    view = CallbackView(message.key, message.tail, message.account, message.callback_url, 0, "", 0)
    if retry is not None:
        view.attempts, view.problem, view.first, view.due = retry[:4]
        view.held = retry[4] is not None
    if done is not None:
        view.end = CallbackEnd(done[0])
        view.code, view.attempts, view.at = done[1:]
    return view
