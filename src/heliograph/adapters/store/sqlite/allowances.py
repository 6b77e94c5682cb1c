"""The accounts that one transaction has requests of: what they may spend, and their limits on a day and on what waits.

What is used of limits is written once, with the balance, whatever the number of an account's requests.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from heliograph.adapters.store.sqlite.money import LedgerWriter
from heliograph.app.facts import Accept, Message, Verdict
from heliograph.domain.error import Reason
from heliograph.domain.limits.allowance import Allowance
from heliograph.domain.message.state import State

_FIND: Final = """
SELECT balance + credit_limit, suppressed, daily_messages | daily_spend | max_waiting
FROM account WHERE id = ? AND suspended = 0
"""
_LIMITS: Final = """
SELECT daily_messages, daily_spend, max_waiting, used_until, used_messages, used_spend, used_waiting
FROM account WHERE id = ?
"""
_WAITING: Final = "SELECT count(*) FROM queue WHERE account = ? AND node IS NULL"
_VERDICTS: Final = {
    Reason.DAILY_MESSAGES: Verdict.DAILY_MESSAGES,
    Reason.DAILY_SPEND: Verdict.DAILY_SPEND,
    Reason.WAITING: Verdict.WAITING,
}
_SENT: Final = State.SENT


@dataclass(slots=True)
class Spender:
    """An account that is neither gone nor suspended."""

    account: int
    room: int
    """Micro-credits that it may still spend."""
    had: int
    """The room that it had when the transaction began."""
    suppressed: int
    """Not 0 if recipients opted out of its messages."""
    allowance: Allowance | None
    """None where it has no limits of a day or of what waits."""
    fresh: int = 0
    """Messages that this transaction puts into the queue."""
    counted: bool = False
    """Whether what waits was counted: done only where the number that is kept, which misses what left the queue, does
    not suffice."""


class Spenders:
    """Finds each account once. The `ledger` is told what it spent, and writes that with what is used of its limits."""

    def __init__(self, db: sqlite3.Connection, ledger: LedgerWriter) -> None:
        self._db = db
        self._book = ledger
        self._found: dict[int, Spender | None] = {}

    def find(self, account: int) -> Spender | None:
        """Returns None where the account is gone or suspended."""
        if account in self._found:
            return self._found[account]
        row = self._db.execute(_FIND, (account,)).fetchone()
        spender: Spender | None = None
        if row is not None:
            allowance: Allowance | None = None
            if row[2]:  # in a statement of its own: its columns would cost every account some
                limits = self._db.execute(_LIMITS, (account,)).fetchone()
                allowance = self._book.uses[account] = Allowance(*limits)
            spender = Spender(account, row[0], row[0], row[1], allowance)
        self._found[account] = spender
        return spender

    def claim(
        self, spender: Spender, allowance: Allowance, accept: Accept, messages: int, spend: int, waiting: int
    ) -> Verdict | None:
        """Counts so many messages of a request for so much, of which `waiting` go into the queue; or returns the
        verdict on one that goes beyond a limit."""
        overrun = allowance.claim(accept.day_ends, messages, spend, waiting)
        if overrun is Reason.WAITING and not spender.counted:
            spender.counted = True
            stored: int = self._db.execute(_WAITING, (spender.account,)).fetchone()[0]
            allowance.waiting = stored + spender.fresh
            overrun = allowance.claim(accept.day_ends, messages, spend, waiting)
        if overrun is not None:
            return _VERDICTS[overrun]
        spender.fresh += waiting
        return None

    def close(self) -> None:
        """Tells the ledger what was spent."""
        for account, spender in self._found.items():
            if spender is not None and spender.room != spender.had:
                self._book.change(account, spender.room - spender.had)


def queued_of(messages: Sequence[Message]) -> int:
    """Returns how many messages of those that are accepted go into the queue."""
    number = 0
    for message in messages:
        if message.queued or message.state != _SENT:
            number += 1
    return number
