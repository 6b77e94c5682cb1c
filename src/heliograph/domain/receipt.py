"""Delivery states as operators report them, and what customers are told of them."""

import re
from collections.abc import Iterable
from enum import IntEnum
from typing import Final


class Delivery(IntEnum):
    """The progress of a message's delivery. The names are those of receipts (SMPP v3.4, appendix B), the
    numbers those of the parameter message_state (SMPP v3.4, 5.2.28); both are kept and shown.
    """

    ENROUTE = 1
    DELIVRD = 2
    EXPIRED = 3
    DELETED = 4
    UNDELIV = 5
    ACCEPTD = 6
    UNKNOWN = 7
    REJECTD = 8


NO_CODE: Final = "001"
"""The error code of a final state for which no operator gave one."""

_PROGRESS = frozenset({Delivery.ENROUTE, Delivery.ACCEPTD})

_STATES: dict[str, Delivery] = {state.name: state for state in Delivery} | {
    # Written out, or cut to the seven characters of the `stat` field.
    "DELIVERED": Delivery.DELIVRD,
    "DELIVER": Delivery.DELIVRD,
    "UNDELIVERABLE": Delivery.UNDELIV,
    "UNDELIVERED": Delivery.UNDELIV,
    "REJECTED": Delivery.REJECTD,
    "REJECTE": Delivery.REJECTD,
    "ACCEPTED": Delivery.ACCEPTD,
    "ACCEPTE": Delivery.ACCEPTD,
    "EN_ROUTE": Delivery.ENROUTE,
    # Carriers' own.
    "FAILED": Delivery.UNDELIV,
    "BUFFERED": Delivery.ENROUTE,
    # SMPP v5.0, 4.7.15.
    "SCHEDULED": Delivery.ENROUTE,
    "SCHEDUL": Delivery.ENROUTE,
    "SKIPPED": Delivery.UNDELIV,
}

_SEVERITY: dict[Delivery, int] = {
    state: rank
    for rank, state in enumerate(
        (
            Delivery.DELIVRD,
            Delivery.UNKNOWN,
            Delivery.DELETED,
            Delivery.EXPIRED,
            Delivery.UNDELIV,
            Delivery.REJECTD,
            Delivery.ACCEPTD,
            Delivery.ENROUTE,
        )
    )
}

_DIGITS = re.compile(r"[0-9]+").fullmatch


def parse_state(text: str) -> Delivery:
    """The state of a receipt's `stat`, in any case; UNKNOWN for one that nobody has heard of."""
    return _STATES.get(text) or _STATES.get(text.strip().upper(), Delivery.UNKNOWN)


def is_final(state: Delivery) -> bool:
    """False while the delivery is still under way (ENROUTE, ACCEPTD)."""
    return state not in _PROGRESS


def worst(states: Iterable[Delivery]) -> Delivery:
    """The state of a message by those of its parts. Raises ValueError where there is none.

    From best to worst: DELIVRD, UNKNOWN (it may have arrived), DELETED, EXPIRED, UNDELIV, REJECTD. A part
    that is still under way goes before all of them, since the message then is: ACCEPTD, ENROUTE.
    """
    return max(states, key=_SEVERITY.__getitem__)


def normalise_err(text: str | None, state: Delivery) -> str:
    """The three digits of a receipt's `err`: the operator's own code, padded, of a longer one the last three.

    Where the operator gave none, or one that is not all digits: `000` on DELIVRD and `001` otherwise.
    """
    if text is not None and _DIGITS(code := text.strip()) is not None:
        return code[-3:].zfill(3)
    return "000" if state is Delivery.DELIVRD else "001"


def err_of_status(command_status: int) -> str:
    """The `err` of a message that the operator refused at submission: the last three decimal digits of the
    command_status (SMPP v3.4, 5.1.3), `011` for 0x0B.
    """
    return f"{command_status % 1000:03d}"
