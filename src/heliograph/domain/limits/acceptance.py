"""Acceptance: whether a request is accepted, replayed or refused. Pure.

A store locks the account's row, loads what a request needs, and calls `judge` with the requests of a transaction in
their order. PostgreSQL judges in its function `record_accepts`, in the same order of rules, to keep a commit at one
round trip; `tests/contracts/test_judging.py` compares the two.

The rules, in their order:

1. The account exists and is not suspended.
2. Its `reference` was not used before. The same request is replayed, another one is in conflict.
3. Some recipient has not opted out. Messages to the others fail and cost nothing.
4. The account has the credit.
5. Its limits of a day and of waiting messages leave room.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Protocol

from heliograph.domain.error import Reason
from heliograph.domain.limits.allowance import Allowance


class Verdict(IntEnum):
    """The verdict of the store on a request. The numbers are used in SQL."""

    ACCEPTED = 0
    TOO_LITTLE_CREDIT = 1
    SUSPENDED = 2
    REPLAYED = 3
    """The same request used the reference before: the `Accept` has its first result."""
    REFERENCE_CONFLICT = 4
    """The reference was used for a different request before."""
    UNAVAILABLE = 5
    """The store could not write the request; nothing was charged."""
    SUPPRESSED = 6
    """All recipients opted out of the account's messages."""
    DAILY_MESSAGES = 7
    """The request has more messages than are left of the account's day."""
    DAILY_SPEND = 8
    """The request costs more than is left of the account's day."""
    WAITING = 9
    """The account would have too many scheduled or waiting messages."""
    IN_DOUBT = 10
    """The answer to the commit was lost: the request may be written and charged, or not."""


# Each access to a member of an enum costs a lookup.
_ACCEPTED: Final = Verdict.ACCEPTED
_OVERRUNS: Final = {
    Reason.DAILY_MESSAGES: Verdict.DAILY_MESSAGES,
    Reason.DAILY_SPEND: Verdict.DAILY_SPEND,
    Reason.WAITING: Verdict.WAITING,
}


class Priced(Protocol):
    """A message of a request."""

    price: int


class Request(Protocol):
    """The fields of a request that acceptance judges."""

    @property
    def messages(self) -> Sequence[Priced]: ...

    total: int
    """Micro-credits that all its messages cost."""
    fingerprint: bytes
    exempt: bool
    """Limits do not hold, for example for the reply to a STOP."""
    day_ends: int


@dataclass(slots=True)
class Spender:
    """An account that is not suspended, by its locked row, minus the spending of the transaction so far."""

    account: int
    room: int
    """Micro-credits that it may still spend: its balance and its credit limit."""
    suppressed: bool
    """Whether any recipient opted out of its messages."""
    allowance: Allowance | None
    """None if it has no limits."""
    fresh: int = 0
    """Messages that this transaction puts into the queue."""
    counted: bool = False
    """Whether waiting messages were counted in this transaction. The number in the row is too high, since it misses
    messages that left the queue."""

    def recount(self, stored: int) -> None:
        """Sets the number of waiting messages: `stored` are in the queue before this transaction."""
        self.counted = True
        if self.allowance is not None:
            self.allowance.waiting = stored + self.fresh


def judge(
    spender: Spender | None, request: Request, used: bytes | None, suppressed: Sequence[int], queued: int
) -> Verdict:
    """Judges a request, and books an accepted one on its account.

    - `spender`: None if the account is gone or suspended.
    - `used`: fingerprint of the request that used the reference before; None for a new reference.
    - `suppressed`: indexes of messages to recipients who opted out, such as `[0, 2]`.
    - `queued`: number of messages that go into the queue, without `suppressed` messages.

    After WAITING, the store counts the waiting messages unless they are `counted`, and judges the request again.
    """
    if spender is None:
        return Verdict.SUSPENDED
    if used is not None:
        return Verdict.REPLAYED if used == request.fingerprint else Verdict.REFERENCE_CONFLICT
    cost = request.total
    if suppressed:
        if len(suppressed) == len(request.messages):
            return Verdict.SUPPRESSED
        for index in suppressed:
            cost -= request.messages[index].price
    if cost > spender.room:
        return Verdict.TOO_LITTLE_CREDIT
    allowance = spender.allowance
    if allowance is not None and not request.exempt:
        overrun = allowance.claim(request.day_ends, len(request.messages) - len(suppressed), cost, queued)
        if overrun is not None:
            return _OVERRUNS[overrun]
        spender.fresh += queued
    spender.room -= cost
    return _ACCEPTED
