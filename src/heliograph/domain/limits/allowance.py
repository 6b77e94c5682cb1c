"""Allowances: the limits of an account on a day and on what waits, and what it has used of them. Pure.

A day ends at midnight of the account's time zone. It is known by its end: a request of a later day begins a new one,
and one that comes late, of an earlier day or of an unknown one, counts into that which has begun. So no day has more
than its limit, whatever the clocks of several nodes say. What is refunded counts all the same: a limit bounds what is
sent and charged, not what is left of it.
"""

from dataclasses import dataclass
from math import ceil
from typing import Final

from heliograph.domain.error import NO_CREDIT, TOO_EARLY, Fault, Reason

UNCOUNTED: Final = 1 << 40
"""Messages that are taken to wait while nobody has counted them: more than any limit, so that the next request has them
counted."""

WAITING_RETRY_S: Final = 30
"""Seconds after which a request may come again that found too many messages waiting."""


@dataclass(slots=True)
class Allowance:
    """Limits of an account, 0 where there is none, and what is used of them. Money is micro-credits."""

    daily_messages: int = 0
    daily_spend: int = 0
    max_waiting: int = 0
    day_ends: int = 0
    """The end (ms) of the day that the next two are of."""
    messages: int = 0
    spend: int = 0
    waiting: int = 0
    """No fewer than the messages that wait; how many do is counted where that matters."""

    def turn(self, day_ends: int) -> None:
        """Begins a new day if that which ends then is later than the one that has begun."""
        if day_ends > self.day_ends:
            self.day_ends, self.messages, self.spend = day_ends, 0, 0

    def overrun(self, messages: int, spend: int, waiting: int) -> Reason | None:
        """Returns the first limit that so many messages for so much would go beyond, of which `waiting` are to wait;
        None if they may go."""
        if self.messages + messages > self.daily_messages > 0:
            return Reason.DAILY_MESSAGES
        if self.spend + spend > self.daily_spend > 0:
            return Reason.DAILY_SPEND
        if waiting and 0 < self.max_waiting < self.waiting + waiting:
            return Reason.WAITING
        return None

    def claim(self, day_ends: int, messages: int, spend: int, waiting: int) -> Reason | None:
        """Counts messages of the day that ends then; or counts nothing, and returns the first limit that they would go
        beyond."""
        if day_ends > self.day_ends:
            self.turn(day_ends)
        overrun = self.overrun(messages, spend, waiting)
        if overrun is None:
            self.messages += messages
            self.spend += spend
            self.waiting += waiting
        return overrun

    def use(self, messages: int, spend: int, waiting: int) -> None:
        """Counts messages that go."""
        self.messages += messages
        self.spend += spend
        self.waiting += waiting


def overrun_fault(reason: Reason, day_ends: int, now: int) -> Fault:
    """Returns what a request is told that goes beyond a limit; `day_ends` is 0 where that is not known."""
    rest = max(1, ceil((day_ends - now) / 1000)) if day_ends else WAITING_RETRY_S
    if reason is Reason.DAILY_MESSAGES:
        problem = (
            "These are more messages than the account may still send today. Nothing was sent or charged; send fewer, "
            "or send them tomorrow, by the account's time zone."
        )
        return Fault(TOO_EARLY, problem, None, rest, reason)
    if reason is Reason.DAILY_SPEND:
        problem = (
            "This costs more than the account may still spend today. Nothing was sent or charged; send less, or send "
            "it tomorrow, by the account's time zone, or ask the operator of the gateway for more."
        )
        return Fault(NO_CREDIT, problem, None, None, reason)
    problem = (
        "With these, more messages would be scheduled or wait than the account may have at once. Nothing was sent or "
        "charged; send them when some of the others have gone."
    )
    return Fault(TOO_EARLY, problem, None, WAITING_RETRY_S, reason)
