"""The simulated operator: an SMSC that binds, answers, and sends receipts, as its behaviour says."""

import asyncio
import contextlib
import ssl
import time
from functools import partial
from typing import BinaryIO, Final

from heliograph.simulator import enquiry
from heliograph.simulator.agenda import Agenda
from heliograph.simulator.behaviour import Behaviour
from heliograph.simulator.counters import Counters
from heliograph.simulator.delivery import Deliveries, Delivery
from heliograph.simulator.journal import Journal, described
from heliograph.simulator.link import Link
from heliograph.simulator.message import Messages, Received, Submission
from heliograph.simulator.plan import WRONG_BY, Answer, Plan, Planner, Report, Submit
from heliograph.simulator.receipt import NAMES, receipt_body
from heliograph.smpp import constants as c
from heliograph.smpp import event as e
from heliograph.smpp import pdu as p
from heliograph.smpp import tlv
from heliograph.smpp.constants import CommandStatus, MessageState
from heliograph.smpp.event import Event

SYSTEM_ID: Final = "simulator"
"""The name it gives itself when it accepts a bind."""

TICK_S: Final = 0.2
"""How often the links' time limits are looked at."""

_Submitted = p.SubmitSm | p.DataSm


class Simulator:
    """An SMSC on the running loop. `counters` and `recent` say what it does.

    Its clock is the loop's, and `time.time` where dates are written.
    """

    def __init__(self, behaviour: Behaviour | None = None, log: BinaryIO | None = None) -> None:
        """`log` gets a JSON line for everything that comes and goes; it stays open at the end."""
        self.counters = Counters()
        self._behaviour = behaviour or Behaviour()
        self._planner = Planner(self._behaviour)
        self._messages = Messages(self._behaviour.remember, self._behaviour.alphabet)
        self._next_number = self._behaviour.first_message_id or time.time_ns() // 1000
        self._log = log
        self._journal: Journal | None = None
        self._links: dict[int, Link] = {}
        self._links_opened = 0
        self._touched: set[Link] = set()
        self._deliveries = Deliveries(self.counters, self._later, self._delivery_sent)
        self._empty = asyncio.Event()
        self._empty.set()
        self._server: asyncio.Server | None = None
        self._loop: asyncio.AbstractEventLoop
        self._agenda: Agenda
        self._ticker: asyncio.TimerHandle | None = None

    async def start(self, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None) -> int:
        """Listens; returns the port, a free one for 0. Raises OSError where it cannot."""
        self._loop = asyncio.get_running_loop()
        self._agenda = Agenda(self._loop, self.settled)
        self._journal = Journal(self._loop, self._log) if self._log is not None else None
        self._server = await self._loop.create_server(self._new_link, host, port, ssl=tls)
        bound: int = self._server.sockets[0].getsockname()[1]
        if self._journal is not None:
            self._journal.note("listening", host=host, port=bound)
            self._journal.flush()
        return bound

    async def stop(self, grace_s: float = 1.0) -> None:
        """Listens no more, unbinds, and cuts what is still connected after `grace_s` seconds."""
        if self._server is None:
            return
        self._server.close()
        for link in list(self._links.values()):
            link.unbind()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._empty.wait(), grace_s)
        for link in list(self._links.values()):
            link.abort()
        await self._empty.wait()
        self._server = None
        self._agenda.close()
        if self._ticker is not None:
            self._ticker.cancel()
            self._ticker = None
        if self._journal is not None:
            self._journal.flush()

    @property
    def behaviour(self) -> Behaviour:
        return self._behaviour

    @behaviour.setter
    def behaviour(self, behaviour: Behaviour) -> None:
        """From now on; what was planned already stays so. Links that are open keep their windows and their speed."""
        self._behaviour = behaviour
        self._planner = Planner(behaviour)

    def recent(self, limit: int = 100) -> list[Received]:
        """The latest messages, newest first; parts of a longer one are one."""
        return self._messages.recent(limit, self._loop.time())

    def cut_links(self) -> None:
        """Ends every connection at once and without a word."""
        for link in list(self._links.values()):
            link.abort()

    def silence_links(self) -> None:
        """Leaves every connection half open."""
        for link in self._links.values():
            self._silence(link)

    # What links tell: see `link.Centre`.

    def opened(self, link: Link) -> None:
        self._links[link.number] = link
        self._empty.clear()
        self.counters.links += 1
        if self._ticker is None:
            self._ticker = self._loop.call_later(TICK_S, self._tick)
        self._note("connected", link)

    def closed(self, link: Link) -> None:
        del self._links[link.number]
        self._touched.discard(link)
        self.counters.links -= 1
        self._unbound(link)
        self._note("disconnected", link)
        if not self._links:
            self._empty.set()

    def settled(self) -> None:
        if self._touched:
            touched = list(self._touched)
            self._touched.clear()
            for link in touched:
                link.flush()

    def happened(self, link: Link, event: Event, now: float) -> None:
        match event:
            case e.RequestReceived(request=p.SubmitSm() | p.DataSm() as request):
                self._note_request(link, request)
                self._on_submit(link, request, now)
            case e.Answered(token=Delivery() as delivery):
                if self._journal is not None:
                    self._note("answer", link, pdu=described(event.response))
                self._deliveries.answered(link, delivery, event.status)
            case e.RequestReceived():
                self._note_request(link, event.request)
                self._on_request(link, event.request, now)
            case e.BindRequested():
                self._note_request(link, event.request)
                self._on_bind(link, event.request)
            case e.TimedOut(token=Delivery() as delivery):
                self._deliveries.again([delivery])
            case e.Lost():
                self._deliveries.again([token for token in event.tokens if isinstance(token, Delivery)])
            case e.Unbound():
                self._note("unbound", link, by_peer=event.by_peer)
                self._unbound(link)
            case e.ProtocolError():
                self.counters.protocol_errors += 1
                self._note("protocol_error", link, error=str(event.error))
            case e.Closing():
                self._note("closing", link, reason=event.reason.value)
            case _:
                # a late or doubled deliver_sm_resp: the receipt was sent again already
                self._note("ignored", link, what=type(event).__name__)

    # Binds.

    def _on_bind(self, link: Link, request: p.Bind) -> None:
        status = self._bind_status(request)
        response_type = p.PDU_TYPES[request.command_id | c.RESPONSE_BIT]
        if status:
            self.counters.binds_refused += 1
            self._respond(link, response_type(request.sequence, status))
            return
        response = response_type(request.sequence, 0, (tlv.make(tlv.SC_INTERFACE_VERSION, c.INTERFACE_VERSION_34),))
        assert isinstance(response, p.BindResp)
        response.system_id = SYSTEM_ID
        link.system_id = request.system_id
        self.counters.binds += 1
        self.counters.bound += 1
        self._respond(link, response)
        self._deliveries.bound(link)

    def _bind_status(self, request: p.Bind) -> int:
        b = self._behaviour
        if b.bind_status:
            return b.bind_status
        if b.system_id and request.system_id != b.system_id:
            return CommandStatus.ESME_RINVSYSID
        if b.password and request.password != b.password:
            return CommandStatus.ESME_RINVPASWD
        if b.max_binds and self.counters.bound >= b.max_binds:
            return CommandStatus.ESME_RALYBND
        return CommandStatus.ESME_ROK

    def _unbound(self, link: Link) -> None:
        if self._deliveries.lost(link):
            self.counters.bound -= 1

    # Messages.

    def _on_submit(self, link: Link, request: _Submitted, now: float) -> None:
        plan = self._plan(link, request.destination_addr, request.registered_delivery, now)
        if plan.cut or plan.mute:
            self._end(link, plan)
            return
        number = 0
        submission = None
        if plan.accepted:
            number = self._take_number()
            address = p.Address(request.dest_addr_ton, request.dest_addr_npi, request.destination_addr)
            submission = self._take(link, request, address, number, plan, now)
        if submission is not None and plan.early:
            self._owe(link, submission, plan.reports, now)
        if plan.answer is not None:
            self._at(plan.answer.at, now, partial(self._answer, link, request, plan.answer, number))
        else:
            self.counters.withheld += 1
            link.forget_request()
        if submission is not None and not plan.early:
            self._owe(link, submission, plan.reports, now)

    def _on_multi(self, link: Link, request: p.SubmitMulti, now: float) -> None:
        """Each destination has its own fate; there is one answer, at the time of the slowest, and one id."""
        failed = []
        plans = []
        for destination in request.destinations:
            if isinstance(destination, p.DistributionList):
                failed.append(p.FailedDestination(0, 0, destination.name, CommandStatus.ESME_RINVDLNAME))
                continue
            plan = self._plan(link, destination.number, request.registered_delivery, now)
            if plan.cut or plan.mute:
                self._end(link, plan)
                return
            plans.append(plan)
            if not plan.accepted and plan.answer is not None:
                failed.append(p.FailedDestination(*destination, plan.answer.status))
        number = self._take_number()
        addresses = [destination for destination in request.destinations if isinstance(destination, p.Address)]
        for plan, destination in zip(plans, addresses, strict=True):
            if plan.accepted:
                submission = self._take(link, request, destination, number, plan, now)
                self._owe(link, submission, plan.reports, now)
        answers = [plan.answer for plan in plans]
        if plans and None in answers:
            self.counters.withheld += 1
            link.forget_request()
            return
        taken = len(failed) < len(request.destinations)
        status = 0 if taken else failed[0].status if failed else CommandStatus.ESME_RINVNUMDESTS
        message_id = self._behaviour.answer_id.write(number) if taken else ""
        response = p.SubmitMultiResp(request.sequence, status, (), message_id, tuple(failed))
        at = max((answer.at for answer in answers if answer is not None), default=now)
        self._at(at, now, partial(self._respond, link, response))

    def _plan(self, link: Link, destination: str, registered_delivery: int, now: float) -> Plan:
        link.submits += 1
        counters = self.counters
        counters.submits += 1
        plan = self._planner.plan(Submit(link.system_id, destination, registered_delivery, link.submits), now)
        if plan.accepted:
            counters.accepted += 1
        elif plan.answer is not None:
            match plan.answer.status:
                case CommandStatus.ESME_RTHROTTLED:
                    counters.throttled += 1
                case CommandStatus.ESME_RMSGQFUL:
                    counters.queue_full += 1
                case _:
                    counters.refused += 1
        return plan

    def _take_number(self) -> int:
        number = self._next_number
        self._next_number = number + 1
        return number

    def _take(
        self, link: Link, request: _Submitted | p.SubmitMulti, to: p.Address, number: int, plan: Plan, now: float
    ) -> Submission:
        at_s = time.time()
        submission = Submission(
            number,
            link.system_id,
            at_s,
            request.source_addr_ton,
            request.source_addr_npi,
            request.source_addr,
            to.ton,
            to.npi,
            to.number,
            request.esm_class,
            request.registered_delivery,
            request.data_coding,
            request.content,
            request.tlvs,
            plan.state,
            plan.err,
            plan.final_at,
            at_s + plan.final_at - now,
        )
        self._messages.add(submission)
        return submission

    def _answer(self, link: Link, request: _Submitted, answer: Answer, number: int) -> None:
        sequence = request.sequence
        if answer.wrong_sequence:
            sequence = (sequence + WRONG_BY) & c.MAX_SEQUENCE or 1
        if answer.bodyless:
            link.respond_bodyless(request)
            self._touched.add(link)
            return
        tlvs: tlv.Tlvs = ()
        if answer.congestion is not None:
            tlvs = ((tlv.CONGESTION_STATE, bytes((answer.congestion,))),)
        message_id = self._behaviour.answer_id.write(number) if number else ""
        response_type = p.SubmitSmResp if isinstance(request, p.SubmitSm) else p.DataSmResp
        self._respond(link, response_type(sequence, answer.status, tlvs, message_id))

    def _end(self, link: Link, plan: Plan) -> None:
        """The link does not live to carry an answer."""
        if plan.cut:
            self.counters.cut += 1
            self._note("cut", link)
            link.cut()
        else:
            self._silence(link)

    def _silence(self, link: Link) -> None:
        if not link.silent:
            self.counters.silenced += 1
            self._note("silent", link)
            link.fall_silent()

    # Everything else that an ESME may ask.

    def _on_request(self, link: Link, request: p.Pdu, now: float) -> None:
        notation = self._behaviour.answer_id
        match request:
            case p.SubmitMulti():
                self._on_multi(link, request, now)
            case p.QuerySm():
                self._respond(link, enquiry.query(self._messages, notation, request, link.system_id, now))
            case p.CancelSm():
                response, cancelled = enquiry.cancel(
                    self._messages, notation, request, link.system_id, now, time.time()
                )
                self._respond(link, response)
                for submission in cancelled:
                    self._owe_cancelled(link, submission, now)
            case p.ReplaceSm():
                self._respond(link, enquiry.replace(self._messages, notation, request, link.system_id, now))

    def _owe_cancelled(self, link: Link, submission: Submission, now: float) -> None:
        if submission.registered_delivery & c.RECEIPT_MASK:
            b = self._behaviour
            report = Report(now, MessageState.DELETED, 0, b.receipt_text, b.receipt_id, b.receipt_tlv_id)
            self._owe(link, submission, (report,), now)

    # Receipts.

    def _owe(self, link: Link, submission: Submission, reports: tuple[Report, ...], now: float) -> None:
        self.counters.receipts += len(reports)
        for report in reports:
            self._at(report.at, now, partial(self._report, link, submission, report))

    def _report(self, link: Link, submission: Submission, report: Report) -> None:
        if submission.cancelled and report.state is not MessageState.DELETED:
            self.counters.receipts -= 1
            return
        body = receipt_body(submission, report, self._behaviour.receipt_form, submission.final_at_s)
        self._deliveries.deliver(Delivery(submission, report, body, link))

    def _delivery_sent(self, link: Link, delivery: Delivery, sequence: int) -> None:
        self._touched.add(link)
        if self._journal is not None:
            report = delivery.report
            self._note(
                "receipt",
                link,
                sequence=sequence,
                message_id=report.notation.write(delivery.submission.number),
                state=NAMES[report.state],
                err=f"{report.err:03d}",
                source_addr=delivery.submission.destination_addr,
                destination_addr=delivery.submission.source_addr,
            )

    # Time, and what is told.

    def _new_link(self) -> Link:
        self._links_opened += 1
        return Link(self, self._behaviour, self._links_opened, self._loop)

    def _at(self, at: float, now: float, task: partial[None]) -> None:
        if at <= now:
            task()
        else:
            self._agenda.put(at, task)

    def _later(self, seconds: float, task: partial[None]) -> None:
        self._agenda.put(self._loop.time() + seconds, task)

    def _tick(self) -> None:
        now = self._loop.time()
        for link in list(self._links.values()):
            link.tick(now)
        self.settled()
        self._ticker = self._loop.call_later(TICK_S, self._tick) if self._links else None

    def _respond(self, link: Link, response: p.Pdu) -> None:
        link.respond(response)
        self._touched.add(link)
        if self._journal is not None:
            self._note("answer", link, pdu=described(response))

    def _note_request(self, link: Link, request: p.Pdu) -> None:
        if self._journal is not None:
            self._note("request", link, pdu=described(request))

    def _note(self, event: str, link: Link, **details: object) -> None:
        if self._journal is not None:
            # a bind and its answer have a system_id of their own
            self._journal.note(event, **({"link": link.number, "system_id": link.system_id} | details))
