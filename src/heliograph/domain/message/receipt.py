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


NO_CODE: Final = ""
"""The code of a state for which no operator gave one. Customers are told `err_of` it."""

MAX_CODE_CHARS: Final = 32
"""Characters of an operator's own code that are kept."""

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


def own_code(text: str | None) -> str:
    """The operator's own code as it is kept: as the operator wrote it, without spaces around, cut off, and with `?` for
    what is not printable ASCII, since headers carry it. Empty where it gave none."""
    code = (text or "").strip(" \t\r\n\0")[:MAX_CODE_CHARS].rstrip()
    return code if code.isascii() and code.isprintable() else "".join([c if " " <= c <= "~" else "?" for c in code])


def err_of(code: str, state: Delivery) -> str:
    """The `err` that customers are told, always three digits: the operator's own code, padded, of a longer one the last
    three. Where the operator gave none, or one that is not all digits: `000` on DELIVRD and `001` otherwise.
    """
    if _DIGITS(code) is not None:
        return code[-3:].zfill(3)
    return "000" if state is Delivery.DELIVRD else "001"


def code_of_status(command_status: int) -> str:
    """The operator's code for a message that it refused at submission: the command_status (SMPP v3.4, 5.1.3) in
    decimal, of which `err_of` makes `011` for 0x0B.
    """
    return str(command_status)


def in_words(state: Delivery, code: str) -> str:
    """The state with its `err`, for people, and what the operator said where that is something else."""
    err = err_of(code, state)
    if not code:
        return f"{state.name} {err}" if state is Delivery.DELIVRD else f"{state.name} {err}, no operator's code"
    return f"{state.name} {err}" if code.zfill(3) == err else f"{state.name} {err}, the operator's code {code}"
