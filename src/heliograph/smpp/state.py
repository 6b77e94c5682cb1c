"""The PDUs that may travel in each state: SMPP v3.4, 2.2; enquire_link at any time, as in v5.0, 2.4."""

from enum import StrEnum
from typing import Final

from heliograph.smpp import constants as c
from heliograph.smpp.constants import Role


class State(StrEnum):
    """State of a session. Both ends are in the same one, but for PDUs on the wire between them."""

    OPEN = "open"
    """Connected, nobody is bound. A bind that waits for its answer is still here."""
    BOUND_TX = "bound_tx"
    """The ESME may submit."""
    BOUND_RX = "bound_rx"
    """The message centre may deliver."""
    BOUND_TRX = "bound_trx"
    """The ESME may submit and the message centre may deliver."""
    UNBOUND = "unbound"
    """An unbind was sent, received or answered: what is under way may be answered, nothing new begins."""
    CLOSED = "closed"
    """The connection is gone, or what came from it can no longer be read."""


BOUND: Final = frozenset({State.BOUND_TX, State.BOUND_RX, State.BOUND_TRX})

BOUND_BY: Final = {
    c.BIND_TRANSMITTER: State.BOUND_TX,
    c.BIND_RECEIVER: State.BOUND_RX,
    c.BIND_TRANSCEIVER: State.BOUND_TRX,
}
"""The state a bind leads to once its response says ESME_ROK."""

_SUBMISSIONS: Final = frozenset(
    {c.SUBMIT_SM, c.SUBMIT_MULTI, c.DATA_SM, c.QUERY_SM, c.CANCEL_SM, c.REPLACE_SM, c.UNBIND, c.ENQUIRE_LINK}
)
_DELIVERIES: Final = frozenset({c.DELIVER_SM, c.DATA_SM, c.ALERT_NOTIFICATION, c.UNBIND, c.ENQUIRE_LINK})
_ANY_BOUND: Final = frozenset({c.UNBIND, c.ENQUIRE_LINK})
_LINK_ONLY: Final = frozenset({c.ENQUIRE_LINK})
_NOTHING: Final[frozenset[int]] = frozenset()

REQUESTS: Final[dict[Role, dict[State, frozenset[int]]]] = {
    Role.ESME: {
        State.OPEN: c.BIND_COMMANDS | _LINK_ONLY,
        State.BOUND_TX: _SUBMISSIONS,
        State.BOUND_RX: _ANY_BOUND,
        State.BOUND_TRX: _SUBMISSIONS,
        State.UNBOUND: _LINK_ONLY,
        State.CLOSED: _NOTHING,
    },
    Role.MC: {
        State.OPEN: _LINK_ONLY | {c.OUTBIND},
        State.BOUND_TX: _ANY_BOUND,
        State.BOUND_RX: _DELIVERIES,
        State.BOUND_TRX: _DELIVERIES,
        State.UNBOUND: _LINK_ONLY,
        State.CLOSED: _NOTHING,
    },
}
"""The requests each end may issue in each state. Responses follow from the requests they answer."""
