"""A connection to an operator and its session, from the bind request to the end.

All work is done in callbacks of the loop. Each callback writes its output once, at its end. A single timer serves all
deadlines of the connection.
"""

import asyncio
from collections import deque
from collections.abc import Iterable
from math import inf
from typing import Final, Protocol, cast

from heliograph.adapters.smpp.context import BindContext
from heliograph.adapters.smpp.dial import send_at_once
from heliograph.adapters.smpp.messages import NOT_READ, why_closed, why_refused
from heliograph.adapters.smpp.outcome import outcome_of
from heliograph.adapters.smpp.queries import WINDOW_SHARE
from heliograph.adapters.smpp.receipts import ReceiptReceiver
from heliograph.app.facts import NOT_SENT
from heliograph.app.ports import Accepted, Deferred, Outcome, Part, Question, Refused, Unknown
from heliograph.app.ports.carrier_state import BindCounters
from heliograph.domain.message.ids import to_hex
from heliograph.domain.message.operator_id import kept
from heliograph.domain.message.receipt import NO_CODE, Delivery
from heliograph.net.bounded_reader import BoundedReader
from heliograph.smpp import constants as c
from heliograph.smpp import event as e
from heliograph.smpp import pdu as p
from heliograph.smpp.constants import CommandStatus, Role
from heliograph.smpp.error import FieldError
from heliograph.smpp.session import Session, SessionOptions
from heliograph.smpp.state import SessionState

BARE_OCTETS: Final = 17
"""Octets of a submit_sm_resp without optional parameters, beyond its message_id."""

MAX_LATE: Final = 1_000
"""Most parts of a connection that still accept a late answer after their timeout."""

MAX_UNREAD_OCTETS: Final = 1 << 20
"""Octets that may wait for an operator that does not read. Beyond that its requests are not read either, because each
of them makes an answer. A window of 1,000 ordinary messages fits, or 50,000 answers to receipts."""

SILENT_SHARE: Final = 1 / 3
"""Share of `response_timeout_s` after which an operator that answers nothing is called silent."""

CLOSE_GRACE_S: Final = 2.0
"""Seconds that the last octets may take to leave before the connection is cut."""


class ConnectionOwner(Protocol):
    """The owner of a connection."""

    def on_bound(self) -> None:
        """Called when the session is bound."""

    def on_unbound(self) -> None:
        """Called when a bound session stops taking new parts; answers may still come."""


