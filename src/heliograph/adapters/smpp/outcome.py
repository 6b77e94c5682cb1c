"""Meaning of an operator's answer to a submit_sm: from command_status to outcome.

======================================  ==========================================================================
command_status                          outcome
======================================  ==========================================================================
ESME_ROK                                Accepted, with the operator's message id (empty where it gives none)
those of `THROTTLING`                   Deferred: sent again when the pace says so
others of `PAUSES`                      Deferred: sent again after the pause
all others, the operator's own and      Refused: final, the state is REJECTD and the code the status in decimal
those of generic_nack included
no answer in time, or the link lost     Unknown: the operator may have it or not
======================================  ==========================================================================

A connector's options `outcome_STATUS` overrule it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from heliograph.app.ports import Accepted, Deferred, Outcome, Refused, Unknown
from heliograph.domain.message.operator_id import kept
from heliograph.domain.message.receipt import Delivery, code_of_status, ending_of, is_final
from heliograph.smpp.constants import CommandStatus

PAUSES: Final[Mapping[int, float]] = {
    CommandStatus.ESME_RTHROTTLED: 0.0,
    CommandStatus.ESME_RMSGQFUL: 0.0,
    CommandStatus.ESME_RSYSERR: 1.0,
    CommandStatus.ESME_RX_T_APPN: 1.0,
    CommandStatus.ESME_RINVBNDSTS: 1.0,
    CommandStatus.ESME_RSERTYPUNAVAIL: 5.0,
}
"""Temporary errors, with the seconds of pause in addition to those of the pace.

ESME_RINVBNDSTS on a bound link means that the operator sees it as unbound: the link is bound again.
"""

THROTTLING: Final = frozenset({CommandStatus.ESME_RTHROTTLED, CommandStatus.ESME_RMSGQFUL})
"""Statuses by which an operator throttles."""

MAX_PAUSE_S: Final = 3600.0

FAILURES: Final = frozenset(each for each in Delivery if is_final(each) and each is not Delivery.DELIVRD)
"""The final states of messages that were not delivered."""


FAILOVER_ON: Final = frozenset(
    {int(CommandStatus.ESME_RSYSERR), int(CommandStatus.ESME_RSUBMITFAIL), int(CommandStatus.ESME_RX_T_APPN)}
)
"""Statuses after which another operator tries a message, where a connector's option says nothing else."""

DEFER_S: Final = 1.0
"""Seconds of an override `defer` without seconds, where the table has no pause for the status."""

_DEFERRED: Final = {int(status): Deferred(int(status), pause, status in THROTTLING) for status, pause in PAUSES.items()}


@dataclass(frozen=True, slots=True)
class OutcomeOverride:
    """A connector's own outcome for a status. It replaces the row of the table."""

    kind: Literal["accept", "defer", "throttle", "refuse", "unknown"]
    pause: float = 0.0
    state: Delivery = Delivery.REJECTD
    err: str = ""

    def outcome(self, status: int, message_id: str) -> Outcome:
        match self.kind:
            case "accept":
                return Accepted(kept(message_id))
            case "defer":
                # about this part only, whatever the status: `throttle` makes a status affect the pace
                return Deferred(status, self.pause)
            case "throttle":
                return Deferred(status, 0.0, throttled=True)
            case "refuse":
                return Refused(status, self.state, self.err or code_of_status(status))
            case "unknown":
                return Unknown(f"the operator responded with {CommandStatus.name_of(status)}")


def outcome_of(status: int, message_id: str, overrides: Mapping[int, OutcomeOverride]) -> Outcome:
    """Returns the outcome of an answer with `status`, by the table above. For example, 0x58 (ESME_RTHROTTLED) is
    `Deferred(0x58, 0.0, True)`."""
    if status in overrides:
        return overrides[status].outcome(status, message_id)
    if status == 0:
        return Accepted(kept(message_id))
    return _DEFERRED.get(status) or Refused(status, Delivery.REJECTD, code_of_status(status))


def read_override(name: str, text: str) -> tuple[int, OutcomeOverride]:
    """Returns the status, by name or number, and its outcome. Raises ValueError with a sentence for people.

    `name` is a name with or without `esme_`, a decimal number, or a hexadecimal number after `0x`. `text` is `accept`,
    `defer [SECONDS]`, `throttle`, `refuse [STATE [ERR]]` or `unknown`. STATE is a final state of receipts, and ERR
    three digits. Deferred parts do not affect the pace, even with ESME_RTHROTTLED.
    """
    status = _status(name)
    kind, *rest = text.split() or [""]
    match kind.lower(), rest:
        case "accept", []:
            return status, OutcomeOverride("accept")
        case "unknown", []:
            return status, OutcomeOverride("unknown")
        case "throttle", []:
            return status, OutcomeOverride("throttle")
        case "defer", [] | [_]:
            return status, OutcomeOverride("defer", pause=_pause(rest[0]) if rest else PAUSES.get(status) or DEFER_S)
        case "refuse", [] | [_] | [_, _]:
            state = _final(rest[0]) if rest else Delivery.REJECTD
            return status, OutcomeOverride("refuse", state=state, err=_err(rest[1]) if len(rest) > 1 else "")
    raise ValueError(f"{text!r} is none of accept, defer [SECONDS], throttle, refuse [STATE [ERR]], unknown")


def read_statuses(text: str) -> frozenset[int]:
    """Returns the statuses of a list, such as `RSYSERR, 0x401`; of `none` no status. Raises ValueError with a sentence
    for people."""
    names = [name for name in text.replace(",", " ").split() if name.lower() != "none"]
    return frozenset(map(_status, names))


def read_endings(text: str) -> frozenset[tuple[Delivery | None, str]]:
    """Returns the states and codes of a list, such as `UNDELIV 011, REJECTD, 034`. Raises ValueError with a sentence
    for people."""
    found = set()
    for entry in filter(None, (each.strip() for each in text.split(","))):
        if entry.lower() == "none":
            continue
        ending = ending_of(entry)
        if ending is None or (ending[0] is not None and ending[0] not in FAILURES):
            raise ValueError(
                f"{entry!r} is no state of a message that was not delivered, such as UNDELIV, with or without a code"
            )
        found.add(ending)
    return frozenset(found)


def _status(name: str) -> int:
    bare = name.strip().lower()
    try:
        status = int(bare, 16) if bare.startswith("0x") else int(bare)
    except ValueError:
        known = CommandStatus.__members__.get("ESME_" + bare.removeprefix("esme_").upper())
        if known is None:
            raise ValueError(f"{name!r} is no command status; give its name, or its number as 0x58") from None
        status = int(known)
    if not 0 <= status <= 0xFFFFFFFF:
        raise ValueError(f"{name!r} does not fit 32 bits")
    return status


def _pause(text: str) -> float:
    try:
        pause = float(text)
    except ValueError:
        pause = -1.0
    if not 0 <= pause <= MAX_PAUSE_S:
        raise ValueError(f"{text!r} is no number of seconds up to {MAX_PAUSE_S:.0f}")
    return pause


def _final(text: str) -> Delivery:
    final = {"DELIVRD", "EXPIRED", "DELETED", "UNDELIV", "UNKNOWN", "REJECTD"}
    if text.upper() not in final:
        raise ValueError(f"{text!r} is none of {', '.join(sorted(final))}")
    return Delivery[text.upper()]


def _err(text: str) -> str:
    if len(text) != 3 or not text.isascii() or not text.isdigit():
        raise ValueError(f"{text!r} is no error code of three digits")
    return text
