"""The PDUs that may travel in each state: SMPP v3.4, 2.2; enquire_link at any time, as in v5.0, 2.4."""

from enum import StrEnum
from typing import Final

from heliograph.smpp import constants as c
from heliograph.smpp.constants import Role


class SessionState(StrEnum):
    """State of a session. Both ends are in the same state, apart from PDUs on the wire."""

    OPEN = "open"
    """Connected, not bound. The session stays in this state while a bind waits for its response."""
    BOUND_TX = "bound_tx"
    """The ESME may submit."""
    BOUND_RX = "bound_rx"
    """The message centre may deliver."""
    BOUND_TRX = "bound_trx"
    """The ESME may submit and the message centre may deliver."""
    UNBOUND = "unbound"
    """An unbind was sent, received or answered. Open requests may be answered; no new request may start."""
    CLOSED = "closed"
    """The connection is closed, or its stream can no longer be read."""


BOUND: Final = frozenset({SessionState.BOUND_TX, SessionState.BOUND_RX, SessionState.BOUND_TRX})

BOUND_BY: Final = {
    c.BIND_TRANSMITTER: SessionState.BOUND_TX,
    c.BIND_RECEIVER: SessionState.BOUND_RX,
    c.BIND_TRANSCEIVER: SessionState.BOUND_TRX,
}
"""The state a bind leads to once its response says ESME_ROK."""

_SUBMISSIONS: Final = frozenset(
    {c.SUBMIT_SM, c.SUBMIT_MULTI, c.DATA_SM, c.QUERY_SM, c.CANCEL_SM, c.REPLACE_SM, c.UNBIND, c.ENQUIRE_LINK}
)
_DELIVERIES: Final = frozenset({c.DELIVER_SM, c.DATA_SM, c.ALERT_NOTIFICATION, c.UNBIND, c.ENQUIRE_LINK})
_ANY_BOUND: Final = frozenset({c.UNBIND, c.ENQUIRE_LINK})
_LINK_ONLY: Final = frozenset({c.ENQUIRE_LINK})
_NOTHING: Final[frozenset[int]] = frozenset()

REQUESTS: Final[dict[Role, dict[SessionState, frozenset[int]]]] = {
    Role.ESME: {
        SessionState.OPEN: c.BIND_COMMANDS | _LINK_ONLY,
        SessionState.BOUND_TX: _SUBMISSIONS,
        SessionState.BOUND_RX: _ANY_BOUND,
        SessionState.BOUND_TRX: _SUBMISSIONS,
        SessionState.UNBOUND: _LINK_ONLY,
        SessionState.CLOSED: _NOTHING,
    },
    Role.MC: {
        SessionState.OPEN: _LINK_ONLY | {c.OUTBIND},
        SessionState.BOUND_TX: _ANY_BOUND,
        SessionState.BOUND_RX: _DELIVERIES,
        SessionState.BOUND_TRX: _DELIVERIES,
        SessionState.UNBOUND: _LINK_ONLY,
        SessionState.CLOSED: _NOTHING,
    },
}
"""The requests that each end may send in each state. A response is allowed if its request was."""
