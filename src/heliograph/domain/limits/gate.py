"""The gate: decides whether a message may pass now, must wait, or is refused for good. Pure.

An account's rules are compiled into a `Policy` when its row changes. An account without rules has None, and costs a
single test. The gate is called three times:

1. `admit`, when a client connects as the account.
2. `judge` with the rules `at_accept`, for each message of a request.
3. `judge` with the rules `at_claim`, when a message is claimed from the queue. Days may have passed since its
   acceptance, for example for a scheduled or deferred message.

A rule is a function of the message and the time, so a new limit (quiet hours, a hold) is a new rule. The first answer
other than PASS decides. Rates are not rules: they apply to a whole request and come last, because checking them counts
the request. Credit, suppressions and daily limits (`domain.allowance`) are not rules either: the store checks them in
its transaction.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil
from typing import Final, Protocol

from heliograph.domain.error import FORBIDDEN, TOO_EARLY, Entry, Fault, Reason
from heliograph.domain.limits.pumping import range_of
from heliograph.domain.security.host import NetworkSet


class SenderState(StrEnum):
    """Whether an account may use a sender ID. Only APPROVED passes."""

    PENDING = "pending"
    APPROVED = "approved"
    REFUSED = "refused"


def problem_of(sender: str, state: SenderState | None) -> str:
    """Returns the error for a sender ID that does not pass; `state` is None if it is not registered."""
    if state is SenderState.PENDING:
        return f"The sender {sender} is pending: it may be used when the operator of the gateway has approved it."
    if state is SenderState.REFUSED:
        return f"The sender {sender} was refused; use an approved sender ID, or ask the gateway's operator why."
    return (
        f"The sender {sender} is not registered; use an approved sender ID, or ask the operator of the gateway for it."
    )


class Judged(Protocol):
    """The fields of a message that rules use."""

    account: int
    destination: str
    sender: str


@dataclass(frozen=True, slots=True)
class Pass:
    """The message may go."""


@dataclass(frozen=True, slots=True)
class Hold:
    """The message must wait until it is released, and is checked again then."""

    range: str
    """The range of numbers that the traffic guard holds, such as `49170`; OF_SUSPENDED for a suspended account."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """The message is refused. `why`: the problem and its solution. `field`: the wrong field of the request."""

    code: Entry
    why: str
    field: str | None = None
    retry_after: int | None = None
    """Seconds until the same request may pass, for example 1."""
    reason: Reason | None = None

    def fault(self) -> Fault:
        return Fault(self.code, self.why, self.field, self.retry_after, self.reason)


PASS: Final = Pass()

OF_SUSPENDED: Final = ""
"""The `held` of messages of a suspended account; the traffic guard writes a range such as `49170` instead. They become
due once the account is resumed (`Queue.resume`). The value is less than any range, so that an index keeps the two
apart."""

OF_ADMINISTRATOR: Final = "!"
"""The first sign of the `held` of messages that an administrator holds (`app/resources/queue.py`). The earlier `held`
follows, for example `!49170`. The release gives it back, and the gate judges again. In octets the sign is above
OF_SUSPENDED and below any range."""

FIRST_RANGE: Final = "0"
"""At most any range of numbers, and above the other reasons."""


class Holder(StrEnum):
    """Reason for which a message is held."""

    ADMINISTRATOR = "administrator"
    """An administrator holds it, maybe beside another reason."""
    GUARD = "guard"
    """The pumping guard holds its range of numbers."""
    SUSPENDED = "suspended"
    """Its account is suspended."""


def holder_of(held: str | None) -> Holder | None:
    """Returns the reason of a `held`, for example GUARD for `49170`; None if the message is not held."""
    if held is None:
        return None
    if held.startswith(OF_ADMINISTRATOR):
        return Holder.ADMINISTRATOR
    return Holder.SUSPENDED if held == OF_SUSPENDED else Holder.GUARD


MOST_SHOWN: Final = 20
"""Most numbers listed in a sentence."""

_SENDER_REASONS: Final = {
    SenderState.PENDING: Reason.SENDER_PENDING,
    SenderState.REFUSED: Reason.SENDER_REFUSED,
}

_HOLD_SUSPENDED: Final = Hold(OF_SUSPENDED)

SUSPENDED: Final = Refuse(
    FORBIDDEN, "The account is suspended; ask the operator of the gateway.", reason=Reason.SUSPENDED
)

Judgement = Pass | Hold | Refuse

Rule = Callable[[Judged, int], Judgement]


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of an account."""

    suspended: bool = False
    networks: NetworkSet | None = None
    """Networks from which the account may be used; None means all."""
    senders: frozenset[str] | None = None
    """Senders that the account may use; None means all."""
    registry: Mapping[str, SenderState] | None = None
    """States of the account's registered senders, which explain a refusal; None without a registry."""
    rate: float = 0.0
    """Messages a second; 0: no limit."""
    request_rate: float = 0.0
    """Requests a second; 0: no limit."""
    request_burst: int = 0
    """Requests that may come at once; 0: the requests of a second."""
    prefixes: tuple[str, ...] = ()
    """Prefixes of the destinations that the account may send to; empty: all."""
    capped: bool = False
    """Whether the store judges the account's requests by its `Allowance`."""
    at_accept: tuple[Rule, ...] = ()
    at_claim: tuple[Rule, ...] = ()


