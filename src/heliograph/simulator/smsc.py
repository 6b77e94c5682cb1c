"""The simulated operator: an SMSC that binds, answers, and sends receipts, controlled by its behaviour."""

import asyncio
import contextlib
import ssl
import time
from functools import partial
from typing import BinaryIO, Final

from heliograph.simulator import enquiry
from heliograph.simulator.behaviour import Behaviour
from heliograph.simulator.counters import SimulatorCounters
from heliograph.simulator.deliveries import Deliveries, DeliverRequest
from heliograph.simulator.link import SimulatorLink
from heliograph.simulator.log import SimulatorLog, described
from heliograph.simulator.message import MessageMemory, ReceivedMessage, TakenSubmit
from heliograph.simulator.phone import Phones
from heliograph.simulator.reactions import WRONG_BY, PlannedReceipt, Reaction, Reactions, SubmitAnswer, SubmitRequest
from heliograph.simulator.receipt import ReceiptDelivery, receipt_body
from heliograph.simulator.schedule import Schedule
from heliograph.smpp import constants as c
from heliograph.smpp import event as e
from heliograph.smpp import pdu as p
from heliograph.smpp import tlv
from heliograph.smpp.constants import CommandStatus, MessageState
from heliograph.smpp.event import Event

SYSTEM_ID: Final = "simulator"
"""The simulator's own system_id, in bind responses."""

TICK_S: Final = 0.2
"""Interval of checks of the links' timers."""

REPLY_AFTER_S: Final = 1.0
"""Time from a message's final state to the phone's reply."""

_Submitted = p.SubmitSm | p.DataSm


