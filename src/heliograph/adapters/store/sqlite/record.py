"""The hot path: gathered facts in a transaction."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any

from heliograph.adapters.store.shared.customers import replayed
from heliograph.adapters.store.shared.late_sends import late_sends
from heliograph.adapters.store.shared.rows import MESSAGE_COLUMNS, MESSAGE_WIDTH
from heliograph.adapters.store.shared.sql import fill
from heliograph.adapters.store.shared.suppressions import fail_at_once, fail_suppressed
from heliograph.adapters.store.sqlite.allowances import Spenders
from heliograph.adapters.store.sqlite.connection import describe, is_unfit
from heliograph.adapters.store.sqlite.driver import drive
from heliograph.adapters.store.sqlite.money import LedgerWriter
from heliograph.adapters.store.sqlite.record_consents import record_consents, withdraw
from heliograph.adapters.store.sqlite.record_inbound import record_inbound
from heliograph.adapters.store.sqlite.statements import Insert, Row, many
from heliograph.adapters.store.sqlite.worker import FileConnection
from heliograph.app.facts import (
    MOST_PROGRESS,
    Accept,
    CallbackDone,
    CallbackEnd,
    EarlyReceipt,
    Facts,
    Message,
    MessageEnd,
    PartReceipt,
    Queueing,
    Resend,
    Verdict,
    notice_key_of,
    queued_of,
)
from heliograph.app.ports import StoreRejected
from heliograph.domain.message.receipt import NO_CODE, Delivery
from heliograph.domain.message.state import State
from heliograph.domain.money.amounts import EntryKind

_CHARGE = +EntryKind.CHARGE
_ACCEPTED = Verdict.ACCEPTED  # each access to a member of an enum costs a lookup
_REPLAYED = Verdict.REPLAYED
_UNAVAILABLE = Verdict.UNAVAILABLE

_ONCE = "ON CONFLICT DO NOTHING"

_INSERT_MESSAGE = Insert(
    f"INSERT INTO message ({MESSAGE_COLUMNS.replace('m.', '')})",
    MESSAGE_WIDTH,
)
_INSERT_CHARGE = Insert("INSERT INTO ledger (account, key, kind, amount, message, at)", 6)
_INSERT_BATCH = Insert("INSERT INTO batch (key, tail, account, last_key, reference, total)", 6)
_INSERT_REFERENCE = Insert("INSERT INTO reference (account, reference, fingerprint, key, batch, scheduled)", 6)
_INSERT_QUEUE = Insert("INSERT INTO queue (key, account, phone, connector, due, expires, attempted)", 7)
_MOVE_QUEUE = Insert(
    "INSERT INTO queue (connector, expires, attempted, node, held, key, due, account, phone, put_off)",
    9,
    """
    ON CONFLICT (key) DO UPDATE SET
        connector = excluded.connector, due = excluded.due, expires = excluded.expires,
        attempted = excluded.attempted, node = excluded.node, put_off = excluded.put_off, held = excluded.held
    """,
    last="""
    coalesce((SELECT destination FROM message WHERE message.key = ?), ''),
    coalesce((SELECT message.time < ? FROM message WHERE message.key = ?), 0)
    """,
)
_INSERT_HOLD = Insert("INSERT INTO message_hold (key, began, why)", 3, _ONCE)
_INSERT_ATTEMPT = Insert("INSERT INTO attempt (key, segment, connector, status, at)", 5, _ONCE)
_INSERT_SENT = Insert("INSERT INTO sent (key, segment, connector, operator_id, status, at)", 6, _ONCE)
_ADD_CONNECTOR = """
INSERT INTO block_content (block, account, connector, sender, first_key, last_key, messages)
SELECT b.block, m.account, ?2, lower(m.sender), b.first_key, b.last_key, 1 FROM message AS m
JOIN number_block AS b ON b.block = (SELECT block FROM number_block WHERE last_key >= ?1 ORDER BY last_key LIMIT 1)
WHERE m.key = ?1 AND m.connector <> ?2 AND b.first_key <= ?1 AND NOT EXISTS (
    SELECT 1 FROM block_content AS c
    WHERE c.block = b.block AND c.account = m.account AND c.connector = ?2 AND c.sender = lower(m.sender)
      AND c.first_key <= ?1 AND c.last_key >= ?1
)
ON CONFLICT (block, account, connector, sender) DO UPDATE SET
    first_key = excluded.first_key, last_key = excluded.last_key