class BindConnection(asyncio.Protocol):
    """`ended` has its result once the connection is gone and every part has its outcome."""

    __slots__ = (
        "_closing", "_context", "_counters", "_guard", "_late", "_loop", "_owner", "_quiet",
        "_reader", "_receipts", "_request", "_sampled", "_stalled", "_timer", "_timer_at", "_transport",
        "answer_s", "asked", "ended", "reason", "refused", "session", "unanswered_since", "up", "waiting", "was_bound",
    )  # fmt: skip

    def __init__(
        self,
        context: BindContext,
        owner: ConnectionOwner,
        request: p.BindRequest,
        counters: BindCounters,
        bind_timeout: float,
    ) -> None:
        timings = context.timings
        self._context = context
        self._owner = owner
        self._request = request
        self._counters = counters
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._reader: BoundedReader | None = None
        self._stalled: asyncio.TimerHandle | None = None
        """Timer that runs while the operator does not read. When it fires, the connection ends."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = inf
        self._guard: asyncio.TimerHandle | None = None
        self._closing = False
        self._quiet: asyncio.Future[None] | None = None
        self._sampled: tuple[Part, float] | None = None
        self._late: dict[int, Part] = {}
        self.session = Session(
            Role.ESME,
            context.clock.monotonic(),
            SessionOptions(
                window=context.connector.window,
                response_timeout=timings.response_timeout_s,
                bind_timeout=bind_timeout,
                unbind_timeout=timings.unbind_timeout_s,
                enquire_interval=timings.enquire_interval_s,
                enquire_timeout=timings.enquire_timeout_s or None,
            ),
        )
        self._receipts = ReceiptReceiver(context, self.session, counters, self._flush)
        self.waiting: deque[Part] = deque()
        """Parts that follow others to the same recipient and find this window full."""
        self.asked = 0
        """Questions in the window."""
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self.up = False
        self.was_bound = False
        self.refused: int | None = None
        self.reason = ""
        self.answer_s: float | None = None
        """Seconds that a recent submit_sm took to be answered."""
        self.unanswered_since: float | None = None
        """Monotonic time since which an answer is due without any answer to a submit_sm; None if no answer is due."""

    @property
    def transmits(self) -> bool:
        """Whether the connection is bound and takes submit_sm now."""
        return self.up and self.session.state is not SessionState.BOUND_RX

    @property
    def free(self) -> int:
        """Window slots that are neither in use nor reserved."""
        return self.session.room - len(self.waiting)

    @property
    def parts_in_flight(self) -> int:
        """Parts that wait for their answer."""
        return self.session.in_flight - self.asked

    @property
    def can_ask(self) -> bool:
        """Whether a slot is free for a query, and no part waits for it."""
        most = max(1, self.session.window_limit // WINDOW_SHARE)
        return self.transmits and self.asked < most and self.free > 0 and self._stalled is None

    @property
    def stalled(self) -> bool:
        """Whether writing is paused, since the operator does not read (backpressure)."""
        return self._stalled is not None

    @property
    def silent_s(self) -> float:
        """Seconds for which the operator has answered no submit_sm, not even late; 0 if it owes no answer."""
        if self.unanswered_since is None or not self.up:
            return 0.0
        return self._context.clock.monotonic() - self.unanswered_since

    @property
    def silent(self) -> bool:
        """True if the operator has been silent for longer than SILENT_SHARE of the response timeout, more than a slow
        operator would be.
        """
        return self.silent_s >= self._context.timings.response_timeout_s * SILENT_SHARE

    # --- parts

    def submit(self, parts: Iterable[Part]) -> None:
        """Writes parts up to the free window slots, if the operator reads. The others wait here."""
        waiting = self.waiting
        waiting.extend(parts)
        self._submit_waiting()
        self._flush()

    def ask(self, question: Question) -> None:
        """Writes a query. A query that fits no PDU is dropped."""
        try:
            self.session.request(self._context.queries.pdu_of(question), question, self._context.clock.monotonic())
        except FieldError:
            return
        self.asked += 1
        self._context.queries.asked += 1
        self._flush()
        self._arm()

    def _submit_waiting(self) -> None:
        context, session, waiting = self._context, self.session, self.waiting
        count = min(len(waiting), session.room)
        if count <= 0 or self._stalled is not None:
            return
        now, now_ms = context.clock.monotonic(), context.clock.now()
        if now >= context.lease_end.at:
            return  # The bind is about to be taken down; its parts then come back as not sent.
        body, send = context.encoder.body, session.send_request
        take = waiting.popleft
        if self._sampled is None:
            self._sampled = (waiting[0], now)
        if self.unanswered_since is None:
            self.unanswered_since = now
        for _ in range(count):
            part = take()
            try:
                octets = body(part, now_ms)
            except FieldError as error:
                if self._sampled is not None and self._sampled[0] is part:
                    self._sampled = None
                message = to_hex(part.message.key, part.message.tail)
                context.log_once("error", "smpp.cannot_be_sent", message=message, error=error)
                self._loop.call_soon(self._end, part, Refused(NOT_SENT, Delivery.REJECTD, NO_CODE))
            else:
                send(c.SUBMIT_SM, octets, part, now)
        self._counters.submitted += count
        due = now + context.timings.response_timeout_s
        if due < self._timer_at:
            self._arm_at(due)

    def _end(self, part: Part, outcome: Outcome) -> None:
        """Passes on the outcome of a part. `_read` has the same code inline, for the hot path."""
        match outcome:
            case Accepted():
                self._counters.accepted += 1
            case Deferred():
                self._counters.deferred += 1
            case Refused():
                self._counters.refused += 1
            case Unknown():
                self._counters.unknown += 1
        if self._context.settled is not None:
            self._context.settled(part)
        self._context.events.on_outcome(part, outcome)

    def _on_refusal(self, event: e.Answered) -> None:
        """Handles an answer with an error status, such as ESME_RTHROTTLED, or with a status that the connector
        overrides."""
        context, status = self._context, event.status
        outcome = outcome_of(status, event.message_id, context.dialect.outcomes)
        if isinstance(outcome, Deferred) and outcome.throttled:
            self._counters.throttled += 1
        context.refusal_log.answered(status, outcome)
        self._end(event.token, outcome)
        if status == CommandStatus.ESME_RINVBNDSTS and self.up:
            self.unbind("the operator sees the link as unbound")

    # --- the loop's callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        send_at_once(self._transport)
        self._transport.set_write_buffer_limits(MAX_UNREAD_OCTETS, MAX_UNREAD_OCTETS * 3 // 4)
        self._reader = BoundedReader(self._transport, self._read)
        try:
            self.session.bind(self._request, self._context.clock.monotonic())
        except FieldError as error:
            self.reason = f"the bind cannot be written: {error}"
            self._close()
            return
        self._flush()
        self._arm()

    def data_received(self, data: bytes) -> None:
        cast("BoundedReader", self._reader).feed(data)

    def pause_writing(self) -> None:
        """Pauses reading as well, and sets the timer that ends the connection unless the operator reads again."""
        cast("BoundedReader", self._reader).pause()
        self._stalled = self._loop.call_later(self._context.timings.response_timeout_s, self._cut_off)

    def resume_writing(self) -> None:
        """Resumes reading, and submits the parts that waited."""
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
        cast("BoundedReader", self._reader).resume()
        if self.waiting and self.transmits:
            self._submit_waiting()
            self._flush()

    def _cut_off(self) -> None:
        self.reason = self.reason or NOT_READ
        self.abort()

    def _read(self, data: bytes) -> None:
        now = self._context.clock.monotonic()
        on_outcome, settled = self._context.events.on_outcome, self._context.settled
        overrides = self._context.dialect.outcomes
        accepted = 0
        answered = rare = False
        for event in self.session.receive(data, now):
            if type(event) is e.Answered and type(event.token) is not Question:
                answered = True
                if len(event.frame) > len(event.message_id) + BARE_OCTETS and event.congestion is not None:
                    self._context.events.on_congestion(event.congestion)
                if self._sampled is not None and self._sampled[0] is event.token:
                    self.answer_s = now - self._sampled[1]
                    self._sampled = None
                if event.status or 0 in overrides:
                    self._on_refusal(event)
                    continue
                accepted += 1
                part: Part = event.token
                if settled is not None:
                    settled(part)
                on_outcome(part, Accepted(kept(event.message_id)))
            elif type(event) is e.Delivered:
                self._receipts.receive(event.request)
            else:
                rare = True
                self._on_event(event)
        if answered:
            self._heard(now)
        if accepted:
            self._counters.accepted += accepted
        if self.waiting and self.transmits:
            self._submit_waiting()
        self._flush()
        if rare:
            self._arm()

    def _heard(self, now: float) -> None:
        """Restarts `unanswered_since`: the other parts in flight are assumed to have waited since this answer."""
        self.unanswered_since = now if self.parts_in_flight else None

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._down()
        if self._reader is not None:
            self._reader.finish()
        self._cancel_timers()
        events = self.session.connection_lost()
        if not self.reason:
            self.reason = f"the connection broke: {exc}" if exc else "the operator closed the connection"
        self._down()
        for event in events:
            if isinstance(event, e.Lost):
                for token in event.tokens:
                    if type(token) is not Question:
                        self._end(cast("Part", token), Unknown(self.reason))
        self._tell_quiet()
        if not self.ended.done():
            self.ended.set_result(None)

    def _on_event(self, event: e.Event) -> None:
        """Handles the rarer events of a session."""
        counters = self._counters
        match event:
            case e.Answered() | e.TimedOut() if type(event.token) is Question:
                self._on_question(event)
            case e.TimedOut(token, sequence):
                self._on_timeout(cast("Part", token), sequence)
            case e.Bound():
                self.up = self.was_bound = True
                self._owner.on_bound()
            case e.BindRefused(status):
                self.refused, self.reason = status, why_refused(status)
                self._close()
            case e.Closing(reason):
                self.reason = self.reason or (NOT_READ if self._stalled is not None else why_closed(reason))
                self._down()
                if reason in (e.CloseReason.LINK_DEAD, e.CloseReason.BIND_TIMEOUT, e.CloseReason.UNBIND_TIMEOUT):
                    # The operator does not read, so an orderly close would never finish.
                    self.abort()
            case e.Unbound(by_peer):
                self._receipts.ended_well = True
                if by_peer:
                    self.reason = "the operator unbound the link"
                self._down()
            case e.Unmatched(response):
                counters.late_answers += 1
                self._on_late(response)
            case e.ProtocolError(error):
                counters.protocol_errors += 1
                self._context.log_once("warning", "smpp.protocol_error", error=error)
            case _:
                pass  # alert_notification and outbind ask nothing of us

    def _on_timeout(self, part: Part, sequence: int) -> None:
        self._sampled = None
        self._late[sequence] = part
        if len(self._late) > MAX_LATE:
            del self._late[next(iter(self._late))]
        self._context.refusal_log.unanswered()
        self._end(part, Unknown(f"no answer in {self._context.timings.response_timeout_s:g} s"))
        if not self.parts_in_flight:
            self.unanswered_since = None  # otherwise an idle link would count as silent until the next answer

    def _on_question(self, event: e.Answered | e.TimedOut) -> None:
        self.asked -= 1
        if isinstance(event, e.Answered):
            self._context.queries.answered(event.token, event)
        else:
            self._context.queries.unanswered()

    def _on_late(self, response: p.Pdu) -> None:
        if not isinstance(response, p.SubmitSmResp):
            return
        self._heard(self._context.clock.monotonic())
        part = self._late.pop(response.sequence, None)
        if part is not None:
            outcome = outcome_of(response.status, response.message_id, self._context.dialect.outcomes)
            self._context.events.on_late(part, outcome)

    # --- writing, time and the end

    def _flush(self) -> None:
        self._receipts.flush_due = False
        data = self.session.data_to_send()
        if data and self._transport is not None:
            self._transport.write(data)
        if self.session.closing:
            self._close()
        if self._quiet is not None:
            self._tell_quiet()

    def _arm(self) -> None:
        """Sets the timer to the session's next deadline, unless it fires earlier; then it is set again at that time.

        Deadlines only move later, with one exception: an answered enquire_link starts the next interval. So the timer
        is never more than an interval ahead.
        """
        deadline = self.session.next_deadline()
        if deadline is None:
            return
        interval = self._context.timings.enquire_interval_s
        if interval:
            deadline = min(deadline, self._context.clock.monotonic() + interval)
        if deadline < self._timer_at:
            self._arm_at(deadline)

    def _arm_at(self, deadline: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = deadline
        self._timer = self._loop.call_later(max(0.001, deadline - self._context.clock.monotonic()), self._on_timer)

    def _on_timer(self) -> None:
        self._timer, self._timer_at = None, inf
        for event in self.session.handle_timers(self._context.clock.monotonic()):
            self._on_event(event)
        if self.waiting and self.transmits:
            self._submit_waiting()
        self._flush()
        self._arm()

    def _down(self) -> None:
        if self.up:
            self.up = False
            self._owner.on_unbound()
            # Parts that were never written go back: they may be sent elsewhere at once.
            while self.waiting:
                self._end(self.waiting.popleft(), Deferred(NOT_SENT, 0.0))

    def _close(self) -> None:
        if self._closing or self._transport is None:
            return
        self._closing = True
        self._transport.close()
        self._guard = self._loop.call_later(CLOSE_GRACE_S, self._transport.abort)

    def abort(self) -> None:
        """Cuts the connection."""
        self._closing = True
        if self._transport is not None:
            self._transport.abort()

    def _cancel_timers(self) -> None:
        for timer in (self._timer, self._guard, self._stalled):
            if timer is not None:
                timer.cancel()
        self._timer = self._guard = self._stalled = None

    def _tell_quiet(self) -> None:
        quiet = self._quiet
        if quiet is not None and not quiet.done() and (self.session.closing or self._is_quiet):
            quiet.set_result(None)

    @property
    def _is_quiet(self) -> bool:
        return self.session.in_flight == 0 and self.session.unanswered <= 0

    def unbind(self, reason: str) -> None:
        """Sends unbind; parts in flight may still be answered until the operator agrees."""
        if not self.session.bound or self.session.closing:
            if self.session.state is not SessionState.UNBOUND:
                self._close()
            return
        self.reason = self.reason or reason
        self._down()
        self.session.unbind(self._context.clock.monotonic())
        self._flush()
        self._arm()

    async def retire(self, deadline: float) -> None:
        """Takes no new parts, waits until everything is answered or `deadline` (of the monotonic clock), then unbinds.
        Receipts are taken while answers are awaited; later ones are deferred, and the operator sends them again."""
        clock = self._context.clock
        self._receipts.retiring = True
        self._down()
        if self.session.bound and not self._is_quiet:
            self._quiet = self._loop.create_future()
            await asyncio.wait([self._quiet], timeout=max(0.0, deadline - clock.monotonic()))
        self.unbind("the gateway unbound the link")
        left = max(deadline - clock.monotonic(), min(CLOSE_GRACE_S, self._context.timings.unbind_timeout_s) / 4)
        await asyncio.wait([self.ended], timeout=left)
        if not self.ended.done():
            self.abort()
            await asyncio.wait([self.ended], timeout=1.0)
