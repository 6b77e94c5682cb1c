"""One connection to the simulated operator."""

import asyncio
from collections import deque
from typing import Final, Protocol, cast

from heliograph.simulator.behaviour import Behaviour
from heliograph.simulator.outlet import PACE_S, Outlet, pieces
from heliograph.smpp import codec
from heliograph.smpp import constants as c
from heliograph.smpp import event as e
from heliograph.smpp.constants import Role
from heliograph.smpp.pdu import Pdu
from heliograph.smpp.session import Session, SessionOptions
from heliograph.smpp.state import State

MAX_UNANSWERED: Final = 10_000
"""Requests of one peer that wait for our answers; it is not read from while there are more."""


class Centre(Protocol):
    """The message centre that a link belongs to."""

    def opened(self, link: "Link") -> None: ...

    def happened(self, link: "Link", event: e.Event, now: float) -> None: ...

    def closed(self, link: "Link") -> None: ...

    def settled(self) -> None:
        """Everything that one read brought has happened: write what is to be written."""


class Link(asyncio.Protocol):
    """Feeds a session with what comes, writes what it has to say, and can fall silent or be cut."""

    def __init__(self, centre: Centre, behaviour: Behaviour, number: int, loop: asyncio.AbstractEventLoop) -> None:
        self._centre = centre
        self._behaviour = behaviour
        self._loop = loop
        self._outlet: Outlet | None = None
        self._transport: asyncio.Transport | None = None
        self._inbound: deque[bytes] = deque()
        self._taking_in: asyncio.TimerHandle | None = None
        self._reading_stops: set[str] = set()
        self._finished = False
        self.number = number
        self.system_id = ""
        """Of the bind; empty before it."""
        self.submits = 0
        """How many messages came."""
        self.silent = False
        """Half open: nothing is heard and nothing is said."""
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
        """How many more deliver_sm it takes now."""
        if self.silent or not self.session.may_send(c.DELIVER_SM):
            return 0
        return self.session.room

    @property
    def receives(self) -> bool:
        """Whether it is bound so that receipts may come on it, be there room or not."""
        return self.session.state in (State.BOUND_RX, State.BOUND_TRX)

    def now(self) -> float:
        """The time by the clock of the sessions, in seconds."""
        return self._loop.time()

    # What the message centre does with it.

    def respond(self, response: Pdu) -> None:
        if not self.silent and self.session.respond(response) and "unanswered" in self._reading_stops:
            self._mind_unanswered()

    def respond_bodyless(self, request: Pdu) -> None:
        """Answer ESME_ROK with a header alone, which the core would never do."""
        if not self.silent and self.alive:
            self.session.send_octets(
                codec.HEADER.pack(c.HEADER_OCTETS, request.command_id | c.RESPONSE_BIT, 0, request.sequence)
            )
            self.forget_request()

    def forget_request(self) -> None:
        """A request is never answered by the session: it is not to wait for it."""
        self.session.unanswered -= 1

    def cut(self) -> None:
        """End the connection without a word, after what was said before."""
        self.session.closing = True
        self.flush()

    def abort(self) -> None:
        """End the connection at once, whatever is under way."""
        self.session.closing = self._finished = True
        if self._transport is not None:
            self._transport.abort()

    def fall_silent(self) -> None:
        """Half open from now on: what comes is thrown away, and nothing is said; the connection stays."""
        self.flush()
        self.silent = True

    def unbind(self) -> None:
        """Ask the peer to end the session; a link that is not bound is closed."""
        if self.silent:
            self.abort()
        elif self.session.may_send(c.UNBIND):
            self.session.unbind(self._loop.time())
            self.flush()
        elif self.session.state is not State.UNBOUND:
            self.cut()

    def flush(self) -> None:
        """Write what the session has to say, and close the connection where it wants that."""
        if self.silent or self._outlet is None or self._finished:
            return
        data = self.session.data_to_send()
        if data:
            self._outlet.write(data)
        if self.session.closing:
            self._finished = True
            self._outlet.finish()

    def tick(self, now: float) -> None:
        """Do what is due."""
        if not self.silent:
            self._tell(self.session.handle_timers(now), now)
            self.flush()

    # What the connection does.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        b = self._behaviour
        self._transport = cast("asyncio.Transport", transport)
        self._outlet = Outlet(
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
        if self._outlet is not None:
            self._outlet.abandon()
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
        self._go_on_reading("writing")

    # The rest is ours.

    def _receive(self, data: bytes) -> None:
        if self.silent or self.session.closing:
            return
        now = self._loop.time()
        self._tell(self.session.receive(data, now), now)
        if self.session.unanswered > MAX_UNANSWERED:
            self._mind_unanswered()
        self.flush()
        self._centre.settled()

    def _tell(self, events: list[e.Event], now: float) -> None:
        for event in events:
            # an event may have cut the link or silenced it
            if self.silent or self._finished:
                return
            self._centre.happened(self, event, now)

    def _take_in(self) -> None:
        """A slow link: hear a piece, and the next one when the link has carried it."""
        self._taking_in = None
        if not self._inbound:
            self._go_on_reading("slow")
            return
        self._stop_reading("slow")
        piece = self._inbound.popleft()
        self._taking_in = self._loop.call_later(len(piece) / self._behaviour.bytes_per_s, self._take_in)
        self._receive(piece)

    def _mind_unanswered(self) -> None:
        if self.session.unanswered > MAX_UNANSWERED:
            self._stop_reading("unanswered")
        else:
            self._go_on_reading("unanswered")

    def _stop_reading(self, why: str) -> None:
        if not self._reading_stops and self._transport is not None:
            self._transport.pause_reading()
        self._reading_stops.add(why)

    def _go_on_reading(self, why: str) -> None:
        if why not in self._reading_stops:
            return
        self._reading_stops.remove(why)
        if not self._reading_stops and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()
