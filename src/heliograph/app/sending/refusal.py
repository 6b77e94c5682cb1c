"""The fault of a request that its commit refused: the same for each door."""

from typing import Final

from heliograph.app.facts import Accept, Verdict
from heliograph.domain.error import CONFLICT, IN_DOUBT, NO_CREDIT, UNAVAILABLE, Fault, Reason
from heliograph.domain.limits.allowance import overrun_fault
from heliograph.domain.limits.gate import SUPPRESSED, SUSPENDED
from heliograph.domain.money.amounts import format_credits

STORE_PAUSE_S: Final = 2
"""Seconds until a client may try again while the store cannot write."""

_OVERRUNS: Final = {
    Verdict.DAILY_MESSAGES: Reason.DAILY_MESSAGES,
    Verdict.DAILY_SPEND: Reason.DAILY_SPEND,
    Verdict.WAITING: Reason.WAITING,
}


def refusal_of(accept: Accept) -> Fault:
    """Returns the fault of a request whose verdict is neither ACCEPTED nor REPLAYED."""
    match accept.verdict:
        case Verdict.TOO_LITTLE_CREDIT:
            cost = format_credits(accept.total)
            return Fault(NO_CREDIT, f"The credit is too low: this costs {cost}. Nothing was sent or charged; top up.")
        case Verdict.SUSPENDED:
            return SUSPENDED.fault()
        case Verdict.SUPPRESSED:
            return SUPPRESSED.fault()
        case Verdict.REFERENCE_CONFLICT:
            return Fault(CONFLICT, "The reference was used for another request; choose a new reference.", "reference")
        case Verdict.DAILY_MESSAGES | Verdict.DAILY_SPEND | Verdict.WAITING as verdict:
            return overrun_fault(_OVERRUNS[verdict], accept.day_ends, accept.at)
        case Verdict.IN_DOUBT:
            return in_doubt()
        case _:
            return unavailable()


def in_doubt() -> Fault:
    """Returns the fault of a request that the store may have written."""
    problem = (
        "The store was lost in the middle of this request: it may be stored and charged, or not. Send it again with "
        "the same reference; without a reference, look it up first."
    )
    return Fault(IN_DOUBT, problem, None, STORE_PAUSE_S)


def unavailable() -> Fault:
    """Returns the fault of a request that the store could not write."""
    problem = "The gateway cannot store messages at this moment; nothing was charged. Send it again later."
    return Fault(UNAVAILABLE, problem, None, STORE_PAUSE_S)
