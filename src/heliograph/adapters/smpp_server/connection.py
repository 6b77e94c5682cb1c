"""A client's connection and its session: reading, the bind, deliveries, writing, and the end.

    socket --portion--> Session --> bind_*           --> sign in (task) --> bind_*_resp, or an error and the end
                           |   +--> a request        --> `BoundClient` ----> its answer, after a commit
                           |   +--> deliver_sm_resp  --> `BindDeliverer`
                           v
    socket <-- one write a turn of the loop: answers, deliver_sm, enquire_link, unbind

Reading stops while any of these reasons holds (`_stop_reading`):

- `bind`: the sign-in is under way.
- `window`: as many requests as the account's window are unanswered (backpressure).
- `rest`: the account took too much of the loop's time (`overload`).
- `writing`: the client does not read what waits for it.
- `stopping`: we are about to unbind.
"""

import asyncio
from collections import deque
from collections.abc import Coroutine
from math import inf
from secrets import randbits
from typing import Any, Final, cast

from heliograph.adapters.smpp_server.bound_client import BoundClient
from heliograph.adapters.smpp_server.deliverer import BindDeliverer
from heliograph.adapters.smpp_server.overload import LEAST_REST_S, UnreadTime
from heliograph.adapters.smpp_server.registry import KINDS, Binds
from heliograph.adapters.smpp_server.resubmissions import unacknowledged
from heliograph.adapters.smpp_server.services import Services
from heliograph.app.configuration import Missing
from heliograph.app.notice import Notice
from heliograph.app.ports import Unavailable
from heliograph.app.records import BindState, CustomerBind
from heliograph.app.sending.directory import AccountView
from heliograph.domain.display import origin_of
from heliograph.domain.error import UNAVAILABLE, Fault
from heliograph.net.bounded_reader import BoundedReader
from heliograph.net.proxies import Address
from heliograph.net.proxy_protocol import ProxyHeader, ProxyHeaderError
from heliograph.smpp import constants as c
from heliograph.smpp import event as e
from heliograph.smpp import pdu as p
from heliograph.smpp import tlv
from heliograph.smpp.constants import CommandStatus, Role
from heliograph.smpp.session import Session, SessionOptions
from heliograph.smpp.state import BOUND_BY, SessionState

ENQUIRE_S: Final = 60.0
"""Seconds of silence after which a client is sent enquire_link."""

SILENCE_S: Final = 300.0
"""Seconds without a PDU after which a connection is dropped."""

UNBOUND_WINDOW: Final = 1
"""Requests that a connection may have open before it is bound."""

BIND_S: Final = 10.0
"""Seconds from the connection to the bind (session_init_timer, SMPP v3.4, 7.2)."""

ANSWER_S: Final = 30.0
"""Seconds for the answer to a deliver_sm."""

PORTION_OCTETS: Final = 4_096
"""Octets read from a client in a turn of the loop: forty submissions, or two submit_multi with 254 numbers. While a
customer sends over four binds without a pause, a turn takes some 10 ms, for which all other clients wait."""

MAX_UNREAD_OCTETS: Final = 1 << 20
"""Octets that may wait for a bound client that does not read. Beyond that its requests are not read either."""

MAX_UNREAD_BEFORE_BIND: Final = 1 << 14
"""The same for a client that is not bound: thousands of such clients must not fill the memory."""

MAX_OCTETS_BEFORE_BIND: Final = 2_048
"""Octets that a client may send until it is bound: a bind has fewer than 200. Each PDU before it costs an answer, and
nobody knows yet who asks."""

MAX_ERRORS: Final = 1_000
"""PDUs without sense after which a bound client is cut. A client that sends such a PDU now and then binds anew once."""

CLOSE_GRACE_S: Final = 2.0
"""Seconds that the last octets may take to leave before the connection is cut."""

ID_BITS: Final = 40
"""Bits of a bind's random id, which every node and JSON can hold."""


