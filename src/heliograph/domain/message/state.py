"""The kinds of a message, its states, and the steps between states."""

from enum import Enum, IntEnum


class Kind(IntEnum):
    """Ways to send the content (request field `type`). The numbers are stored."""

    TEXT = 0
    """GSM 7 bit if the text allows it, otherwise UCS-2."""
    UNICODE = 1
    """UCS-2, whatever the text."""
    FLASH = 2
    """Encoded as TEXT, message class 0: shown at once and not kept."""
    BINARY = 3
    """The content is hexadecimal octets."""


KIND_NAMES: dict[Kind, str] = {
    Kind.TEXT: "text",
    Kind.UNICODE: "unicode",
    Kind.FLASH: "flash",
    Kind.BINARY: "binary",
}

_KINDS: dict[str, Kind] = {name: kind for kind, name in KIND_NAMES.items()} | {
    "sms": Kind.TEXT,
    "plain": Kind.TEXT,
    "normal": Kind.TEXT,
    "longsms": Kind.TEXT,
    "0": Kind.TEXT,
    "1": Kind.FLASH,
    "2": Kind.UNICODE,
}

KIND_WORDS: tuple[str, ...] = tuple(_KINDS)
"""Every accepted value of `type`, the names first."""


def parse_kind(text: str) -> Kind | None:
    """Returns the kind for a `type`, in any case; None for any other word."""
    return _KINDS.get(text.lower())


class State(IntEnum):
    """State of a message, apart from its delivery (record field `Status`). The numbers are stored."""

    SCHEDULED = 0
    SENT = 1
    """Accepted for sending at once, or due: the dispatcher has it."""
    CANCELLED = 2
    FAILED = 3
    """Refunded, because it never left the gateway."""

    @property
    def label(self) -> str:
        """The word that the API shows."""
        return _LABELS[self]


_LABELS: dict[State, str] = {state: state.name.capitalize() for state in State}


class Trigger(Enum):
    """Events that move a stored message from state to state."""

    RESCHEDULE = "reschedule"
    CANCEL = "cancel"
    DUE = "due"
    """The message's time has come, and the dispatcher claimed it."""
    FAIL = "fail"
    """The message will never leave the gateway: no route, refused at submission, expired before."""
    OPT_OUT = "opt-out"
    """The recipient opted out before the message left."""


TABLE: dict[tuple[State, Trigger], State] = {
    (State.SCHEDULED, Trigger.RESCHEDULE): State.SCHEDULED,
    (State.SCHEDULED, Trigger.CANCEL): State.CANCELLED,
    (State.SCHEDULED, Trigger.DUE): State.SENT,
    (State.SENT, Trigger.FAIL): State.FAILED,
    (State.SCHEDULED, Trigger.OPT_OUT): State.CANCELLED,
    (State.SENT, Trigger.OPT_OUT): State.CANCELLED,
}
"""All legal steps. Stores derive their SQL from it, by `before` and `after`."""


def before(trigger: Trigger) -> tuple[State, ...]:
    """Returns the states that `trigger` may leave."""
    return tuple(state for state, each in TABLE if each is trigger)


def after(trigger: Trigger) -> State:
    """Returns the state that `trigger` leads to. Raises ValueError if it leads to several."""
    [state] = {state for (_, each), state in TABLE.items() if each is trigger}
    return state


LISTED: tuple[State, ...] = (State.SENT, State.FAILED)
"""States that a customer's list always shows. A list of pending messages shows SCHEDULED, too."""

OPEN: tuple[State, ...] = tuple(state for state in State if any(each is state for each, _ in TABLE))
"""States from which a step leads on."""

WAITING: tuple[State, ...] = tuple(state for state in OPEN if state is not State.SENT)
"""States in which a message is in the queue, and the dispatcher has not claimed it yet."""

ENDED: tuple[State, ...] = tuple(state for state in State if state not in OPEN)
"""States that no step leaves. The message never left the gateway, and its price was given back."""
