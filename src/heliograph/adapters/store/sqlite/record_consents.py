"""Records opt-outs by phones, within the transaction of all other facts."""

import sqlite3
from collections.abc import Iterable, Sequence
from functools import partial

from heliograph.adapters.store.shared.sql import fill
from heliograph.adapters.store.shared.suppressions import lift, suppress
from heliograph.adapters.store.sqlite.driver import drive
from heliograph.adapters.store.sqlite.money import LedgerWriter
from heliograph.app.facts import Accept, InboundMessage, Withdrawal
from heliograph.domain.message.opt_out import Wish

_WITHDRAW = fill("""
UPDATE message SET state = {after(Trigger.OPT_OUT)}
WHERE key = ? AND state IN {before(Trigger.OPT_OUT)}
  AND NOT EXISTS (SELECT 1 FROM final WHERE final.key = message.key)
""")
_END = "INSERT INTO final (key, state, err, at, owed) VALUES (?, NULL, '', ?, 0)"
_DEQUEUE = "DELETE FROM queue WHERE key = ?"
_OWE_SERIES = "INSERT INTO series_owed (key, at) VALUES (?, ?)"


def record_consents(db: sqlite3.Connection, messages: Sequence[InboundMessage]) -> list[Accept]:
    """Suppresses senders that ask to stop, and lifts suppressions on request. Returns the replies that go out."""
    replies = []
    for message in messages:
        account, reply, fresh = message.account, message.reply, True
        if message.changes_consent:
            if message.wish is Wish.STOP:
                fresh = drive(db, partial(suppress, account, message.sender, message.at, "message"))
            else:
                drive(db, partial(lift, account, message.sender))
        if reply is not None and fresh:
            replies.append(reply)
            db.execute(_OWE_SERIES, (reply.key, 0))
    return replies


def withdraw(db: sqlite3.Connection, withdrawals: Iterable[Withdrawal], ledger: LedgerWriter) -> None:
    """Cancels and refunds messages of which nothing left."""
    for each in withdrawals:
        if db.execute(_WITHDRAW, (each.key,)).rowcount == 1:
            db.execute(_END, (each.key, each.at))
            db.execute(_DEQUEUE, (each.key,))
            db.execute(_OWE_SERIES, (each.key, each.at))
            ledger.refund(each.account, [(each.key, each.refund)], each.at, each.note)