"""
"""Notes in a closed block that another connector sent a message, which may be any of the block."""
_INSERT_PART = Insert("INSERT INTO part_receipt (key, segment, state, err, at)", 5, _ONCE)
_INSERT_PROGRESS = """
INSERT INTO progress (key, segment, state, err, at) SELECT ?1, ?2, ?3, ?4, ?5
WHERE (SELECT count(*) FROM progress WHERE key = ?1 AND segment = ?2 AND state = ?3) < ?6
AND NOT EXISTS (SELECT 1 FROM progress WHERE key = ?1 AND segment = ?2 AND state = ?3 AND err = ?4)
ON CONFLICT DO NOTHING
"""
_OWE_PROGRESS = """
INSERT INTO callback_retry (key, due, attempts, body, problem, "first", account, way, parked)
SELECT ?1, ?3, 0, x'', '', ?3, ?4, way, 0 FROM message WHERE key = ?2
AND NOT EXISTS (SELECT 1 FROM callback WHERE key = ?1) AND NOT EXISTS (SELECT 1 FROM final WHERE key = ?2)
ON CONFLICT DO NOTHING
"""
_INSERT_FINAL = Insert("INSERT INTO final (key, state, err, at, owed)", 5, _ONCE)
_INSERT_EARLY = Insert("INSERT INTO early (connector, operator_id, destination, state, err, at)", 6)
_INSERT_AWAITING = Insert("INSERT INTO awaiting (connector, operator_id, key, segment)", 4, _ONCE)
_INSERT_CALLBACK = Insert('INSERT INTO callback (key, "end", code, attempts, at)', 5, _ONCE)
_RETRY_CALLBACK = Insert(
    'INSERT INTO callback_retry (key, account, due, attempts, body, problem, "first", way, parked, node)',
    10,
    """
    ON CONFLICT (key) DO UPDATE SET
        due = excluded.due, attempts = excluded.attempts, body = excluded.body,
        problem = CASE excluded.problem WHEN '' THEN callback_retry.problem ELSE excluded.problem END,
        "first" = excluded."first", parked = excluded.parked, node = excluded.node
    """,
)
_SET_MARK = Insert("INSERT INTO mark (name, value)", 2, "ON CONFLICT (name) DO UPDATE SET value = excluded.value")

_SUPPRESSED = """
SELECT 1 FROM suppression
WHERE account = ?1 AND digest = suppression_digest((SELECT key FROM suppression_key), ?1, ?2)
"""
_ATTEMPTED = "UPDATE queue SET attempted = 1 WHERE key IN (SELECT value FROM json_each(?))"
_ASK = "UPDATE message SET wants_receipt = 1 WHERE key IN (SELECT value FROM json_each(?))"
_DEQUEUE = "DELETE FROM queue WHERE key IN (SELECT value FROM json_each(?))"
_FAIL = fill("""
UPDATE message SET state = {after(Trigger.FAIL)}
WHERE key = ? AND state IN {before(Trigger.FAIL)}
  AND NOT EXISTS (SELECT 1 FROM final WHERE final.key = message.key)
""")
_RESENT = """
INSERT INTO attempt (key, segment, connector, status, at, operator_id)
SELECT key, segment, connector, status, at, operator_id FROM sent WHERE key = ?1
AND NOT EXISTS (SELECT 1 FROM final WHERE key = ?1)
AND (SELECT count(*) FROM sent WHERE key = ?1 AND connector = ?2 AND status = 0)
    = (SELECT segments FROM message WHERE key = ?1)