class EsmeConnection(asyncio.Protocol):
    """A connection, from its acceptance to its end. Implements `deliverer.DeliveringBind` once it is bound."""

    def __init__(self, services: Services, binds: Binds, deliverer: BindDeliverer, *, tls: bool) -> None:
        self._services = services
        self._binds = binds
        self._deliverer = deliverer
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._reader: BoundedReader | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = inf
        self._guard: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._flush_due = False
        self._unbound_octets = 0
        """Octets that came before the bind."""
        self._unread = UnreadTime()
        self._errors = 0
        """PDUs without sense that came."""
        self._reading_stopped: set[str] = set()
        self._stopping = False
        self._is_cut = False
        """Whether octets that waited for the client were thrown away."""
        self._peer: Address = ("", 0)
        self._header: ProxyHeader | None = None
        """Reads the client's address in the PROXY header of a trusted proxy; None once it is read."""
        self._client: BoundClient | None = None
        """Takes the requests, from the bind on."""
        self._answered: list[tuple[Notice, int]] = []
        self._state = BindState("unbound", "", tls, 0, 0)
        self._left: dict[int, list[bytes]] = {}
        """Bodies of parts that follow the answer to the part before, by the key of their notice."""
        self._waiting: deque[tuple[Notice, list[bytes]]] = deque()
        """Notices with such parts, between the answer and a free slot. The account's window may have become smaller."""
        self.session = Session(
            Role.MC,
            services.clock.monotonic(),
            SessionOptions(
                window=1,
                response_timeout=ANSWER_S,
                bind_timeout=BIND_S,
                enquire_interval=ENQUIRE_S,
                enquire_timeout=SILENCE_S - ENQUIRE_S,
            ),
        )
        self.id = randbits(ID_BITS)
        self.account = self.version = 0
        self.ended: asyncio.Future[None] = self._loop.create_future()

    # --- for the registry and the deliverer

    @property
    def room(self) -> int:
        """See `registry.Bind`."""
        session = self.session
        if session.state not in (SessionState.BOUND_RX, SessionState.BOUND_TRX) or "writing" in self._reading_stopped:
            return 0
        return session.room

    @property
    def state(self) -> BindState:
        """See `registry.Bind`."""
        state, session = self._state, self.session
        state.window, state.in_flight, state.unanswered = session.window_limit, session.in_flight, session.unanswered
        return state

    def deliver(self, notice: Notice, bodies: list[bytes]) -> None:
        """See `deliverer.DeliveringBind`."""
        self.session.send_request(c.DELIVER_SM, bodies[0], notice, self._services.clock.monotonic())
        if len(bodies) > 1:
            self._left[notice.key] = bodies[1:]
        self._flush_soon()

    @property
    def dedupe_s(self) -> int:
        """Seconds for which the account's submissions are found again; 0 is off."""
        return 0 if self._client is None else self._client.view.account.smpp.dedupe_s

    @property
    def host(self) -> str:
        """The host of the client; the proxy's until its header is read."""
        return self._peer[0]

    def unbind(self) -> None:
        """See `registry.Bind`."""
        self._stopping = True
        self._stop_reading("stopping")  # a client that goes on submitting would never have all its answers
        session = self.session
        if session.bound and not (session.closing or session.unanswered):
            session.unbind(self._services.clock.monotonic())
            self._flush()
            self._arm()
        if session.state is SessionState.UNBOUND and not session.closing:
            self._resume_reading("stopping")  # ours or the client's unbind is under way: answers are still due
        elif session.closing or not session.bound:
            self._flush()
            self._close()

    # --- the loop's callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername") or ("", 0)
        self._peer = (self._services.host_of(peer[0]), peer[1])
        self._transport.set_write_buffer_limits(MAX_UNREAD_BEFORE_BIND)
        trusted = not self._state.tls and self._services.proxies.trust(self._peer[0])
        self._header = ProxyHeader() if trusted else None
        self._binds.connections.enter(self, self._peer[0])
        self._reader = BoundedReader(self._transport, self._read, PORTION_OCTETS)
        self._arm()

    def data_received(self, data: bytes) -> None:
        self._unread.end(self._services.clock.monotonic())
        cast("BoundedReader", self._reader).feed(data)

    def pause_writing(self) -> None:
        self._stop_reading("writing")

    def resume_writing(self) -> None:
        self._resume_reading("writing")
        if self.account:
            self._deliverer.has_room(self.account)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._client is not None:
            if exc is None and not self._is_cut:
                self._client.given.mark()
                self.settle()
            self._client.lose()
        self._transport = None
        for timer in (self._timer, self._guard):
            if timer is not None:
                timer.cancel()
        for task in self._tasks:
            task.cancel()
        self._binds.connections.leave(self)
        self._binds.leave(self)
        self._tell_answers()
        self._handle(self.session.connection_lost())
        if self._waiting:
            self._deliverer.lost([notice for notice, _ in self._waiting])
        if self.account:
            self._services.start(self._leave())
            self._deliverer.unbound(self.account)
            self._services.journal.log("info", "esme.unbound", account=self._name, address=self._peer[0], bind=self.id)
        if not self.ended.done():
            self.ended.set_result(None)

    # --- reading

    def _read(self, data: bytes) -> None:
        if self._header is not None:
            try:
                rest = self._header.feed(data)
            except ProxyHeaderError as problem:
                self._note_error(str(problem))
                self.abort()
                return
            if rest is None:
                return
            self._peer, self._header, data = self._header.client or self._peer, None, rest
        if self.session.state is SessionState.OPEN:
            self._unbound_octets += len(data)
            if self._unbound_octets > MAX_OCTETS_BEFORE_BIND:
                self.abort()
                return
        client = self._client
        if client is not None and client.generation != self._services.directory.generation:
            client.generation = self._services.directory.generation
            self.start(self._refresh(client))
        now = self._services.clock.monotonic()
        shedding = None
        if client is not None and self._services.delay.is_long(now, self._unread.since):
            shedding = client.shedding
        self._handle(self.session.receive(data, now, shedding))
        self._tell_answers()
        if client is not None and self.session.bound:
            rest_s = client.rest_after(now)
            if rest_s > LEAST_REST_S:
                self._stop_reading("rest")
                self._loop.call_later(rest_s, self._end_rest)
        if self.session.unanswered >= self._window:
            self._stop_reading("window")
        self._flush()
        self._arm()

    def _end_rest(self) -> None:
        self._unread.note_rest(self._services.clock.monotonic())
        self._resume_reading("rest")

    def _handle(self, events: list[e.Event]) -> None:
        for event in events:
            match event:
                case e.RequestReceived(request):
                    self._on_request(request)
                case e.Shed(number):
                    cast("BoundClient", self._client).note_shed(number)
                case e.Answered(token, _, status):
                    self._on_answer(cast("Notice", token), status)
                case e.BindRequested(request):
                    self._stop_reading("bind")
                    self._services.start(self._sign_in(request))
                case e.TimedOut(token):
                    self._left.pop(token.key, None)
                    self._deliverer.unanswered(token, ANSWER_S)
                case e.Lost(tokens):
                    self._deliverer.lost(tokens)
                case e.Closing(reason):
                    if reason in (e.CloseReason.LINK_DEAD, e.CloseReason.UNBIND_TIMEOUT):
                        self.abort()  # the client does not read: an orderly close would never finish
                case e.ProtocolError(error):
                    self._note_error(str(error))
                case _:
                    pass  # late answers and unbinds need nothing of us
        while self._waiting and self.session.room:
            self.deliver(*self._waiting.popleft())

    def _on_answer(self, notice: Notice, status: int) -> None:
        left = self._left.pop(notice.key, None)
        if left is not None and status == 0:
            self._waiting.append((notice, left))
            return
        self._answered.append((notice, status))
        self._state.delivered += status == 0
        self._state.put_off += status != 0

    def _note_error(self, problem: str) -> None:
        """Logs the first PDU without sense of a connection: its client may send thousands in a second."""
        self._errors += 1
        if self._errors == 1:
            self._services.journal.log(
                "warning", "esme.protocol_error", account=self._name, address=self._peer[0], problem=problem
            )
        elif self._errors > MAX_ERRORS:
            self.abort()

    def _tell_answers(self) -> None:
        if not self._answered:
            return
        answers, self._answered = self._answered, []
        if self.session.room:
            self._deliverer.suspect(self.account)
        self._deliverer.answered(answers)

    def _stop_reading(self, why: str) -> None:
        if not self._reading_stopped and self._reader is not None:
            self._reader.pause()
        self._reading_stopped.add(why)

    def _resume_reading(self, why: str) -> None:
        if why in self._reading_stopped:
            self._reading_stopped.remove(why)
            if not self._reading_stopped and self._reader is not None and self._transport is not None:
                self._reader.resume()

    # --- the bind

    async def _sign_in(self, request: p.BindRequest) -> None:
        try:
            await self._bind(request)
        except Exception as problem:  # noqa: BLE001 - whatever it is, no timer ends a client that waits for its bind
            self._services.journal.log("error", "answer.failed", bind=self.id, **origin_of(problem))
            self.abort()

    async def _bind(self, request: p.BindRequest) -> None:
        generation = self._services.directory.generation
        status, view = await self._services.proven(request, self._peer[0], self.id)
        if self.session.closing or self.session.state is SessionState.CLOSED:
            return
        if view is not None:
            self.account = view.account.id
            status = await self._enter(view, KINDS[BOUND_BY[request.command_id]])
            if self._transport is None:
                await self._leave()
                return
        self._binds.counts.binds[status] += 1
        fields = {"system_id": request.system_id[:15], "address": self._peer[0], "bind": self.id}
        if status == 0:
            self._services.journal.log("info", "esme.bound", **fields)
        else:
            self._services.journal.log("warning", "esme.refused", **fields, status=CommandStatus.name_of(status))
        response = cast("type[p.BindResp]", p.PDU_TYPES[request.command_id | c.RESPONSE_BIT])
        if status:
            self.account = 0
            self.session.respond(response(request.sequence, status))
            self._flush()
            self._close()
            return
        view = cast("AccountView", view)
        self.version = request.interface_version
        self._client = BoundClient(self._services, self, self._binds.counts, self._state, view, generation)
        self.session.window_limit = view.account.smpp.window
        self._binds.connections.bound(self)
        if self._transport is not None:
            self._transport.set_write_buffer_limits(MAX_UNREAD_OCTETS)
        ours = tlv.make(tlv.SC_INTERFACE_VERSION, c.INTERFACE_VERSION_34)
        tlvs = (ours,) if self.version >= c.INTERFACE_VERSION_34 else ()
        self.session.respond(response(request.sequence, 0, tlvs, self._services.system_id))
        self._flush()
        self._arm()
        self._resume_reading("bind")
        if self.room:
            self._deliverer.has_room(self.account)
            self._services.wake()

    async def _enter(self, view: AccountView, kind: str) -> int:
        """Enters the bind here and in the store, which counts the binds of all nodes. Returns the status."""
        services = self._services
        self._state = BindState(kind, f"{self._peer[0]}:{self._peer[1]}", self._state.tls, services.clock.now(), 0)
        try:
            if view.account.smpp.dedupe_s:
                # Without the names of an earlier bind, a repeat could be charged a second time.
                await services.resubmissions.load(view.account.id, view.account.smpp.dedupe_s)
            entered = await services.store.enter(self.entry(), view.account.smpp.binds)
        except Missing:
            return CommandStatus.ESME_RSYSERR
        except Unavailable:
            services.departed.add(self.id)  # it may be there
            return CommandStatus.ESME_RSYSERR
        if not entered:
            return CommandStatus.ESME_RALYBND
        self._binds.enter(self)
        return CommandStatus.ESME_ROK

    def entry(self) -> CustomerBind:
        """Returns the bind as the store has it."""
        return CustomerBind(self.id, self.account, self._services.node, self._services.clock.now(), self.state)

    async def _leave(self) -> None:
        self._binds.leave(self)
        try:
            await self._services.store.leave(self.id)
        except Unavailable:
            self._services.departed.add(self.id)

    async def _refresh(self, client: BoundClient) -> None:
        """Reads the account again after a change of the configuration. Unbinds a client that may not stay, for example
        of a suspended account."""
        generation = self._services.directory.generation
        try:
            view = await self._services.directory.account(self._name)
        except Unavailable:
            client.generation = -1  # the next request tries again
            return
        networks = None if view is None or view.policy is None else view.policy.networks
        if (
            view is None
            or view.account.smpp.password_hash != client.view.account.smpp.password_hash
            or not (networks is None or networks.has(self._peer[0]))
        ):
            self.unbind()
        else:
            client.take_view(view, generation)
            self.session.window_limit = client.window

    # --- requests

    def _on_request(self, pdu: p.Pdu) -> None:
        client = cast("BoundClient", self._client)
        if self._stopping and self.session.state is SessionState.UNBOUND:
            # The client answers our unbind and closes: an answer that waits for a commit would be lost.
            client.refuse(pdu, Fault(UNAVAILABLE, "The bind ends; nothing was charged. Bind again, and send it again."))
        else:
            client.take(pdu)

    def send(self, response: p.Pdu) -> None:
        """See `bound_client.ClientConnection`."""
        self.session.respond(response)
        if "window" in self._reading_stopped and self.session.unanswered < self._window:
            self._unread.end(self._services.clock.monotonic())  # octets beyond the window may wait for any time
            self._resume_reading("window")
        if self._stopping and not self.session.unanswered:
            self.unbind()
        self._flush_soon()

    # --- writing, time and the end

    def _flush_soon(self) -> None:
        """Writes at the end of this turn of the loop: all answers of a commit leave together."""
        if not self._flush_due:
            self._flush_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_due = False
        data = self.session.data_to_send()
        if data and self._transport is not None:
            if self._client is not None:
                self._client.given.octets += len(data)
            self._transport.write(data)
        if self.session.closing:
            self._close()

    def _arm(self) -> None:
        """Sets the timer to the session's next deadline. Deadlines only move later while octets come, so a timer that
        fires too early is set again."""
        deadline = self.session.next_deadline()
        if deadline is not None and deadline < self._timer_at:
            if self._timer is not None:
                self._timer.cancel()
            self._timer_at = deadline
            wait = max(0.001, deadline - self._services.clock.monotonic())
            self._timer = self._loop.call_later(wait, self._on_timer)

    def _on_timer(self) -> None:
        self._timer, self._timer_at = None, inf
        self._handle(self.session.handle_timers(self._services.clock.monotonic()))
        self._flush()
        self._arm()

    def _close(self) -> None:
        if self._transport is not None and self._guard is None:
            self._transport.close()
            self._guard = self._loop.call_later(CLOSE_GRACE_S, self.abort)

    def abort(self) -> None:
        """Cuts the connection."""
        if self._transport is not None:
            self._is_cut = self._transport.get_write_buffer_size() > 0
            self._transport.abort()

    def settle(self) -> None:
        """Notes the answers that have arrived."""
        client = self._client
        if client is None or self._flush_due:
            return  # none is written yet, or some are not
        transport = cast("asyncio.Transport", self._transport)
        client.note_arrived(unacknowledged(transport) if client.given.names else 0)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """See `bound_client.ClientConnection`."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def _window(self) -> int:
        """Number of unanswered requests at which the client is no longer read."""
        return UNBOUND_WINDOW if self._client is None else self._client.window

    @property
    def _name(self) -> str:
        return "" if self._client is None else self._client.view.account.name
