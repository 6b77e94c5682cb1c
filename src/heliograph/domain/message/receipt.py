"""Delivery states as operators report them, and as customers see them."""

import re
from collections.abc import Iterable
from enum import IntEnum
from typing import Final


class Delivery(IntEnum):
    """The delivery state of a message. The names are those of receipts (SMPP v3.4, appendix B), the numbers those of
    the parameter message_state (SMPP v3.4, 5.2.28). Both are stored and shown.
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
"""The code of a state without an operator's code. Customers see `err_of` it."""

MAX_CODE_CHARS: Final = 32
"""Most characters of an operator's own code."""

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
    # Operators' own words.
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
    """Returns the state of a receipt's `stat`, in any case; UNKNOWN for an unfamiliar word."""
    return _STATES.get(text) or _STATES.get(text.strip().upper(), Delivery.UNKNOWN)


def is_final(state: Delivery) -> bool:
    """False while the delivery is still under way (ENROUTE, ACCEPTD)."""
    return state not in _PROGRESS


def worst(states: Iterable[Delivery]) -> Delivery:
    """Returns the state of a message from the states of its parts. Raises ValueError if there are none.

    From best to worst: DELIVRD, UNKNOWN (it may have arrived), DELETED, EXPIRED, UNDELIV, REJECTD. A part with an
    intermediate state (ACCEPTD, ENROUTE) takes precedence, because the message is still on its way.
    """
    return max(states, key=_SEVERITY.__getitem__)


def own_code(text: str | None) -> str:
    """Returns the operator's own code in its stored form: without surrounding spaces, truncated, and with `?` for
    characters other than printable ASCII, because a header carries it. Empty if there is no code.
    """
    if not text:
        return ""
    if len(text) <= MAX_CODE_CHARS and text.isascii() and text.isalnum():
        return text
    code = text.strip(" \t\r\n\0")[:MAX_CODE_CHARS].rstrip()
    return code if code.isascii() and code.isprintable() else "".join([c if " " <= c <= "~" else "?" for c in code])


def err_of(code: str, state: Delivery) -> str:
    """Returns the `err` that customers see, always three digits: the operator's own code padded with zeros, or its last
    three digits. Without a code, or with other characters: `000` on DELIVRD, otherwise `001`.
    """
    if _DIGITS(code) is not None:
        return code[-3:].zfill(3)
    return "000" if state is Delivery.DELIVRD else "001"


def code_of_status(command_status: int) -> str:
    """Returns the code of a message that the operator refused at submission: the command_status (SMPP v3.4, 5.1.3) in
    decimal. For example, 0x0B is `11`, which `err_of` makes `011`."""
    return str(command_status)


def in_words(state: Delivery, code: str) -> str:
    """Describes the state with its `err` for people, and the operator's code if it differs."""
    err = err_of(code, state)
    if not code:
        return f"{state.name} {err}" if state is Delivery.DELIVRD else f"{state.name} {err}, no operator's code"
    return f"{state.name} {err}" if code.zfill(3) == err else f"{state.name} {err}, the operator's code {code}"


def is_listed(state: Delivery, code: str, listed: Iterable[tuple[Delivery | None, str]]) -> bool:
    """Whether a list of states, codes or both has this state and code. Codes compare without case and without leading
    zeros: `11` is `011`."""
    bare = code.upper().lstrip("0")
    return any(
        of in (None, state) and (not wanted or (code != "" and wanted.upper().lstrip("0") == bare))
        for of, wanted in listed
    )


def ending_of(error: str) -> tuple[Delivery | None, str] | None:
    """Returns the state and the code in an error such as `UNDELIV`, `011`, or both; None and '' for a missing half.
    Returns None if no message can have them.
    """
    state: Delivery | None = None
    code = ""
    for word in error.upper().split():
        if word in Delivery.__members__:
            if state not in (None, Delivery[word]):
                return None
            state = Delivery[word]
        elif code in ("", word):
            code = word
        else:
            return None
    return state, code
