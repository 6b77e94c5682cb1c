"""The limits of accounts on a day and on what waits, judged and counted in the transaction that accepts."""

import sqlite3
from typing import Final

from heliograph.app.facts import Accept, Message, Verdict
from heliograph.domain.allowance import Allowance
from heliograph.domain.error import Reason
from heliograph.domain.message import State

_FIND: Final = """
SELECT daily_messages, daily_spend, max_waiting, used_until, used_messages, used_spend, used_waiting
FROM account WHERE id = ?
"""
_WAITING: Final = "SELECT count(*) FROM queue WHERE account = ? AND node IS NULL"
_KEEP: Final = """
UPDATE account SET used_until = ?, used_messages = ?, used_spend = ?, used_waiting = ? WHERE id = ?
"""
_VERDICTS: Final = {
    Reason.DAILY_MESSAGES: Verdict.DAILY_MESSAGES,
    Reason.DAILY_SPEND: Verdict.DAILY_SPEND,
    Reason.WAITING: Verdict.WAITING,
}


class Allowances:
    """The accounts with such limits that one transaction has requests of. What waits is counted only where the number
    that is kept, which misses what left the queue, does not suffice."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._allowances: dict[int, Allowance] = {}
        self._fresh: dict[int, int] = {}
        """Messages that this transaction puts into the queue, by account."""
        self._counted: set[int] = set()

    def verdict(self, accept: Accept, messages: int, spend: int) -> Verdict | None:
        """Returns the verdict on a request that goes beyond a limit, None where it may go; counts nothing."""
        account = accept.account
        allowance = self._allowances.get(account)
        if allowance is None:
            allowance = self._allowances[account] = Allowance(*self._db.execute(_FIND, (account,)).fetchone())
        allowance.turn(accept.day_ends)
        waiting = sum(map(is_queued, accept.messages))
        overrun = allowance.overrun(messages, spend, waiting)
        if overrun is Reason.WAITING and account not in self._counted:
            self._counted.add(account)
            stored: int = self._db.execute(_WAITING, (account,)).fetchone()[0]
            allowance.waiting = stored + self._fresh.get(account, 0)
            overrun = allowance.overrun(messages, spend, waiting)
        return None if overrun is None else _VERDICTS[overrun]

    def use(self, accept: Accept, messages: int, spend: int) -> None:
        """Counts a request that is accepted, after `verdict` said so."""
        waiting = sum(map(is_queued, accept.messages))
        self._allowances[accept.account].use(messages, spend, waiting)
        self._fresh[accept.account] = self._fresh.get(accept.account, 0) + waiting

    def close(self) -> None:
        """Writes what is used."""
        for account, used in self._allowances.items():
            self._db.execute(_KEEP, (used.day_ends, used.messages, used.spend, used.waiting, account))


def is_queued(message: Message) -> bool:
    """Returns whether a message that is accepted goes into the queue."""
    return message.queued or message.state != State.SENT