class Simulator:
    """An SMSC on the running loop. `counters` and `recent` show its traffic.

    Its clock is the loop's; dates are written by `time.time`.
    """

    def __init__(self, behaviour: Behaviour | None = None, log: BinaryIO | None = None) -> None:
        """`log` gets a JSON line for each PDU in both directions; it stays open at the end."""
        self.counters = SimulatorCounters()
        self._behaviour = behaviour or Behaviour()
        self._reactions = Reactions(self._behaviour)
        self._messages = MessageMemory(self._behaviour.remember, self._behaviour.alphabet)
        self._next_number = self._behaviour.first_message_id or time.time_ns() // 1000
        self._log = log
        self._journal: SimulatorLog | None = None
        self._links: dict[int, SimulatorLink] = {}
        self._links_opened = 0
        self._touched: set[SimulatorLink] = set()
        self._deliveries = Deliveries(self._later, self._delivery_sent)
        self._phones = Phones(self._deliveries, self.counters.from_phones, self._now, self._later)
        self._empty = asyncio.Event()
        self._empty.set()
        self._server: asyncio.Server | None = None
        self._loop: asyncio.AbstractEventLoop
        self._schedule: Schedule
        self._ticker: asyncio.TimerHandle | None = None

    async def start(self, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None) -> int:
        """Listens and returns the port; port 0 chooses a free port. Raises OSError if it cannot listen."""
        self._loop = asyncio.get_running_loop()
        self._schedule = Schedule(self._loop, self.settled)
        self._journal = SimulatorLog(self._loop, self._log) if self._log is not None else None
        self._server = await self._loop.create_server(self._new_link, host, port, ssl=tls)
        bound: int = self._server.sockets[0].getsockname()[1]
        if self._journal is not None:
            self._journal.note("listening", host=host, port=bound)
            self._journal.flush()
        self._phones.behave(self._behaviour)
        return bound

    async def stop(self, grace_s: float = 1.0) -> None:
        """Stops listening, unbinds, and cuts the links that are still connected after `grace_s` seconds."""
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
        self._schedule.close()
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
        """Changes the behaviour from now on. Decided reactions stay; open links keep their windows and their speed."""
        self._behaviour = behaviour
        self._reactions = Reactions(behaviour)
        self._phones.behave(behaviour)

    def send_from_phone(self, phone: str, number: str, text: str) -> int:
        """Sends a message from a phone to a number of the peer. Returns the number of its parts.

        Raises PhoneProblem and sends nothing if an argument is invalid, or if no bound peer could receive it.
        """
        parts = self._phones.send(phone, number, text)
        self.settled()
        return parts

    def recent(self, limit: int = 100) -> list[ReceivedMessage]:
        """Returns the latest messages, newest first. The parts of a longer message are joined."""
        return self._messages.recent(limit, self._loop.time())

    def cut_links(self) -> None:
        """Ends every connection at once, without unbinding."""
        for link in list(self._links.values()):
            link.abort()

    # Calls of the links: see `link.MessageCentre`.

    def opened(self, link: SimulatorLink) -> None:
        self._links[link.number] = link
        self._empty.clear()
        self.counters.links += 1
        if self._ticker is None:
            self._ticker = self._loop.call_later(TICK_S, self._tick)
        self._note("connected", link)
        if self._journal is not None:
            self._journal.flush()  # readers of the log must know each link that may still log

    def closed(self, link: SimulatorLink) -> None:
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

    def happened(self, link: SimulatorLink, event: Event, now: float) -> None:
        match event:
            case e.RequestReceived(request=p.SubmitSm() | p.DataSm() as request):
                self._note_request(link, request)
                self._on_submit(link, request, now)
            case e.Answered(token=DeliverRequest() as delivery):
                if self._journal is not None:
                    self._note("answer", link, pdu=described(event.response))
                self._deliveries.answered(link, delivery, event.status)
            case e.RequestReceived():
                self._note_request(link, event.request)
                self._on_request(link, event.request, now)
            case e.BindRequested():
                self._note_request(link, event.request)
                self._on_bind(link, event.request)
            case e.TimedOut(token=DeliverRequest() as delivery):
                self._deliveries.again([delivery])
            case e.Lost():
                self._deliveries.again([token for token in event.tokens if isinstance(token, DeliverRequest)])
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

    def _on_bind(self, link: SimulatorLink, request: p.BindRequest) -> None:
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

    def _bind_status(self, request: p.BindRequest) -> int:
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

    def _unbound(self, link: SimulatorLink) -> None:
        if self._deliveries.lost(link):
            self.counters.bound -= 1

    # Messages.

    def _on_submit(self, link: SimulatorLink, request: _Submitted, now: float) -> None:
        reaction = self._decide(link, request.destination_addr, request.registered_delivery, now)
        if reaction.cut or reaction.mute:
            self._end(link, reaction)
            return
        number = 0
        submission = None
        if reaction.accepted:
            number = self._take_number()
            address = p.Address(request.dest_addr_ton, request.dest_addr_npi, request.destination_addr)
            submission = self._take(link, request, address, number, reaction, now)
        if submission is not None and reaction.early:
            self._owe(link, submission, reaction.reports, now)
        if reaction.answer is not None:
            self._at(reaction.answer.at, now, partial(self._answer, link, request, reaction.answer, number))
        else:
            self.counters.withheld += 1
            link.forget_request()
        if submission is not None and not reaction.early:
            self._owe(link, submission, reaction.reports, now)
        if link.submits == self._behaviour.unbind_after:
            self._note("unbinding", link)
            link.unbind()

    def _on_multi(self, link: SimulatorLink, request: p.SubmitMulti, now: float) -> None:
        """Each destination has its own scenario. The single response with its single id is sent at the time of the
        slowest."""
        failed = []
        plans = []
        for destination in request.destinations:
            if isinstance(destination, p.DistributionList):
                failed.append(p.FailedDestination(0, 0, destination.name, CommandStatus.ESME_RINVDLNAME))
                continue
            reaction = self._decide(link, destination.number, request.registered_delivery, now)
            if reaction.cut or reaction.mute:
                self._end(link, reaction)
                return
            plans.append(reaction)
            if not reaction.accepted and reaction.answer is not None:
                failed.append(p.FailedDestination(*destination, reaction.answer.status))
        number = self._take_number()
        addresses = [destination for destination in request.destinations if isinstance(destination, p.Address)]
        for reaction, destination in zip(plans, addresses, strict=True):
            if reaction.accepted:
                submission = self._take(link, request, destination, number, reaction, now)
                self._owe(link, submission, reaction.reports, now)
        answers = [reaction.answer for reaction in plans]
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

    def _decide(self, link: SimulatorLink, destination: str, registered_delivery: int, now: float) -> Reaction:
        link.submits += 1
        counters = self.counters
        counters.submits += 1
        reaction = self._reactions.decide(
            SubmitRequest(link.system_id, destination, registered_delivery, link.submits), now
        )
        if reaction.accepted:
            counters.accepted += 1
        elif reaction.answer is not None:
            match reaction.answer.status:
                case CommandStatus.ESME_RTHROTTLED:
                    counters.throttled += 1
                case CommandStatus.ESME_RMSGQFUL:
                    counters.queue_full += 1
                case _:
                    counters.refused += 1
        return reaction

    def _take_number(self) -> int:
        number = self._next_number
        self._next_number = number + 1
        return number

    def _take(
        self,
        link: SimulatorLink,
        request: _Submitted | p.SubmitMulti,
        to: p.Address,
        number: int,
        reaction: Reaction,
        now: float,
    ) -> TakenSubmit:
        at_s = time.time()
        submission = TakenSubmit(
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
            reaction.state,
            reaction.err,
            reaction.final_at,
            at_s + reaction.final_at - now,
        )
        self._messages.add(submission)
        if reaction.reply and submission.is_last:
            self._at(reaction.final_at + REPLY_AFTER_S, now, partial(self._reply, link, submission, reaction.reply))
        return submission

    def _answer(self, link: SimulatorLink, request: _Submitted, answer: SubmitAnswer, number: int) -> None:
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

    def _end(self, link: SimulatorLink, reaction: Reaction) -> None:
        """Cuts or silences the link, which then carries no answer."""
        if reaction.cut:
            self.counters.cut += 1
            self._note("cut", link)
            link.cut()
        else:
            if not link.silent:
                self.counters.silenced += 1
                self._note("silent", link)
                link.fall_silent()

    # Other requests.

    def _on_request(self, link: SimulatorLink, request: p.Pdu, now: float) -> None:
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

    def _owe_cancelled(self, link: SimulatorLink, submission: TakenSubmit, now: float) -> None:
        if submission.registered_delivery & c.RECEIPT_MASK:
            b = self._behaviour
            report = PlannedReceipt(now, MessageState.DELETED, 0, b.receipt_text, b.receipt_id, b.receipt_tlv_id)
            self._owe(link, submission, (report,), now)

    def _reply(self, link: SimulatorLink, submission: TakenSubmit, text: str) -> None:
        if not submission.cancelled:
            self._phones.reply(link, submission.destination_addr, submission.source_addr, text)

    # Receipts.

    def _owe(
        self, link: SimulatorLink, submission: TakenSubmit, reports: tuple[PlannedReceipt, ...], now: float
    ) -> None:
        self.counters.receipts.planned += len(reports)
        for report in reports:
            self._at(report.at, now, partial(self._report, link, submission, report))

    def _report(self, link: SimulatorLink, submission: TakenSubmit, report: PlannedReceipt) -> None:
        if submission.cancelled and report.state is not MessageState.DELETED:
            self.counters.receipts.planned -= 1
            return
        body = receipt_body(submission, report, self._behaviour, submission.final_at_s)
        self._deliveries.deliver(
            ReceiptDelivery(
                system_id=submission.system_id,
                body=body,
                counts=self.counters.receipts,
                home=link,
                other_bind=report.other_bind,
                overtaken=report.overtaken,
                submission=submission,
                report=report,
            )
        )

    def _delivery_sent(self, link: SimulatorLink, delivery: DeliverRequest, sequence: int) -> None:
        self._touched.add(link)
        if self._journal is not None:
            event, details = delivery.describe()
            self._note(event, link, sequence=sequence, **details)

    # Timers and the log.

    def _new_link(self) -> SimulatorLink:
        self._links_opened += 1
        return SimulatorLink(self, self._behaviour, self._links_opened, self._loop)

    def _at(self, at: float, now: float, task: partial[None]) -> None:
        if at <= now:
            task()
        else:
            self._schedule.put(at, task)

    def _now(self) -> float:
        return self._loop.time()

    def _later(self, seconds: float, task: partial[None]) -> None:
        self._schedule.put(self._loop.time() + seconds, task)

    def _tick(self) -> None:
        now = self._loop.time()
        for link in list(self._links.values()):
            link.tick(now)
        self.settled()
        self._ticker = self._loop.call_later(TICK_S, self._tick) if self._links else None

    def _respond(self, link: SimulatorLink, response: p.Pdu) -> None:
        link.respond(response)
        self._touched.add(link)
        if self._journal is not None:
            self._note("answer", link, pdu=described(response))

    def _note_request(self, link: SimulatorLink, request: p.Pdu) -> None:
        if self._journal is not None:
            self._note("request", link, pdu=described(request))

    def _note(self, event: str, link: SimulatorLink, **details: object) -> None:
        if self._journal is not None:
            # a bind and its answer have their own system_id
            self._journal.note(event, **({"link": link.number, "system_id": link.system_id} | details))
