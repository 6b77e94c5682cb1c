"""All rows of a message."""

from heliograph.adapters.store.shared.rows import MESSAGE_WIDTH, message_of
from heliograph.adapters.store.shared.steps import Q, Row, Steps, first
from heliograph.app.configuration import LedgerEntry
from heliograph.app.facts import Attempt, CallbackEnd, Message, PartReceipt, Submission
from heliograph.app.records import CallbackView, Hit, MessageHold, MessageRecord, Move
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.money.amounts import EntryKind


def record_of(message: Message) -> Steps[MessageRecord]:
    """Returns all events of the message from its rows, in the order of time."""
    key, account = message.key, message.account
    submissions = yield Q.submissions_of(key=key)
    attempts = yield Q.attempts_of(key=key)
    receipts = yield Q.receipts_of(key=key)
    final = yield from first(Q.final_of(key=key))
    entries = yield Q.entries_of(account=account, charged=message.batch or key, key=key)
    feedback = yield from first(Q.feedback_of(key=key))
    queued = yield from first(Q.queued_of(key=key))
    moves = yield Q.moves_of(key=key)
    holds = yield Q.holds_of(key=key)
    connectors = yield Q.connector_names()
    callback = yield from callback_of(CallbackView(key, message.tail, account, message.callback_url, 0, "", 0))
    return MessageRecord(
        message=message,
        submissions=[Submission(account, *row) for row in submissions],
        attempts=[Attempt(account, *row) for row in attempts],
        receipts=[PartReceipt(account, row[0], row[1], Delivery(row[2]), *row[3:]) for row in receipts],
        final=None if final is None else (None if final[0] is None else Delivery(final[0]), final[1], final[2]),
        entries=[LedgerEntry(row[0], row[1], EntryKind(row[2]), *row[3:]) for row in entries],
        queued=None if queued is None else (queued[0], queued[1], bool(queued[2])),
        callback=callback,
        moves=[Move(*row) for row in moves],
        holds=[MessageHold(*row) for row in holds],
        connectors=dict(connectors),
        held=None if queued is None else queued[3],
        feedback=None if feedback is None else (bool(feedback[0]), feedback[1]),
    )


def callback_of(view: CallbackView) -> Steps[CallbackView | None]:
    """Fills the view from the notice's rows; None without rows."""
    retry = yield from first(Q.retry_of(key=view.key))
    done = yield from first(Q.callback_of(key=view.key))
    if retry is None and done is None:
        return None
    if retry is not None:
        view.attempts, view.problem, view.first, view.due = retry[:4]
        view.held = retry[4] is not None
    if done is not None:
        view.end = CallbackEnd(done[0])
        view.code, view.attempts, view.at = done[1:]
    return view


def hit_of(row: Row) -> Hit:
    """Reads HIT_COLUMNS: the message, state and err of its final, the number of parts that operators took, its hold,
    the connector that it was written to."""
    state, err, taken, held, sent_by = row[MESSAGE_WIDTH:]
    message = message_of(row)
    delivery = None if state is None else Delivery(state)
    return Hit(message, delivery, err or "", taken >= message.segments, held, sent_by)
