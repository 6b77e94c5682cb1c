"""A connection to the simulated operator."""

import asyncio
from collections import deque
from typing import Final, Protocol, cast

from heliograph.simulator.behaviour import Behaviour
from heliograph.simulator.writer import PACE_S, LinkWriter, pieces
from heliograph.smpp import codec
from heliograph.smpp import constants as c
from heliograph.smpp import event as e
from heliograph.smpp.constants import Role
from heliograph.smpp.pdu import Pdu
from heliograph.smpp.session import Session, SessionOptions
from heliograph.smpp.state import SessionState

MAX_UNANSWERED: Final = 10_000
"""Unanswered requests of a peer above which the link stops reading from it."""


class MessageCentre(Protocol):
    """The message centre that a link belongs to."""

    def opened(self, link: "SimulatorLink") -> None: ...

    def happened(self, link: "SimulatorLink", event: e.Event, now: float) -> None: ...

    def closed(self, link: "SimulatorLink") -> None: ...

    def settled(self) -> None:
        """Called after all events of one read: writes the pending octets."""


class SimulatorLink(asyncio.Protocol):
    """Connects a session with its socket. The link can fall silent or be cut, as the behaviour asks."""

    def __init__(
        self, centre: MessageCentre, behaviour: Behaviour, number: int, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._centre = centre
        self._behaviour = behaviour
        self._loop = loop
        self._writer: LinkWriter | None = None
        self._transport: asyncio.Transport | None = None
        self._inbound: deque[bytes] = deque()
        self._taking_in: asyncio.TimerHandle | None = None
        self._reading_stops: set[str] = set()
        self._finished = False
        self.number = number
        self.system_id = ""
        """System id of the bind; empty before it."""
        self.submits = 0
        """Messages received so far."""
        self.silent = False
        """Half open: the link ignores received octets and sends none."""
        self.session = Session(
            Role.MC,
            loop.time(),
            SessionOptions(
                window=behaviour.deliver_window,
                response_timeout=behaviour.deliver_timeout_ms / 1000,
                enquire_interval=behaviour.enquire_interval_ms / 1000,
            ),
        )

    @property
    def alive(self) -> bool:
        """False once the connection is gone, or going."""
        return self._transport is not None and not self.session.closing

    @property
    def room(self) -> int:
        """Number of further deliver_sm that the window takes now."""
        if self.silent or not self.session.may_send(c.DELIVER_SM):
            return 0
        return self.session.room

    @property
    def receives(self) -> bool:
        """Whether receipts may come on this bind, whether or not its window has room."""
        return self.session.state in (SessionState.BOUND_RX, SessionState.BOUND_TRX)

    def now(self) -> float:
        """The time by the clock of the sessions, in seconds."""
        return self._loop.time()

    # Calls of the message centre.

    def respond(self, response: Pdu) -> None:
        if not self.silent and self.session.respond(response) and "unanswered" in self._reading_stops:
            self._mind_unanswered()

    def respond_bodyless(self, request: Pdu) -> None:
        """Answers ESME_ROK with a header alone, a response that the session itself never sends."""
        if not self.silent and self.alive:
            self.session.send_octets(
                codec.HEADER.pack(c.HEADER_OCTETS, request.command_id | c.RESPONSE_BIT, 0, request.sequence)
            )
            self.forget_request()

    def forget_request(self) -> None:
        """Tells the session that a request stays unanswered."""
        self.session.unanswered -= 1

    def cut(self) -> None:
        """Writes the pending octets, then closes without unbind."""
        self.session.closing = True
        self.flush()

    def abort(self) -> None:
        """Closes the connection at once and drops the pending octets."""
        self.session.closing = self._finished = True
        if self._transport is not None:
            self._transport.abort()

    def fall_silent(self) -> None:
        """Makes the link half open: input is dropped, nothing is sent, the connection stays."""
        self.flush()
        self.silent = True

    def unbind(self) -> None:
        """Asks the peer to end the session; closes a link that is not bound."""
        if self.silent:
            self.abort()
        elif self.session.may_send(c.UNBIND):
            self.session.unbind(self._loop.time())
            self.flush()
        elif self.session.state is not SessionState.UNBOUND:
            self.cut()

    def flush(self) -> None:
        """Writes the session's output, and closes the connection if the session is closing."""
        if self.silent or self._writer is None or self._finished:
            return
        data = self.session.data_to_send()
        if data:
            self._writer.write(data)
        if self.session.closing:
            self._finished = True
            self._writer.finish()

    def tick(self, now: float) -> None:
        """Handles the session's timers."""
        if not self.silent:
            self._dispatch(self.session.handle_timers(now), now)
            self.flush()

    # Calls of the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        b = self._behaviour
        self._transport = cast("asyncio.Transport", transport)
        self._writer = LinkWriter(
            self._loop,
            self._transport,
            split_octets=b.split_octets,
            merge_ms=b.merge_ms,
            bytes_per_s=b.bytes_per_s,
        )
        self._centre.opened(self)

    def data_received(self, data: bytes) -> None:
        rate = self._behaviour.bytes_per_s
        if not rate:
            self._receive(data)
            return
        self._inbound.extend(pieces(data, max(1, int(rate * PACE_S))))
        if self._taking_in is None:
            self._take_in()

    def eof_received(self) -> bool:
        # a half-open link stays as it is, whatever the peer does
        return self.silent

    def connection_lost(self, _reason: Exception | None) -> None:
        self._transport = None
        if self._writer is not None:
            self._writer.abandon()
        if self._taking_in is not None:
            self._taking_in.cancel()
        now = self._loop.time()
        for event in self.session.connection_lost():
            self._centre.happened(self, event, now)
        self._centre.closed(self)
        self._centre.settled()

    def pause_writing(self) -> None:
        self._stop_reading("writing")

    def resume_writing(self) -> None:
        self._resume_reading("writing")

    def _receive(self, data: bytes) -> None:
        if self.silent or self.session.closing:
            return
        now = self._loop.time()
        self._dispatch(self.session.receive(data, now), now)
        if self.session.unanswered > MAX_UNANSWERED:
            self._mind_unanswered()
        self.flush()
        self._centre.settled()

    def _dispatch(self, events: list[e.Event], now: float) -> None:
        for event in events:
            # an event may have cut the link or silenced it
            if self.silent or self._finished:
                return
            self._centre.happened(self, event, now)

    def _take_in(self) -> None:
        """Receives the next piece on a slow link. The following piece waits until the link has carried this piece."""
        self._taking_in = None
        if not self._inbound:
            self._resume_reading("slow")
            return
        self._stop_reading("slow")
        piece = self._inbound.popleft()
        self._taking_in = self._loop.call_later(len(piece) / self._behaviour.bytes_per_s, self._take_in)
        self._receive(piece)

    def _mind_unanswered(self) -> None:
        if self.session.unanswered > MAX_UNANSWERED:
            self._stop_reading("unanswered")
        else:
            self._resume_reading("unanswered")

    def _stop_reading(self, why: str) -> None:
        if not self._reading_stops and self._transport is not None:
            self._transport.pause_reading()
        self._reading_stops.add(why)

    def _resume_reading(self, why: str) -> None:
        if why not in self._reading_stops:
            return
        self._reading_stops.remove(why)
        if not self._reading_stops and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()
