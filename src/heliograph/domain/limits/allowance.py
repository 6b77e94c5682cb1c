"""Allowances: the limits of an account on a day and on waiting messages, and their use. Pure.

A day ends at midnight of the account's time zone, and is identified by its end. A request of a later day starts a new
day. A request of an earlier or unknown day counts into the present day. So no day exceeds its limit, even if the clocks
of several nodes differ. Refunded messages still count, because a limit is on messages accepted and charged.
"""

from dataclasses import dataclass
from math import ceil
from typing import Final

from heliograph.domain.error import NO_CREDIT, TOO_EARLY, Fault, Reason

UNCOUNTED: Final = 1 << 40
"""Waiting messages assumed before they have been counted: more than any limit, so that the next request counts them."""

WAITING_RETRY_S: Final = 30
"""Retry-After, in seconds, of a request that found too many messages waiting."""


@dataclass(slots=True)
class Allowance:
    """Limits of an account (0 means none), and their use. Money is micro-credits."""

    daily_messages: int = 0
    daily_spend: int = 0
    max_waiting: int = 0
    day_ends: int = 0
    """The end (ms) of the day of the next two fields."""
    messages: int = 0
    spend: int = 0
    waiting: int = 0
    """At least the number of waiting messages. They are counted exactly before a request is refused for them."""

    def turn(self, day_ends: int) -> None:
        """Starts a new day if `day_ends` is later than the end of the present day."""
        if day_ends > self.day_ends:
            self.day_ends, self.messages, self.spend = day_ends, 0, 0

    def overrun(self, messages: int, spend: int, waiting: int) -> Reason | None:
        """Returns the first limit that the messages, their price, or the `waiting` ones among them would exceed; None
        if they may be accepted.
        """
        if self.messages + messages > self.daily_messages > 0:
            return Reason.DAILY_MESSAGES
        if self.spend + spend > self.daily_spend > 0:
            return Reason.DAILY_SPEND
        if waiting and 0 < self.max_waiting < self.waiting + waiting:
            return Reason.WAITING
        return None

    def claim(self, day_ends: int, messages: int, spend: int, waiting: int) -> Reason | None:
        """Counts messages of the day that ends at `day_ends`. If they exceed a limit, counts nothing and returns it."""
        self.turn(day_ends)
        overrun = self.overrun(messages, spend, waiting)
        if overrun is None:
            self.use(messages, spend, waiting)
        return overrun

    def use(self, messages: int, spend: int, waiting: int) -> None:
        """Counts accepted messages."""
        self.messages += messages
        self.spend += spend
        self.waiting += waiting


def overrun_fault(reason: Reason, day_ends: int, now: int) -> Fault:
    """Returns the error for a request over a limit; `day_ends` is 0 if unknown."""
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