ON CONFLICT DO NOTHING
"""
_RESENT_RECEIPTS = """
INSERT INTO progress (key, segment, state, err, at)
SELECT key, segment, state, err, at FROM part_receipt WHERE key = ?1
UNION ALL SELECT key, 0, ?2, ?3, ?4 FROM message WHERE key = ?1 AND segments = 1
ON CONFLICT DO NOTHING
"""
_DELETE_SENT = "DELETE FROM sent WHERE key = ?"
_DELETE_PARTS = "DELETE FROM part_receipt WHERE key = ?"
_FORGET_EARLY = "DELETE FROM early WHERE connector = ? AND operator_id = ?"
_FORGET_AWAITING = "DELETE FROM awaiting WHERE connector = ? AND operator_id = ? AND key = ? AND segment = ?"
_END_RETRY = fill("""
DELETE FROM callback_retry
WHERE key IN (SELECT value FROM json_each(?)) AND EXISTS (
    SELECT 1 FROM callback WHERE callback.key = callback_retry.key AND "end" = {CallbackEnd.DELIVERED}
)
""")
_KEEP_RETRY = fill("""
UPDATE callback_retry SET due = NULL, node = NULL, attempts = ?
WHERE key = ? AND EXISTS (
    SELECT 1 FROM callback WHERE callback.key = callback_retry.key AND "end" <> {CallbackEnd.DELIVERED}
)
""")

_attempt_row = attrgetter("key", "segment", "connector", "status", "at")
_sent_row = attrgetter("key", "segment", "connector", "operator_id", "status", "at")
_retry_row = attrgetter("key", "account", "due", "attempts", "body", "problem", "first")
_awaiting_row = attrgetter("connector", "operator_id", "key", "segment")

# sqlite3 binds a plain int six times as fast as an enum's or a bool, hence the `+` below.


def _queue_row(each: Queueing, node: int) -> Row:
    by = node if each.claimed else None
    fields = (each.connector, each.expires, +each.attempted, by, each.held, each.key, each.due, each.account)
    return (*fields, each.key, each.due, each.key)


def _part_row(part: PartReceipt) -> Row:
    return (part.key, part.segment, +part.state, part.err, part.at)


def _final_row(final: MessageEnd) -> Row:
    return (final.key, +final.state, final.err, final.at, +final.owed)


def _message_row(message: Message) -> Row:
    """The values of a message in the order of MESSAGE_COLUMNS, all of them plain: sqlite3 binds a plain int or str six
    times as fast as an enum's, a bool or None."""
    return (
        message.account,
        message.destination,
        message.sender,
        +message.kind,
        message.sealed or message.content,
        message.segments,
        message.price,
        message.time,
        message.expires,
        +message.state,
        message.connector,
        +message.wants_receipt,
        message.callback_url,
        message.reference or "",
        message.batch,
        message.key,
        message.tail,
        message.extras,
        +message.way,
        message.network,
    )


def _early_row(early: EarlyReceipt) -> Row:
    return (early.connector, early.operator_id, early.destination, +early.state, early.err, early.at)


def _callback_row(done: CallbackDone) -> Row:
    return (done.key, +done.end, done.code, done.attempts, done.at)


@dataclass(slots=True)
class JudgedAccept:
    """The verdict on a request that is not simply accepted, set after the commit. `first`: the first result of a
    replayed request. `suppressed`: indexes of messages to recipients who opted out, such as `[0, 2]`."""

    accept: Accept
    verdict: Verdict
    first: Accept | None = None
    suppressed: Sequence[int] = ()


def record(connection: FileConnection, facts: Facts, node: int) -> None:
    """Does `Store.record`."""
    for accept in facts.accepts:
        accept.verdict = _UNAVAILABLE
    try:
        accepts, judged = connection.transact(_write, facts, node)
    except Exception as fault:
        if is_unfit(fault):
            raise StoreRejected(describe(fault)) from fault
        raise
    for accept in accepts:
        accept.verdict = _ACCEPTED
    _set_verdicts(judged)


def _set_verdicts(judged: list[JudgedAccept]) -> None:
    """Sets the verdicts of requests that are not simply accepted, after the commit."""
    for each in judged:
        accept, first = each.accept, each.first
        accept.verdict = each.verdict
        if each.suppressed:
            fail_suppressed(accept, each.suppressed)
        if first is not None:
            accept.key, accept.tail, accept.total = first.key, first.tail, first.total
            accept.scheduled, accept.messages = first.scheduled, first.messages


def _write(db: sqlite3.Connection, facts: Facts, node: int) -> tuple[list[Accept], list[JudgedAccept]]:
    """Returns all requests, with the replies to phones, and the verdicts on requests that are not simply accepted."""
    ledger = LedgerWriter(db)
    replies = record_consents(db, facts.inbound) if facts.inbound else []
    accepts = [*replies, *facts.accepts]
    judged = _write_accepts(db, accepts, ledger) if accepts else []
    _write_dispatch(db, facts, node)
    if facts.finals:
        _write_finals(db, facts.finals, ledger)
    if facts.withdrawals:
        withdraw(db, facts.withdrawals, ledger)
    if facts.resends:
        _write_resends(db, facts.resends)
    _write_receipts(db, facts)
    if facts.inbound or facts.inbound_parts or facts.inbound_answered or facts.inbound_lost or facts.inbound_replies:
        record_inbound(db, facts, node, ledger)
    _write_callbacks(db, facts, node)
    if facts.marks:
        _SET_MARK(db, list(facts.marks.items()))
    ledger.close()
    return accepts, judged


