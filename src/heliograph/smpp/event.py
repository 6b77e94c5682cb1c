"""Events that a session reports. Match on the types; every list of them is in the order things happened."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from heliograph.smpp import codec, tlv
from heliograph.smpp.error import PduError
from heliograph.smpp.pdu import AlertNotification, BindRequest, BindResp, DataSm, DeliverSm, Outbind, Pdu
from heliograph.smpp.state import SessionState


class CloseReason(StrEnum):
    """Why a session wants its connection closed."""

    UNBOUND = "unbound"
    """An end sent unbind, and the other end answered."""
    UNBIND_TIMEOUT = "unbind_timeout"
    BIND_TIMEOUT = "bind_timeout"
    """The bind was not answered in time. In a message centre: no bind came in time."""
    LINK_DEAD = "link_dead"
    """No octet came for an idle interval and the timeout of the enquire_link after it."""
    INACTIVE = "inactive"
    """Only enquire_link was exchanged for too long."""
    PROTOCOL = "protocol"
    """The received octets cannot be cut into PDUs any more."""


@dataclass(slots=True)
class Bound:
    """The peer accepted our bind. `interface_version`: the version in its response, for example 0x34; None if
    absent.
    """

    state: SessionState
    response: BindResp

    @property
    def interface_version(self) -> int | None:
        return tlv.find_integer(self.response.tlvs, tlv.SC_INTERFACE_VERSION)


@dataclass(slots=True)
class BindRefused:
    """The peer refused our bind. The state is OPEN again: bind once more, or close."""

    status: int


@dataclass(slots=True)
class BindRequested:
    """An ESME wants to bind: answer `request` with `Session.respond` or `Session.answer`."""

    request: BindRequest


@dataclass(slots=True, repr=False)
class Answered:
    """The answer to the request that carried `token`: its response, or a generic_nack.

    `message_id` is empty if the response has none. The other fields are decoded only when they are read.
    """

    token: Any
    sequence: int
    status: int
    message_id: str
    frame: bytes

    @property
    def response(self) -> Pdu:
        """The whole response."""
        return codec.decode(self.frame)

    @property
    def congestion(self) -> int | None:
        """Returns congestion_state, from 0 (idle) to 99 percent: SMPP v5.0, 4.8.4.18. None if the peer does not send
        it.
        """
        if len(self.frame) <= len(self.message_id) + 17:
            return None
        return tlv.find_integer(self.response.tlvs, tlv.CONGESTION_STATE)

    def __repr__(self) -> str:
        return f"<Answered {self.sequence} {self.status:#x}>"


@dataclass(slots=True)
class TimedOut:
    """No answer came in time. A late answer is `Unmatched`."""

    token: Any
    sequence: int


@dataclass(slots=True)
class Lost:
    """The connection closed while these requests waited, oldest first. Their outcome is unknown."""

    tokens: list[Any]


@dataclass(slots=True)
class Unmatched:
    """A response without a waiting request: late, doubled, with a wrong number, or of the wrong kind."""

    response: Pdu


@dataclass(slots=True)
class Delivered:
    """deliver_sm or data_sm from the message centre: `Session.answer(request)` once it is safe."""

    request: DeliverSm | DataSm


@dataclass(slots=True)
class RequestReceived:
    """A request of an ESME: submit_sm, submit_multi, data_sm, query_sm, cancel_sm or replace_sm. Answer it."""

    request: Pdu


@dataclass(slots=True)
class Shed:
    """Requests that `session.Shedding` refused. They are answered."""

    number: int


@dataclass(slots=True)
class AlertReceived:
    """alert_notification; it is not answered."""

    notification: AlertNotification


@dataclass(slots=True)
class OutbindReceived:
    """The message centre asks for a bind. Its credentials are for the receiver of this event to check."""

    request: Outbind


@dataclass(slots=True)
class Unbound:
    """The peer unbound (`by_peer`), or answered our unbind."""

    by_peer: bool


@dataclass(slots=True)
class ProtocolError:
    """The peer violated the protocol. If an answer is due, the session has sent it."""

    error: PduError


@dataclass(slots=True)
class Closing:
    """The owner must write the rest of `Session.data_to_send` and close the connection. No further PDU may be sent."""

    reason: CloseReason


Event = (
    Bound
    | BindRefused
    | BindRequested
    | Answered
    | TimedOut
    | Lost
    | Unmatched
    | Delivered
    | RequestReceived
    | Shed
    | AlertReceived
    | OutbindReceived
    | Unbound
    | ProtocolError
    | Closing
)
