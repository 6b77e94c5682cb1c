"""The gate: whether a message may pass now, must wait, or is refused for good. Pure.

An account's rules are compiled into a `Policy` when its row changes; an account without any has None, and costs one
test. The gate is asked three times: `admit` when somebody connects as the account, `judge` with the rules `at_accept`
for each message of a request, and `judge` with the rules `at_claim` when a message is claimed from the queue. Between
accept and claim days may pass (a scheduled message, one that an operator put off), hence the second question.

A rule is a function of the message, the counters and the time, so that whatever limits sending is one more rule: quiet
hours, limits of spending. Order matters: the first answer that is not PASS stands. Two limits are not rules: credit and
suppressions are the store's to judge, in its transaction.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Final, Protocol

from heliograph.domain.error import FORBIDDEN, TOO_EARLY, Entry, Fault
from heliograph.domain.host import Network, is_within


class Judged(Protocol):
    """The message, as far as rules look at it."""

    account: int
    destination: str
    sender: str


@dataclass(slots=True)
class Counters:
    """Figures of the account at this moment."""

    rate_wait_s: float = 0.0
    """Seconds until the account's rate lets the request pass; 0 where it does now."""


@dataclass(frozen=True, slots=True)
class Pass:
    """The message may go."""


@dataclass(frozen=True, slots=True)
class Hold:
    """The message must wait until `until` (ms), and is judged anew then."""

    until: int
    why: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """The message must not go. `why` says what is wrong and what to do; `field` is the request field at fault."""

    code: Entry
    why: str
    field: str | None = None
    retry_after: int | None = None
    """Seconds, where the same request may pass later."""

    def fault(self) -> Fault:
        return Fault(self.code, self.why, self.field, self.retry_after)


PASS: Final = Pass()

Judgement = Pass | Hold | Refuse

Rule = Callable[[Judged, Counters, int], Judgement]


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of one account."""

    suspended: bool = False
    networks: tuple[Network, ...] = ()
    """Networks that the account may be used from; empty: all."""
    senders: frozenset[str] = frozenset()
    """Senders that the account may use; empty: all."""
    rate: float = 0.0
    """Messages a second; 0: no limit."""
    at_accept: tuple[Rule, ...] = ()
    at_claim: tuple[Rule, ...] = ()


def compile_policy(
    *,
    suspended: bool = False,
    networks: tuple[Network, ...] = (),
    senders: frozenset[str] = frozenset(),
    rate: float = 0.0,
    at_claim: tuple[Rule, ...] = (),
) -> Policy | None:
    """Returns the policy of an account with these restrictions, None where it has none."""
    if not (suspended or networks or senders or rate > 0 or at_claim):
        return None
    limits: tuple[Rule, ...] = (within_rate(rate),) if rate > 0 else ()
    return Policy(suspended, networks, senders, rate, limits, at_claim)


def admit(policy: Policy, address: str) -> Judgement:
    """Judges whether the account may be used at all, and from this address."""
    if policy.suspended:
        return Refuse(FORBIDDEN, "The account is suspended; ask the operator of the gateway.")
    if policy.networks and not is_within(address, policy.networks):
        return Refuse(FORBIDDEN, "The account may not be used from this address; ask the operator of the gateway.")
    return PASS


def judge_sender(policy: Policy, sender: str) -> Judgement:
    """Judges a sender by itself, since requests are checked field by field, and `from` comes early."""
    if policy.senders and sender not in policy.senders:
        return Refuse(FORBIDDEN, "The account may not use this sender; ask the operator of the gateway.", "from")
    return PASS


def judge(message: Judged, rules: tuple[Rule, ...], counters: Counters, now: int) -> Judgement:
    """Asks the rules in their order; the first answer that is not PASS stands."""
    for rule in rules:
        judgement = rule(message, counters, now)
        if judgement is not PASS:
            return judgement
    return PASS


def within_rate(rate: float) -> Rule:
    """Makes the rule of an account that may send `rate` messages a second."""
    problem = f"The account may send {rate:g} messages a second; send this one again a little later."

    def rule(_: Judged, counters: Counters, __: int) -> Judgement:
        wait = counters.rate_wait_s
        return Refuse(TOO_EARLY, problem, None, max(1, ceil(wait))) if wait > 0 else PASS

    return rule


SUPPRESSED: Final = Refuse(
    FORBIDDEN,
    "The recipient opted out of the account's messages; leave this number out, or remove its suppression once the "
    "recipient agreed again.",
    "to",
)
"""The judgement on a message to a suppressed number. The store finds it, in the transaction that accepts or claims the
message: only there can nobody opt out meanwhile, on any node."""