def compile_policy(
    *,
    suspended: bool = False,
    networks: NetworkSet | None = None,
    senders: frozenset[str] = frozenset(),
    registry: Mapping[str, SenderState] | None = None,
    rate: float = 0.0,
    request_rate: float = 0.0,
    request_burst: int = 0,
    prefixes: tuple[str, ...] = (),
    capped: bool = False,
    held: tuple[str, ...] = (),
    at_claim: tuple[Rule, ...] = (),
) -> Policy | None:
    """Returns the policy of an account with these restrictions, or None without restrictions."""
    is_open = not (suspended or networks or senders or registry or prefixes or capped or held)
    if is_open and not (rate > 0 or request_rate > 0 or at_claim):
        return None
    at_accept: tuple[Rule, ...] = (hold_ranges(held),) if held else ()
    at_claim = (*at_claim, *at_accept)
    if suspended:
        at_claim = (*at_claim, hold_suspended)
    return Policy(
        suspended,
        networks,
        _allowed(senders, registry),
        registry,
        rate,
        request_rate,
        request_burst,
        prefixes,
        capped,
        at_accept,
        at_claim,
    )


def _allowed(senders: frozenset[str], registry: Mapping[str, SenderState] | None) -> frozenset[str] | None:
    """Returns the allowed senders, None for all: the configured senders, and the approved senders of a registry."""
    if not registry:
        return senders or None
    approved = frozenset(sender for sender, state in registry.items() if state is SenderState.APPROVED)
    return approved & senders if senders else approved


def admit(policy: Policy, address: str) -> Judgement:
    """Judges whether the account may be used at all, and from this address."""
    if policy.suspended:
        return SUSPENDED
    if policy.networks is not None and not policy.networks.has(address):
        problem = "The account may not be used from this address; ask the operator of the gateway."
        return Refuse(FORBIDDEN, problem, reason=Reason.ADDRESS)
    return PASS


def judge_sender(policy: Policy, sender: str) -> Judgement:
    """Judges a sender alone, because requests are checked field by field, and `from` comes early."""
    if policy.senders is None or sender in policy.senders:
        return PASS
    registry = policy.registry
    state = registry.get(sender) if registry else None
    if not registry or state is SenderState.APPROVED:
        problem = "The account may not use this sender; ask the operator of the gateway."
        return Refuse(FORBIDDEN, problem, "from", reason=Reason.SENDER)
    reason = Reason.SENDER if state is None else _SENDER_REASONS[state]
    return Refuse(FORBIDDEN, problem_of(sender, state), "from", reason=reason)


def judge_destinations(policy: Policy, destinations: Sequence[str]) -> Judgement:
    """Checks the destinations of a request. A single bad destination refuses the whole request."""
    prefixes = policy.prefixes
    barred: list[str] = []
    if prefixes:
        for number in destinations:
            if not number.startswith(prefixes):
                barred.append(number)  # noqa: PERF401 - hardly ever any
    if not barred:
        return PASS
    shown = ", ".join(barred[:MOST_SHOWN]) + (", ..." if len(barred) > MOST_SHOWN else "")
    problem = f"The account may not send to {shown}; leave it out, or ask the operator of the gateway."
    return Refuse(FORBIDDEN, problem, "to", reason=Reason.PREFIX)


def over_requests(rate: float, wait_s: float) -> Fault:
    """Returns the error for a request over its account's requests a second."""
    problem = f"The account may make {rate:g} requests a second; repeat this request a little later."
    return Fault(TOO_EARLY, problem, None, max(1, ceil(wait_s)), Reason.REQUESTS)


def over_rate(rate: float, wait_s: float) -> Fault:
    """Returns the error for a request over its account's messages a second."""
    problem = f"The account may send {rate:g} messages a second; send this message again a little later."
    return Fault(TOO_EARLY, problem, None, max(1, ceil(wait_s)), Reason.RATE)


def require(judgement: Judgement) -> None:
    """Raises the Fault of a refusal. A pass and a hold go on."""
    if isinstance(judgement, Refuse):
        raise judgement.fault()


def judge(message: Judged, rules: tuple[Rule, ...], now: int) -> Judgement:
    """Applies the rules in order; the first answer other than PASS decides."""
    for rule in rules:
        judgement = rule(message, now)
        if judgement is not PASS:
            return judgement
    return PASS


def hold_ranges(held: tuple[str, ...]) -> Rule:
    """Makes the rule that holds an account's traffic to these ranges until an administrator decides."""
    holds = {each: Hold(each) for each in held}

    def rule(message: Judged, _: int) -> Judgement:
        return holds.get(range_of(message.destination), PASS)

    return rule


def hold_suspended(_: Judged, __: int) -> Judgement:
    """The rule of a suspended account: waiting messages are held until it is resumed."""
    return _HOLD_SUSPENDED


SUPPRESSED: Final = Refuse(
    FORBIDDEN,
    "The recipient opted out of the account's messages; leave this number out, or remove its suppression once the "
    "recipient agreed again.",
    "to",
    reason=Reason.SUPPRESSED,
)
"""The judgement on a message to a suppressed number. Only the store makes it, in the transaction that accepts or claims
the message, so that no opt-out on any node can come in between.
"""