# --- requests


class _AcceptedRows:
    """Rows that the accepted requests of a transaction insert."""

    __slots__ = ("batches", "charges", "finals", "messages", "queue", "references")

    def __init__(self) -> None:
        self.finals: list[Row] = []
        self.messages: list[Row] = []
        self.charges: list[Row] = []
        self.batches: list[Row] = []
        self.references: list[Row] = []
        self.queue: list[Row] = []

    def add(self, accept: Accept, queued: int, suppressed: Sequence[int]) -> None:
        """Adds an accepted request. `queued` is not 0 if messages go into the queue. The messages at the indexes
        `suppressed` fail at once and cost nothing."""
        messages = accept.messages
        key, total = accept.key, accept.total
        for index in suppressed:
            total -= messages[index].price
        if accept.batch:
            for message in messages:
                message.batch = key
            self.batches.append((key, accept.tail, accept.account, messages[-1].key, accept.reference, total))
        if total:
            self.charges.append((accept.account, key, _CHARGE, -total, key, accept.at))
        if accept.reference is not None:
            self.references.append(
                (accept.account, accept.reference, accept.fingerprint, key, accept.batch, accept.scheduled)
            )
        if suppressed:
            messages = self._leave_out(accept, suppressed)
        self.messages += map(_message_row, messages)
        if queued:
            self._enqueue(messages)

    def _leave_out(self, accept: Accept, suppressed: Sequence[int]) -> list[Message]:
        """Ends the suppressed messages at once. Returns copies, because the commit may yet fail."""
        messages = [replace(message) for message in accept.messages]
        for index in suppressed:
            message = messages[index]
            fail_at_once(message)
            self.finals.append((message.key, +Delivery.REJECTD, NO_CODE, accept.at, 0))
        return messages

    def _enqueue(self, messages: Sequence[Message]) -> None:
        for message in messages:
            if queued_of((message,)) and message.state != State.FAILED:
                phone, due = message.destination, message.time
                self.queue.append((message.key, message.account, phone, message.connector, due, message.expires, 0))

    def write(self, db: sqlite3.Connection) -> None:
        _INSERT_MESSAGE(db, self.messages)
        _INSERT_CHARGE(db, self.charges)
        _INSERT_BATCH(db, self.batches)
        _INSERT_REFERENCE(db, self.references)
        _INSERT_QUEUE(db, self.queue)
        _INSERT_FINAL(db, self.finals)


def _write_accepts(db: sqlite3.Connection, accepts: Sequence[Accept], ledger: LedgerWriter) -> list[JudgedAccept]:
    """Judges the requests in order, and inserts the accepted. Returns the verdicts on requests that are not simply
    accepted."""
    spenders = Spenders(db, ledger)
    named: dict[tuple[int, str], tuple[Accept, Sequence[int]]] = {}
    rows = _AcceptedRows()
    judged: list[JudgedAccept] = []
    for accept in accepts:
        account = accept.account
        spender = spenders.find(account)
        before: Accept | None = None
        if accept.reference is not None:
            before = earlier(db, accept, named.get((account, accept.reference)))
        suppressed: Sequence[int] = ()
        if spender is not None and spender.suppressed and not accept.exempt:
            suppressed = _suppressed_indexes(db, accept)
        queued = queued_of(accept.messages)
        if suppressed and queued:
            queued -= queued_of([accept.messages[index] for index in suppressed])
        used = None if before is None else before.fingerprint
        verdict = spenders.judge(spender, accept, used, suppressed, queued)
        if verdict is not _ACCEPTED:
            judged.append(JudgedAccept(accept, verdict, before if verdict is _REPLAYED else None))
            continue
        rows.add(accept, queued, suppressed)
        if accept.reference is not None:
            named[account, accept.reference] = accept, suppressed
        if suppressed:
            judged.append(JudgedAccept(accept, _ACCEPTED, None, suppressed))
    rows.write(db)
    spenders.close()
    return judged


def _suppressed_indexes(db: sqlite3.Connection, accept: Accept) -> list[int]:
    """Returns the indexes of messages to recipients who opted out."""
    suppressed: list[int] = []
    for number, message in enumerate(accept.messages):
        if db.execute(_SUPPRESSED, (accept.account, message.destination)).fetchone() is not None:
            suppressed.append(number)
    return suppressed


# --- everything else


