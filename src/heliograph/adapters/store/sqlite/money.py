"""Balances and their ledger. Every change of a balance has an entry in the ledger, in the same transaction."""

import sqlite3
from collections.abc import Iterable

from heliograph.domain.limits.allowance import Allowance
from heliograph.domain.message.ids import first_key_at
from heliograph.domain.money.amounts import EntryKind

_STEP = 32
_WORKER_BITS = 31

_ADD = "UPDATE account SET balance = balance + ? WHERE id = ?"
_ADD_AND_USE = """
UPDATE account SET balance = balance + ?, used_until = ?, used_messages = ?, used_spend = ?, used_waiting = ?
WHERE id = ?
"""
_TAKEN = "SELECT 1 FROM ledger WHERE account = ? AND key = ?"
_ENTER = "INSERT INTO ledger (account, key, kind, amount, message, at, note) VALUES (?, ?, ?, ?, ?, ?, ?)"


class LedgerWriter:
    """Makes the ledger entries of a transaction, other than charges. Balances change when it is closed.

    The keys of the entries are made from their time, as ids are, so that the ledger is in the order of time.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._next: dict[int, int] = {}
        self.changes: dict[int, int] = {}
        """Sums to add to balances, in micro-credits, by account."""
        self.uses: dict[int, Allowance] = {}
        """Allowances of accounts that made requests; their use replaces that of the account's row."""

    def enter(self, account: int, kind: EntryKind, amount: int, message: int, at: int, note: str = "") -> None:
        """Makes an entry; none where `amount` is 0."""
        if amount == 0:
            return
        key = max(first_key_at(at) | _WORKER_BITS, self._next.get(account, 0))
        while self._db.execute(_TAKEN, (account, key)).fetchone() is not None:
            key += _STEP
        self._next[account] = key + _STEP
        self._db.execute(_ENTER, (account, key, kind, amount, message, at, note))
        self.change(account, amount)

    def refund(self, account: int, refunds: Iterable[tuple[int, int]], at: int, note: str) -> None:
        """Enters refunds: pairs of a message's key and an amount. A second refund of a message raises
        IntegrityError."""
        for message, amount in refunds:
            self.enter(account, EntryKind.REFUND, amount, message, at, note)

    def change(self, account: int, amount: int) -> None:
        self.changes[account] = self.changes.get(account, 0) + amount

    def close(self) -> None:
        """Writes the balances and the use of limits."""
        for account, used in self.uses.items():
            amount = self.changes.pop(account, 0)
            row = (amount, used.day_ends, used.messages, used.spend, used.waiting, account)
            self._db.execute(_ADD_AND_USE, row)
        self._db.executemany(_ADD, [(amount, account) for account, amount in self.changes.items() if amount])
        self.changes.clear()
        self.uses.clear()
