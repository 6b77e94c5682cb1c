"""The accounts with requests in a transaction. Each is read once, and its use of limits is written once."""

import sqlite3
from collections.abc import Sequence
from typing import Final

from heliograph.adapters.store.sqlite.money import LedgerWriter
from heliograph.app.facts import Accept, Verdict
from heliograph.domain.limits.acceptance import Spender, judge
from heliograph.domain.limits.allowance import Allowance

_FIND: Final = """
SELECT balance + credit_limit, suppressed, daily_messages | daily_spend | max_waiting
FROM account WHERE id = ? AND suspended = 0
"""
_LIMITS: Final = """
SELECT daily_messages, daily_spend, max_waiting, used_until, used_messages, used_spend, used_waiting
FROM account WHERE id = ?
"""
_WAITING: Final = "SELECT count(*) FROM queue WHERE account = ? AND node IS NULL"
_OVER_WAITING: Final = Verdict.WAITING


class Spenders:
    """Reads accounts, and writes their spending and their use of limits through `ledger`."""

    def __init__(self, db: sqlite3.Connection, ledger: LedgerWriter) -> None:
        self._db = db
        self._book = ledger
        self._found: dict[int, Spender | None] = {}
        self._had: dict[int, int] = {}
        """Room of each account when the transaction began."""

    def find(self, account: int) -> Spender | None:
        """Returns None if the account is gone or suspended."""
        if account in self._found:
            return self._found[account]
        row = self._db.execute(_FIND, (account,)).fetchone()
        spender: Spender | None = None
        if row is not None:
            allowance: Allowance | None = None
            if row[2]:  # in a statement of its own, because its columns would slow down every account
                limits = self._db.execute(_LIMITS, (account,)).fetchone()
                allowance = self._book.uses[account] = Allowance(*limits)
            spender = Spender(account, row[0], row[1] != 0, allowance)
            self._had[account] = row[0]
        self._found[account] = spender
        return spender

    def judge(
        self, spender: Spender | None, accept: Accept, used: bytes | None, suppressed: Sequence[int], queued: int
    ) -> Verdict:
        """Judges as `acceptance.judge` does, and counts the waiting messages if the verdict depends on them."""
        verdict = judge(spender, accept, used, suppressed, queued)
        if verdict is _OVER_WAITING and spender is not None and not spender.counted:
            spender.recount(self._db.execute(_WAITING, (spender.account,)).fetchone()[0])
            verdict = judge(spender, accept, used, suppressed, queued)
        return verdict

    def close(self) -> None:
        """Adds the spending to the ledger."""
        for account, had in self._had.items():
            spender = self._found[account]
            if spender is not None and spender.room != had:
                self._book.change(account, spender.room - had)