def _write_dispatch(db: sqlite3.Connection, facts: Facts, node: int) -> None:
    _MOVE_QUEUE(db, [_queue_row(each, node) for each in facts.queueings])
    _INSERT_HOLD(db, [(each.key, each.since, each.held) for each in facts.queueings if each.held is not None])
    if facts.sending:
        db.execute(_ATTEMPTED, (many(key for _, key in facts.sending),))
    if facts.asking:
        db.execute(_ASK, (many(key for _, key in facts.asking),))
    _INSERT_ATTEMPT(db, list(map(_attempt_row, facts.attempts)))
    _INSERT_SENT(db, list(map(_sent_row, facts.submissions)))
    if late := late_sends(facts.submissions):
        db.executemany(_ADD_CONNECTOR, late)
    if facts.dequeued:
        db.execute(_DEQUEUE, (many(key for _, key in facts.dequeued),))
    _INSERT_PART(db, list(map(_part_row, facts.parts)))
    if facts.progress:
        db.executemany(_INSERT_PROGRESS, [(*_part_row(each), MOST_PROGRESS) for each in facts.progress])
        owed = [
            (notice_key_of(each.key, each.state), each.key, each.at, each.account)
            for each in facts.progress
            if each.owed
        ]
        db.executemany(_OWE_PROGRESS, owed)


def _write_finals(db: sqlite3.Connection, finals: list[MessageEnd], ledger: LedgerWriter) -> None:
    """Ends messages, in order, since the first final of a message stays. A cancelled message has one already."""
    rows: list[Row] = []
    for final in finals:
        if not final.failed:
            rows.append(_final_row(final))
            continue
        _INSERT_FINAL(db, rows)
        rows = []
        if db.execute(_FAIL, (final.key,)).rowcount == 1:
            _INSERT_FINAL(db, [_final_row(final)])
            db.execute(_DEQUEUE, (many([final.key]),))
            ledger.refund(final.account, [(final.key, final.refund)], final.at, "failed")
    _INSERT_FINAL(db, rows)


def _write_resends(db: sqlite3.Connection, resends: list[Resend]) -> None:
    for each in resends:
        if db.execute(_RESENT, (each.key, each.connector)).rowcount > 0:
            db.execute(_DELETE_SENT, (each.key,))
            db.execute(_RESENT_RECEIPTS, (each.key, +each.state, each.err, each.at))
            db.execute(_DELETE_PARTS, (each.key,))
            row = Queueing(each.account, each.key, each.instead, each.due, each.expires, False, False)
            _MOVE_QUEUE(db, [_queue_row(row, 0)])


def _write_receipts(db: sqlite3.Connection, facts: Facts) -> None:
    if facts.early:
        _INSERT_EARLY(db, list(map(_early_row, facts.early)))
    if facts.early_matched:
        db.executemany(_FORGET_EARLY, facts.early_matched)
    _INSERT_AWAITING(db, list(map(_awaiting_row, facts.awaiting)))
    if facts.awaiting_matched:
        db.executemany(_FORGET_AWAITING, map(_awaiting_row, facts.awaiting_matched))


def _write_callbacks(db: sqlite3.Connection, facts: Facts, node: int) -> None:
    """Keeps retries and ends callbacks. The row of a callback that ended undelivered stays, not due, for a replay.

    Retries come first: a retry of a commit that is made again must not outlive its end.
    """
    if facts.callback_retries:
        rows = [
            (*_retry_row(each), +each.way, +each.parked, node if each.claimed else None)
            for each in facts.callback_retries
        ]
        _RETRY_CALLBACK(db, rows)
    if facts.callbacks:
        _INSERT_CALLBACK(db, list(map(_callback_row, facts.callbacks)))
        delivered: list[int] = []
        ended: list[tuple[Any, ...]] = []
        for done in facts.callbacks:
            if done.end is CallbackEnd.DELIVERED:
                delivered.append(done.key)
            else:
                ended.append((done.attempts, done.key))
        if delivered:
            db.execute(_END_RETRY, (many(delivered),))
        if ended:
            db.executemany(_KEEP_RETRY, ended)


def earlier(db: sqlite3.Connection, accept: Accept, here: tuple[Accept, Sequence[int]] | None) -> Accept | None:
    """Returns the first result of the request that used the same reference, in this transaction (`here`, with the
    indexes of its suppressed messages) or in the rows; None if none did."""
    assert accept.reference is not None
    if here is not None:
        first, suppressed = here
        first = replace(first, messages=[replace(message) for message in first.messages])
        fail_suppressed(first, suppressed)
        return first
    found = drive(db, partial(replayed, accept.account, accept.reference))
    return None if found is None else found[1]
