"""Checks accounts that are suspended and resumed, whatever happens around them."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from heliograph.app.facts import Message
from heliograph.app.marks import attempted
from heliograph.domain.limits.gate import OF_SUSPENDED
from heliograph.domain.message.state import State
from tests.simulation.faults import Operator
from tests.support.memory_rows import Rows

HEEDED_S = 5.0
"""Seconds within which a suspension and its end are heeded, as docs/limits.md has it, where the store answers."""


@dataclass(slots=True)
class Turn:
    """An account's last suspension or its end: nothing of it is promised before `heeded`, in seconds of the loop."""

    suspended: bool
    heeded: float


class Suspensions:
    """Suspends and resumes accounts, and observes which messages leave or stay meanwhile."""

    def __init__(self, chance: random.Random, operators: dict[int, Operator], now: Callable[[], float]) -> None:
        """`now` tells the seconds of the loop."""
        self._chance = chance
        self._operators = operators
        self._now = now
        self._turns: dict[int, Turn] = {}
        self._in_doubt: set[int] = set()
        """Messages that may have left, as a crash hides it: they go on."""
        self.held: set[int] = set()
        """Messages that were held: their order with other messages is not promised."""

    def turn(self) -> tuple[int, bool]:
        """Returns an account to suspend or resume now, and whether to suspend it."""
        account = self._chance.choice((1, 1, 2))
        return account, not self.is_suspended(account)

    def is_suspended(self, account: int) -> bool:
        return account in self._turns and self._turns[account].suspended

    def turned(self, account: int, *, suspended: bool) -> None:
        """Must be called right after the change of the account."""
        self._turns[account] = Turn(suspended, self._now() + HEEDED_S)

    def unheard(self) -> None:
        """Must be called when a node could not read the suspensions, because it cannot obey unknown suspensions."""
        now = self._now()
        for turn in self._turns.values():
            if now <= turn.heeded:
                turn.heeded = now + HEEDED_S

    def restart(self, shards: list[Rows]) -> None:
        """Must be called when the gateway's process has ended."""
        for rows in shards:
            self._in_doubt |= {key for key, message in rows.messages.items() if _may_have_left(rows, message)}

    def started(self) -> None:
        """Must be called when a process has read who is suspended, and begins."""
        now = self._now()
        for turn in self._turns.values():
            turn.heeded = now if turn.suspended else max(turn.heeded, now + HEEDED_S)

    def submit(self, message: Message) -> list[str]:
        """Must be called as a part is written. Nothing of a suspended account begins to leave."""
        turn = self._turns.get(message.account)
        if turn is None or not turn.suspended or self._now() <= turn.heeded:
            return []
        if message.key in self._in_doubt or self._has_begun(message):
            return []
        return [f"{message.key} began to leave, though the account {message.account} is suspended"]

    def commit(self, shards: list[Rows]) -> list[str]:
        """Must be called after each commit. Held messages are released once their account is resumed."""
        wrong = []
        for rows in shards:
            for key, row in rows.queue.items():
                if row.held != OF_SUSPENDED:
                    continue
                self.held.add(key)
                turn = self._turns.get(rows.messages[key].account)
                if turn is None or (not turn.suspended and self._now() > turn.heeded):
                    wrong.append(f"{key} is held, though its account is resumed")
        return wrong

    def _has_begun(self, message: Message) -> bool:
        """Whether it was written before; the part that is being written is counted already."""
        parts = [(message.key, n) for n in range(message.segments)]
        return sum(operator.submits[part] for operator in self._operators.values() for part in parts) > 1


def _may_have_left(rows: Rows, message: Message) -> bool:
    """Whether the store has it that the message may have been written."""
    row = rows.queue.get(message.key)
    marked = message.key <= rows.mark(message.key, attempted(message.connector)) if row is None else row.attempted
    return message.state == State.SENT and marked
