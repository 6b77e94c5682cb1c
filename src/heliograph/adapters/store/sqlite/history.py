"""A message's history, from the rows of one file."""

import sqlite3

from heliograph.adapters.store.shared.history import Rowset, compose
from heliograph.adapters.store.sqlite.browse import message
from heliograph.app.ports import Event

_CHARGE = "SELECT at FROM ledger WHERE account = ? AND key = ? AND kind = 0"
_MOVES = "SELECT at, was, time FROM moved WHERE key = ? ORDER BY at"
_ATTEMPTS = """
SELECT a.segment, a.status, a.at, a.connector, c.name FROM attempt AS a
LEFT JOIN connector AS c ON c.id = a.connector WHERE a.key = ? ORDER BY a.at, a.segment
"""
_SENT = """
SELECT s.segment, s.status, s.operator_id, s.at, s.connector, c.name FROM sent AS s
LEFT JOIN connector AS c ON c.id = s.connector WHERE s.key = ? ORDER BY s.at, s.segment
"""
_RECEIPTS = """
SELECT segment, state, err, at FROM progress WHERE key = ?1
UNION ALL SELECT segment, state, err, at FROM part_receipt WHERE key = ?1
ORDER BY at, segment
"""
_FINAL = "SELECT state, err, at FROM final WHERE key = ?"
_REFUND = "SELECT amount, at FROM ledger WHERE message = ? AND kind = 1"
_CALLBACK = 'SELECT "end", code, attempts, at FROM callback WHERE key = ?'
_RETRY = 'SELECT attempts, problem, due, "first" FROM callback_retry WHERE key = ? AND due IS NOT NULL'


def history(db: sqlite3.Connection, account: int, key: int, tail: int) -> list[Event] | None:
    found = message(db, account, key, tail)
    if found is None:
        return None
    charge = db.execute(_CHARGE, (account, found.batch or key)).fetchone()
    rows = Rowset(
        charge=None if charge is None else charge[0],
        moves=db.execute(_MOVES, (key,)).fetchall(),
        attempts=db.execute(_ATTEMPTS, (key,)),
        sent=db.execute(_SENT, (key,)),
        receipts=db.execute(_RECEIPTS, (key,)),
        finals=db.execute(_FINAL, (key,)),
        refunds=db.execute(_REFUND, (key,)),
        retries=db.execute(_RETRY, (key,)),
        callbacks=db.execute(_CALLBACK, (key,)),
    )
    return compose(found, rows)
