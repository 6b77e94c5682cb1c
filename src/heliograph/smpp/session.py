"""An SMPP session of either role, without I/O: octets and the time come in, events and octets go out.

              receive(octets, now)                        data_to_send() -> octets
    socket ----------------------->  +----------------+  --------------------------> socket
              handle_timers(now)     |    Session     |
    timer  ----------------------->  | state + window |  <--- next_deadline() <------ timer
              connection_lost()      +----------------+
    socket ----------------------->    |          ^
                              events   v          |  bind, send_request, answer, respond, unbind
                                    owner (a carrier, or the simulator)

The owner has four duties:

1. Pass received octets to `receive`, and handle the events that it returns.
2. Write the octets of `data_to_send` after every call of any method.
3. Call `handle_timers` when `next_deadline` is reached.
4. Close the connection once `closing` is true and the last octets are written. Then call `connection_lost`.

`now` is in seconds of any monotonic clock.

The session answers enquire_link and unbind, tests idle links, and answers malformed PDUs. The owner answers binds and
messages, in its own time.
"""

from collections.abc import Iterable
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
    """Limits and timeouts of a session. All times are in seconds. SMPP v3.4, 7.2 names the timers."""

    window: int = 10
    """Requests that may wait for a response at once. enquire_link, bind and unbind do not count."""
    response_timeout: float = 30.0
    bind_timeout: float = 10.0
    """ESME: for the answer to a bind. Message centre: from the connection to the bind (session_init_timer).
    """
    unbind_timeout: float = 5.0
    """Seconds for the answer to our unbind, and for all other answers still due when the peer unbinds."""
    enquire_interval: float = 30.0
    """Seconds without a received octet after which an enquire_link is sent; 0: never."""
    enquire_timeout: float | None = None
    """Seconds to wait for any octet after an enquire_link; None: the same as `enquire_interval`."""
    inactivity_timeout: float = 0.0
    """Seconds after which a bound link is closed if only enquire_link is exchanged (inactivity_timer); 0: never."""
    max_pdu_octets: int = c.MAX_PDU_OCTETS
    first_sequence: int = 1


class Shedding:
    """Prepared refusals of requests: only the sequence number is filled in. A request is refused without a look at its
    body, at a fiftieth of the cost of a request that is read."""

    __slots__ = ("_frames",)

    def __init__(self, responses: Iterable[p.Pdu]) -> None:
        """`responses`: one for each kind of request that is refused."""
        self._frames: dict[int, tuple[bytes, bytes]] = {}
        for response in responses:
            frame = codec.encode(response)
            self._frames[response.command_id & ~c.RESPONSE_BIT] = frame[:12], frame[16:]

    def answer(self, command_id: int, sequence: bytes) -> bytes | None:
        """Returns the answer to a request with these octets as its sequence number; None if it is not refused."""
        found = self._frames.get(command_id)
        return None if found is None else found[0] + sequence + found[1]


class Session:
    """A session as described at the top of this module. Methods that send raise `StateError` if the state forbids the
    PDU.
    """

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
        """Requests of the peer that the owner has not answered yet. The owner should stop reading if there are too
        many."""
        self._enter(SessionState.OPEN)

    # State that the owner reads.

    @property
    def bound(self) -> bool:
        return self.state in BOUND

    @property
    def in_flight(self) -> int:
        """Our requests that wait for a response, without enquire_link, bind and unbind."""
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
        """Sets the limit of the window. Requests under way stay, even beyond a smaller limit."""
        self._window.limit = limit

    def may_send(self, command_id: int) -> bool:
        """Whether the state allows a request of this kind now, full window or not."""
        return command_id in self._sendable

    def data_to_send(self) -> bytes:
        """Returns all octets to be written since the last call, joined."""
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
        """Sends a request with an encoded body (TLVs included). Returns its sequence number.

        Exactly one event, `Answered`, `TimedOut` or `Lost`, returns `token` later. Raises `WindowFullError` if `room`
        is 0.
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
        """Sends a PDU that has no response, as a message centre."""
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
        """Sends the response to a request of the peer. The response carries the request's sequence number.

        Returns False if the link closed in the meantime: the response is lost, and the peer may repeat its request. A
        bind_resp with ESME_ROK binds the session.
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
        """Sends octets unchanged and without checks, for peers that misbehave on purpose."""
        self._out.append(octets)

    # Events of the connection.

    def receive(self, data: bytes, now: float, shedding: Shedding | None = None) -> list[e.Event]:
        """Handles received octets. `shedding` refuses some requests unread: `Shed` has their number."""
        if self.state is SessionState.CLOSED:
            return []
        events: list[e.Event] = []
        frames = self._framer.feed(data)
        if frames:
            self._last_received = now
            self._heard = True
            self._quiet_frames = 0
            close = self._window.close
            if shedding is not None:
                frames = self._shed(frames, shedding, now, events)
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
        """Handles the end of the connection. `Lost` has the tokens of all requests that waited, if any."""
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
        """Handles all timeouts up to `now`. A call too early or too late does no harm."""
        events: list[e.Event] = []
        if not self.closing:
            for sequence, pending in self._window.expire(now):
                self._on_timeout(sequence, pending, events)
            if self._unbind_sequence is not None:
                self._agree_when_settled(events)
            self._on_link_deadlines(now, events)
        return events

    # Inside the session.

    def _enter(self, state: SessionState) -> None:
        self.state = state
        self._sendable = REQUESTS[self.role][state]
        self._acceptable = REQUESTS[self.role.peer][state]
        if state in BOUND:
            self._init_deadline = None

    def _settle(self) -> None:
        # If an owner answers one request twice, the second answer must not count for another request that still waits.
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
            # A peer that sends is alive, even if it rejects enquire_link.
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
            # A generic_nack is an error, even with the status ESME_ROK.
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

    def _shed(self, frames: list[bytes], shedding: Shedding, now: float, events: list[e.Event]) -> list[bytes]:
        """Refuses the requests that `shedding` names; returns the other frames."""
        left: list[bytes] = []
        for frame in frames:
            command_id = int.from_bytes(frame[4:8], "big")
            answer = shedding.answer(command_id, frame[12:16]) if command_id in self._acceptable else None
            if answer is None:
                left.append(frame)
            else:
                self._out.append(answer)
        if len(left) < len(frames):
            self._last_activity = now
            events.append(e.Shed(len(frames) - len(left)))
        return left

    def _on_unmatched(self, frame: bytes, command_id: int, sequence: int, status: int, events: list[e.Event]) -> None:
        decoder = codec.DECODERS.get(command_id)
        if decoder is not None:
            events.append(e.Unmatched(decoder(frame, sequence, status)))
            return
        # Unknown responses are ignored. If both ends answered them with generic_nack, they would do so for ever.
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
        """Handles a request that the owner answers, or an unknown request, which gets a generic_nack."""
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
        """True if the peer's unbind may be answered now.

        All requests of the peer must be answered. An ESME also waits for the responses to its own requests: otherwise
        it would send messages again that the message centre already has.
        """
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
