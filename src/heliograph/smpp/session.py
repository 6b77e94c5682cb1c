"""One SMPP session of either role, without I/O: octets and the time come in, events and octets go out.

The owner feeds `receive` what the connection brings, writes what `data_to_send` gives after every call, calls
`handle_timers` when `next_deadline` is reached, closes the connection after `closing` turned true (and its
last octets are written), and says `connection_lost` when it is gone. `now` is in seconds of any clock that
does not run backwards.

The session answers enquire_link and unbind itself, tests idle links, and answers what breaks the rules. The
owner answers binds and messages, when it is ready to.
"""

from dataclasses import dataclass
from struct import Struct
from typing import Final, cast

from heliograph.smpp import codec
from heliograph.smpp import constants as c
from heliograph.smpp import event as e
from heliograph.smpp import pdu as p
from heliograph.smpp.constants import CommandStatus, Role
from heliograph.smpp.error import PduError, StateError
from heliograph.smpp.framer import Framer
from heliograph.smpp.state import BOUND, BOUND_BY, REQUESTS, SessionState
from heliograph.smpp.window import Pending, Window

_AFTER_LENGTH: Final = Struct(">III")
_DELIVER_SM_RESP: Final = Struct(">IIIIB")
_NOTHING: Final[frozenset[int]] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """Limits and times of one session; times in seconds. SMPP v3.4, 7.2 names the timers."""

    window: int = 10
    """Requests that may wait for their answers at once, those of the link itself not counted."""
    response_timeout: float = 30.0
    bind_timeout: float = 10.0
    """ESME: for the answer to a bind. Message centre: from the connection to the bind (session_init_timer).
    """
    unbind_timeout: float = 5.0
    """Seconds for the answer to our unbind, and for all other answers still due when the peer unbinds."""
    enquire_interval: float = 30.0
    """An enquire_link is sent when nothing has come for so long; 0: never."""
    enquire_timeout: float | None = None
    """Seconds that anything at all may take to come after it; None: as long as the interval."""
    inactivity_timeout: float = 0.0
    """Close a bound link on which only enquire_link is exchanged (inactivity_timer); 0: never."""
    max_pdu_octets: int = c.MAX_PDU_OCTETS
    first_sequence: int = 1


class Session:
    """See the module. Methods that send raise `StateError` for what the state forbids."""

    __slots__ = (
        "_acceptable",
        "_bind_pending",
        "_enquiring",
        "_framer",
        "_heard",
        "_init_deadline",
        "_last_activity",
        "_last_received",
        "_options",
        "_out",
        "_quiet_frames",
        "_sendable",
        "_unbind_deadline",
        "_unbind_sequence",
        "_window",
        "closing",
        "role",
        "state",
        "unanswered",
    )

    def __init__(self, role: Role, now: float, options: SessionOptions | None = None) -> None:
        self._options = options or SessionOptions()
        self._framer = Framer(self._options.max_pdu_octets)
        self._window = Window(self._options.window, self._options.response_timeout, self._options.first_sequence)
        self._out: list[bytes] = []
        self._bind_pending = False
        self._enquiring = False
        self._heard = False
        self._last_received = now
        self._last_activity = now
        self._quiet_frames = 0
        self._init_deadline = now + self._options.bind_timeout if role is Role.MC else None
        self._unbind_sequence: int | None = None
        self._unbind_deadline: float | None = None
        self._sendable = _NOTHING
        self._acceptable = _NOTHING
        self.role = role
        self.state = SessionState.OPEN
        self.closing = False
        """The connection is to be closed once `data_to_send` is written."""
        self.unanswered = 0
        """Requests of the peer that the owner has not answered yet. Stop reading where they grow too many."""
        self._enter(SessionState.OPEN)

    # What the owner asks about.

    @property
    def bound(self) -> bool:
        return self.state in BOUND

    @property
    def in_flight(self) -> int:
        """Our requests that wait for their answers, those of the link itself not counted."""
        return self._window.in_flight

    @property
    def room(self) -> int:
        """The number of requests that `send_request` still takes now."""
        return self._window.room if self.bound and not self.closing else 0

    @property
    def window_limit(self) -> int:
        return self._window.limit

    @window_limit.setter
    def window_limit(self, limit: int) -> None:
        """A smaller limit takes back no request under way."""
        self._window.limit = limit

    def may_send(self, command_id: int) -> bool:
        """Whether the state allows a request of this kind now; a full window is not looked at."""
        return command_id in self._sendable

    def data_to_send(self) -> bytes:
        """All octets to be written since the last call, in one piece."""
        data = b"".join(self._out)
        self._out.clear()
        return data

    # Requests.

    def bind(self, request: p.BindRequest, now: float) -> int:
        """Ask to bind, as an ESME. `Bound`, `BindRefused` or `Closing(BIND_TIMEOUT)` follows."""
        if self._bind_pending:
            raise StateError("a bind waits for its answer")
        self._check(request.command_id)
        sequence = self._window.open_link_request(request.command_id, now + self._options.bind_timeout)
        self._put(request.command_id, 0, sequence, codec.encode_body(request))
        self._bind_pending = True
        return sequence

    def send_request(self, command_id: int, body: bytes, token: object, now: float) -> int:
        """Send a request whose body (with its TLVs) is encoded already; returns its sequence number.

        Exactly one of `Answered`, `TimedOut` and `Lost` hands `token` back. `WindowFullError` where `room` is
        0.
        """
        if command_id not in self._sendable:
            self._check(command_id)
        sequence = self._window.open(command_id, token, now)
        self._out.append(codec.HEADER.pack(len(body) + 16, command_id, 0, sequence) + body)
        self._last_activity = now
        return sequence

    def request(self, pdu: p.Pdu, token: object, now: float) -> int:
        """Like `send_request`, from a PDU; its own sequence and status are not used."""
        return self.send_request(pdu.command_id, codec.encode_body(pdu), token, now)

    def notify(self, pdu: p.AlertNotification | p.Outbind) -> int:
        """Send what has no answer, as a message centre."""
        self._check(pdu.command_id)
        sequence = self._window.take_sequence()
        self._put(pdu.command_id, 0, sequence, codec.encode_body(pdu))
        return sequence

    def enquire_link(self, now: float) -> None:
        """Test the link now, whether it is idle or not; nothing happens while a test is under way."""
        self._check(c.ENQUIRE_LINK)
        if self._enquiring:
            return
        timeout = self._options.enquire_timeout or self._options.enquire_interval or self._options.response_timeout
        sequence = self._window.open_link_request(c.ENQUIRE_LINK, now + timeout)
        self._put(c.ENQUIRE_LINK, 0, sequence, b"")
        self._enquiring = True
        self._heard = False

    def unbind(self, now: float) -> None:
        """End the session. Requests under way may still be answered; `Unbound` and `Closing` follow."""
        self._check(c.UNBIND)
        sequence = self._window.open_link_request(c.UNBIND, now + self._options.unbind_timeout)
        self._put(c.UNBIND, 0, sequence, b"")
        self.state = SessionState.UNBOUND
        self._sendable = REQUESTS[self.role][SessionState.UNBOUND]

    # Answers.

    def answer(self, request: p.Pdu, status: int = 0) -> bool:
        """Answer a request of the peer with an otherwise empty response of its kind; see `respond`."""
        if request.command_id == c.DELIVER_SM and self._unbind_sequence is None:
            if self.closing or self.state is SessionState.CLOSED:
                return False
            self._out.append(_DELIVER_SM_RESP.pack(17, c.DELIVER_SM_RESP, status, request.sequence, 0))
            self._settle()
            return True
        return self.respond(p.PDU_TYPES[request.command_id | c.RESPONSE_BIT](request.sequence, status))

    def respond(self, response: p.Pdu) -> bool:
        """Send the response to a request of the peer, whose sequence number it carries.

        False where the link has gone meanwhile: the peer cannot learn the answer here and may repeat its
        request. A bind_resp with ESME_ROK binds the session.
        """
        if self.closing or self.state is SessionState.CLOSED:
            return False
        self._out.append(codec.encode(response))
        if isinstance(response, p.BindResp):
            self._bind_pending = False
            if response.status == 0 and self.state is SessionState.OPEN:
                self._enter(BOUND_BY[response.command_id & ~c.RESPONSE_BIT])
            return True
        self._settle()
        if self._unbind_sequence is not None and self._is_settled:
            self._agree_to_unbind()
        return True

    def send_octets(self, octets: bytes) -> None:
        """Send octets as they are, past all rules: for peers that misbehave on purpose."""
        self._out.append(octets)

    # What happens to the connection.

    def receive(self, data: bytes, now: float) -> list[e.Event]:
        """Take what the connection brought."""
        if self.state is SessionState.CLOSED:
            return []
        events: list[e.Event] = []
        frames = self._framer.feed(data)
        if frames:
            self._last_received = now
            self._heard = True
            self._quiet_frames = 0
            close = self._window.close
            for frame in frames:
                command_id, status, sequence = _AFTER_LENGTH.unpack_from(frame, 4)
                if command_id < c.RESPONSE_BIT:
                    self._on_request(frame, command_id, sequence, status, now, events)
                    continue
                pending = close(sequence, command_id)
                if pending is None:
                    self._on_unmatched(frame, command_id, sequence, status, events)
                elif pending[0] == c.SUBMIT_SM and command_id != c.GENERIC_NACK:
                    end = frame.find(0, 16)
                    message_id = (frame[16:end] if end >= 0 else frame[16:]).decode("latin-1")
                    events.append(e.Answered(pending[1], sequence, status, message_id, frame))
                else:
                    self._on_response(frame, pending, sequence, status, events)
            if self._quiet_frames < len(frames):
                self._last_activity = now
            if self._unbind_sequence is not None:
                self._agree_when_settled(events)
        if self._framer.error is not None:
            self._on_broken_stream(self._framer.error, events)
        return events

    def connection_lost(self) -> list[e.Event]:
        """The connection is gone. `Lost` holds the tokens of all requests that waited, if any did."""
        self.state = SessionState.CLOSED
        self.closing = True
        self._sendable = self._acceptable = _NOTHING
        self._out.clear()
        lost = self._window.drain()
        return [e.Lost([pending[1] for pending in lost])] if lost else []

    def next_deadline(self) -> float | None:
        """Returns when `handle_timers` is to be called next; it moves with every call of any method."""
        if self.closing:
            return None
        deadlines = [
            deadline
            for deadline in (
                self._window.next_deadline(),
                self._init_deadline,
                self._unbind_deadline,
                self._idle_deadline(),
                self._inactive_deadline(),
            )
            if deadline is not None
        ]
        return min(deadlines, default=None)

    def handle_timers(self, now: float) -> list[e.Event]:
        """Do what is due by `now`. Calling it early or late is harmless."""
        events: list[e.Event] = []
        if not self.closing:
            for sequence, pending in self._window.expire(now):
                self._on_timeout(sequence, pending, events)
            if self._unbind_sequence is not None:
                self._agree_when_settled(events)
            self._on_link_deadlines(now, events)
        return events

    # The rest is ours.

    def _enter(self, state: SessionState) -> None:
        self.state = state
        self._sendable = REQUESTS[self.role][state]
        self._acceptable = REQUESTS[self.role.peer][state]
        if state in BOUND:
            self._init_deadline = None

    def _settle(self) -> None:
        # An owner that answers twice must not make up for one that is yet to come.
        if self.unanswered:
            self.unanswered -= 1

    def _check(self, command_id: int) -> None:
        if command_id not in self._sendable:
            raise StateError(f"{c.command_name(command_id)} may not be sent by the {self.role} when {self.state}")

    def _put(self, command_id: int, status: int, sequence: int, body: bytes) -> None:
        self._out.append(codec.HEADER.pack(len(body) + 16, command_id, status, sequence) + body)

    def _close(self, reason: e.CloseReason, events: list[e.Event]) -> None:
        self.closing = True
        self._sendable = self._acceptable = _NOTHING
        events.append(e.Closing(reason))

    def _idle_deadline(self) -> float | None:
        if not self._options.enquire_interval or self._enquiring or not self.bound:
            return None
        return self._last_received + self._options.enquire_interval

    def _inactive_deadline(self) -> float | None:
        if not self._options.inactivity_timeout or not self.bound:
            return None
        return self._last_activity + self._options.inactivity_timeout

    def _on_link_deadlines(self, now: float, events: list[e.Event]) -> None:
        if self.closing:
            return
        if _due(self._init_deadline, now):
            self._close(e.CloseReason.BIND_TIMEOUT, events)
        elif _due(self._unbind_deadline, now):
            self._agree_to_unbind()
            events.append(e.Closing(e.CloseReason.UNBOUND))
        elif _due(self._inactive_deadline(), now):
            self._close(e.CloseReason.INACTIVE, events)
        elif _due(self._idle_deadline(), now):
            self.enquire_link(now)

    def _on_timeout(self, sequence: int, pending: Pending, events: list[e.Event]) -> None:
        command_id = pending[0]
        if command_id == c.ENQUIRE_LINK:
            self._enquiring = False
            # A peer that talks is alive, even if it thinks nothing of enquire_link.
            if not self._heard and not self.closing:
                self._close(e.CloseReason.LINK_DEAD, events)
        elif command_id in c.BIND_COMMANDS:
            self._close(e.CloseReason.BIND_TIMEOUT, events)
        elif command_id == c.UNBIND:
            self._close(e.CloseReason.UNBIND_TIMEOUT, events)
        else:
            events.append(e.TimedOut(pending[1], sequence))

    def _on_broken_stream(self, error: PduError, events: list[e.Event]) -> None:
        self._put(c.GENERIC_NACK, error.status, error.sequence, b"")
        events.append(e.ProtocolError(error))
        if not self.closing:
            self._close(e.CloseReason.PROTOCOL, events)
        self.state = SessionState.CLOSED

    def _on_response(self, frame: bytes, pending: Pending, sequence: int, status: int, events: list[e.Event]) -> None:
        """A response to a request that waited, other than submit_sm_resp."""
        command_id = pending[0]
        refused = frame[4:8] == b"\x80\0\0\0"
        if refused and status == 0:
            # A generic_nack says that something is wrong, whatever its status says.
            status = CommandStatus.ESME_RUNKNOWNERR
        if command_id == c.ENQUIRE_LINK:
            self._enquiring = False
            self._quiet_frames += 1
        elif command_id in c.BIND_COMMANDS:
            self._bind_pending = False
            if status:
                events.append(e.BindRefused(status))
            else:
                self._enter(BOUND_BY[command_id])
                events.append(e.Bound(self.state, cast("p.BindResp", codec.decode(frame))))
        elif command_id == c.UNBIND:
            events.append(e.Unbound(by_peer=False))
            if not self.closing:
                self._agree_to_unbind()
                self._close(e.CloseReason.UNBOUND, events)
        else:
            message_id = "" if refused else codec.split_message_id(frame)[0]
            events.append(e.Answered(pending[1], sequence, status, message_id, frame))

    def _on_unmatched(self, frame: bytes, command_id: int, sequence: int, status: int, events: list[e.Event]) -> None:
        decoder = codec.DECODERS.get(command_id)
        if decoder is not None:
            events.append(e.Unmatched(decoder(frame, sequence, status)))
            return
        # Responses are never answered, not even those nobody knows: two ends would do so for ever.
        error = PduError("unknown response", CommandStatus.ESME_RINVCMDID, command_id=command_id, sequence=sequence)
        events.append(e.ProtocolError(error))

    def _on_request(
        self, frame: bytes, command_id: int, sequence: int, status: int, now: float, events: list[e.Event]
    ) -> None:
        if self.closing:
            return
        if command_id not in self._acceptable or (self._bind_pending and command_id in c.BIND_COMMANDS):
            self._reject(self._out_of_place(command_id, sequence), events)
            return
        try:
            pdu = codec.DECODERS[command_id](frame, sequence, status)
        except PduError as error:
            self._reject(error, events)
            return
        if command_id == c.DELIVER_SM:
            self.unanswered += 1
            events.append(e.Delivered(cast("p.DeliverSm", pdu)))
        elif command_id == c.ENQUIRE_LINK:
            self._quiet_frames += 1
            self._put(c.ENQUIRE_LINK_RESP, 0, sequence, b"")
        elif command_id == c.UNBIND:
            self._on_unbind(sequence, now, events)
        else:
            self._on_owners_request(pdu, events)

    def _on_owners_request(self, pdu: p.Pdu, events: list[e.Event]) -> None:
        """A request that the owner answers, or that nobody does."""
        match pdu:
            case p.BindRequest():
                self._bind_pending = True
                self._init_deadline = None
                events.append(e.BindRequested(pdu))
            case p.AlertNotification():
                events.append(e.AlertReceived(pdu))
            case p.Outbind():
                events.append(e.OutbindReceived(pdu))
            case p.DataSm() if self.role is Role.ESME:
                self.unanswered += 1
                events.append(e.Delivered(pdu))
            case _:
                self.unanswered += 1
                events.append(e.RequestReceived(pdu))

    def _on_unbind(self, sequence: int, now: float, events: list[e.Event]) -> None:
        events.append(e.Unbound(by_peer=True))
        self.state = SessionState.UNBOUND
        self._sendable = REQUESTS[self.role][SessionState.UNBOUND]
        self._acceptable = REQUESTS[self.role.peer][SessionState.UNBOUND]
        self._unbind_sequence = sequence
        self._unbind_deadline = now + self._options.unbind_timeout
        self._agree_when_settled(events)

    @property
    def _is_settled(self) -> bool:
        """Whether nothing keeps us from answering the peer's unbind: all its requests are answered and, as an ESME, all
        of ours, which would otherwise be sent again though the message centre has them."""
        return not self.unanswered and (self.role is Role.MC or not self._window.in_flight)

    def _agree_when_settled(self, events: list[e.Event]) -> None:
        if self._is_settled and not self.closing:
            self._agree_to_unbind()
            events.append(e.Closing(e.CloseReason.UNBOUND))

    def _agree_to_unbind(self) -> None:
        """Answer the peer's unbind, after the answers it still waited for."""
        if self._unbind_sequence is not None:
            self._put(c.UNBIND_RESP, 0, self._unbind_sequence, b"")
        self.closing = True
        self._sendable = self._acceptable = _NOTHING

    def _out_of_place(self, command_id: int, sequence: int) -> PduError:
        if command_id not in p.PDU_TYPES:
            reason, status = "unknown command", CommandStatus.ESME_RINVCMDID
        elif command_id in c.BIND_COMMANDS and (self.bound or self._bind_pending):
            reason, status = "bound already", CommandStatus.ESME_RALYBND
        else:
            reason, status = f"not allowed when {self.state}", CommandStatus.ESME_RINVBNDSTS
        return PduError(reason, status, command_id=command_id, sequence=sequence)

    def _reject(self, error: PduError, events: list[e.Event]) -> None:
        """Answer a request that was not understood or is not allowed: SMPP v3.4, 4.3."""
        events.append(e.ProtocolError(error))
        if error.command_id in c.UNANSWERED_COMMANDS:
            return
        response_type = p.PDU_TYPES.get(error.command_id | c.RESPONSE_BIT)
        if response_type is None or response_type is p.GenericNack:
            self._put(c.GENERIC_NACK, error.status, error.sequence, b"")
        else:
            self._out.append(codec.encode(response_type(error.sequence, error.status)))


def _due(deadline: float | None, now: float) -> bool:
    return deadline is not None and deadline <= now
