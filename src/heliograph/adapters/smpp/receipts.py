"""Receipts on the wire: from deliver_sm to reports and back to deliver_sm_resp."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Final

from heliograph.adapters.smpp.address_rules import unprefixed
from heliograph.adapters.smpp.context import BindContext
from heliograph.adapters.smpp.options import Dialect
from heliograph.app.ports import Incoming, Report
from heliograph.app.ports.carrier_state import BindCounters
from heliograph.domain.message.operator_id import kept
from heliograph.domain.message.receipt import Delivery, is_final, own_code, parse_state
from heliograph.domain.numbers.dialling import NationalNumbers
from heliograph.smpp import constants as c
from heliograph.smpp import tlv
from heliograph.smpp.constants import CommandStatus
from heliograph.smpp.pdu import DataSm, DeliverSm
from heliograph.smpp.receipt import ReceiptContent, parse_receipt, parse_unmarked
from heliograph.smpp.session import Session
from heliograph.smpp.state import SessionState

MAX_UNACKNOWLEDGED: Final = 5_000
"""Most receipts of a connection that wait for their commit; further receipts are deferred with ESME_RX_T_APPN."""

MAX_ADDRESS_CHARS: Final = 64
"""Characters of a receipt's source_addr that are kept. SMPP v3.4 has room for 20 (4.6.1)."""

NO_COUNTRY: Final = NationalNumbers()


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The addresses that a connector rewrites, as far as receipts repeat them."""

    national: NationalNumbers = NO_COUNTRY
    prefix: str = ""
    """Prefix of destinations."""
    senders: frozenset[str] = frozenset()
    """Our own senders, in place of customers'."""

    @classmethod
    def by(cls, dialect: Dialect) -> "Rewritten":
        """Returns the addresses that a dialect rewrites."""
        senders = {other for _, other in dialect.sender_map} | ({dialect.sender_default} - {""})
        national = NationalNumbers(dialect.inbound_country, dialect.inbound_trunk)
        return cls(national, dialect.dest_prefix, frozenset(senders))

    def number(self, address: str, ton: int) -> str:
        """Returns a receipt's address as the customer wrote the number, or with its last digits."""
        number = address
        if self.national.country:
            number = number_of(address, ton, self.national) or address
            if number != address.removeprefix("+"):
                return number
        return unprefixed(number, self.prefix) if self.prefix else number


AS_SENT: Final = Rewritten()


def report_of(pdu: DeliverSm | DataSm, rewritten: Rewritten = AS_SENT) -> Report | None:
    """Returns the report in a deliver_sm or data_sm that esm_class marks as a receipt, otherwise None.

    `operator_id` is empty if the receipt has no id. An intermediate notification is never final, except that a
    delivered message stays delivered.
    """
    receipt = parse_receipt(pdu)
    return None if receipt is None else _report(receipt, pdu, rewritten, True)


def unmarked_report_of(pdu: DeliverSm | DataSm, rewritten: Rewritten = AS_SENT) -> Report | None:
    """Returns the report that an unmarked deliver_sm or data_sm seems to be, otherwise None."""
    receipt = parse_unmarked(pdu)
    return None if receipt is None else _report(receipt, pdu, rewritten, False)


def _report(receipt: ReceiptContent, pdu: DeliverSm | DataSm, rewritten: Rewritten, marked: bool) -> Report:
    state = parse_state(receipt.state)
    final = is_final(state) and (not receipt.intermediate or state is Delivery.DELIVRD)
    message_id = kept(receipt.message_id)
    other_id = kept(receipt.other_id) if receipt.other_id else ""
    number, other_number = receipt.source_addr, receipt.destination_addr
    if rewritten is not AS_SENT:  # skipped otherwise, as this runs for every receipt
        # An own sender is no phone's number that would contradict the message's.
        own = other_number in rewritten.senders
        number = rewritten.number(number, pdu.source_addr_ton)
        other_number = "" if own else rewritten.number(other_number, pdu.dest_addr_ton)
    return Report(
        message_id, number[:MAX_ADDRESS_CHARS], state, final, own_code(receipt.err), 0,
        "" if other_id == message_id else other_id, other_number[:MAX_ADDRESS_CHARS], marked,
    )  # fmt: skip


def number_of(address: str, ton: int, national: NationalNumbers) -> str | None:
    """Returns the international form of a phone's address, by which STOP and erasure find it. For example, the national
    number `01701234567` becomes `491701234567` if the country is 49. Names are unchanged; None if a national number
    cannot be converted."""
    if ton == c.Ton.ALPHANUMERIC:
        return address
    return national.international(address, is_national=ton == c.Ton.NATIONAL)


def incoming_of(
    pdu: DeliverSm | DataSm,
    sender: str,
    answer: Callable[[bool], bool],
    stands: Callable[[], bool],
    waits: Callable[[], bool],
) -> Incoming:
    """Returns the message of the phone `sender`. A leading `+` of an address is removed, because its type of number
    says the same.
    """
    tlvs, octets = pdu.tlvs, pdu.content
    part = None
    if tlvs:
        reference = tlv.find_integer(tlvs, tlv.SAR_MSG_REF_NUM)
        total = tlv.find_integer(tlvs, tlv.SAR_TOTAL_SEGMENTS)
        number = tlv.find_integer(tlvs, tlv.SAR_SEGMENT_SEQNUM)
        if reference is not None and total is not None and number is not None:
            part = (reference, total, number)
    fields = (
        pdu.service_type, pdu.source_addr_ton, pdu.source_addr, pdu.dest_addr_ton, pdu.destination_addr, pdu.esm_class,
        pdu.data_coding, octets, tlvs,
    )  # fmt: skip
    digest = int.from_bytes(blake2b(repr(fields).encode(), digest_size=8).digest(), "big") >> 1 or 1
    return Incoming(
        sender.removeprefix("+")[:MAX_ADDRESS_CHARS],
        pdu.destination_addr.removeprefix("+")[:MAX_ADDRESS_CHARS],
        pdu.data_coding,
        bool(pdu.esm_class & c.ESM_UDHI),
        octets,
        part,
        digest,
        answer,
        stands,
        waits,
    )


class ReceiptReceiver:
    """Receives the operator's requests on a connection (deliver_sm, data_sm) and answers them: receipts once they are
    durable or refused, inbound messages once their owner calls `answer`.
    """

    __slots__ = (
        "_context",
        "_counters",
        "_flush",
        "_loop",
        "_rewritten",
        "_session",
        "ended_well",
        "flush_due",
        "retiring",
    )

    def __init__(
        self, context: BindContext, session: Session, counters: BindCounters, flush: Callable[[], None]
    ) -> None:
        """`flush` writes the session's pending octets. It is called in the loop's next turn."""
        self._context = context
        rewritten = Rewritten.by(context.dialect)
        self._rewritten = AS_SENT if rewritten == AS_SENT else rewritten
        self._session = session
        self._counters = counters
        self._flush = flush
        self._loop = asyncio.get_running_loop()
        self.flush_due = False
        """Whether a call of `flush` is scheduled; the owner clears it when it has written."""
        self.ended_well = False
        """True if both sides agreed on the end of the bind: the operator has then read all earlier answers."""
        self.retiring = False
        """Whether the bind is shutting down: receipts that come once all parts are answered are put off, and the
        operator sends them again."""

    def receive(self, request: DeliverSm | DataSm) -> None:
        """Takes a deliver_sm or data_sm. Its answer is written with the next flush, or later."""
        context, counters, session = self._context, self._counters, self._session
        report = report_of(request, self._rewritten)
        if report is None:
            unmarked = unmarked_report_of(request, self._rewritten)
            if unmarked is None:
                self._receive_message(request)
            elif session.unanswered > MAX_UNACKNOWLEDGED or (self.retiring and self._only_receipts_come):
                self._put_off(request)
            else:
                context.events.on_unmarked(
                    unmarked, partial(self._acknowledge_unmarked, request), partial(self._receive_late, request)
                )
        elif not report.operator_id:
            # Without an id it matches nothing, not even when sent again: it is acknowledged.
            counters.receipts_unreadable += 1
            context.log_once("warning", "smpp.receipt_without_id")
            session.answer(request)
        elif session.unanswered > MAX_UNACKNOWLEDGED or (self.retiring and self._only_receipts_come):
            counters.receipts_put_off += 1
            self._put_off(request)
        else:
            counters.receipts += 1
            context.events.on_report(report, partial(self._acknowledge, request))

    def _receive_late(self, request: DeliverSm | DataSm) -> None:
        """Handles a message that read like a receipt and came from a phone."""
        self._receive_message(request)
        self._flush_soon()

    def _acknowledge_unmarked(self, request: DeliverSm | DataSm, kept: bool) -> None:
        if kept:
            self._counters.receipts += 1
        self._acknowledge(request, kept)

    def _receive_message(self, request: DeliverSm | DataSm) -> None:
        """Handles a message from a phone."""
        context, session = self._context, self._session
        self._counters.mobile_originated += 1
        taken = context.dialect.mobile_originated
        if taken != "keep":
            accepts = taken == "accept"
            context.log_once("warning", "smpp.mobile_originated", answered="accepted" if accepts else "rejected")
            session.answer(request, CommandStatus.ESME_ROK if accepts else CommandStatus.ESME_RX_R_APPN)
        elif session.unanswered > MAX_UNACKNOWLEDGED or (self.retiring and self._only_receipts_come):
            self._put_off(request)
        else:
            sender = self._sender_of(request)
            answer = partial(self._answer, request)
            context.events.on_inbound(incoming_of(request, sender, answer, self._stands, self._waits))

    def _sender_of(self, request: DeliverSm | DataSm) -> str:
        """Returns the phone that sent a message. Logs a warning for a national number that cannot be converted."""
        address, context = request.source_addr, self._context
        number = number_of(address, request.source_addr_ton, context.national)
        if number is not None:
            return number
        self._counters.national_numbers += 1
        context.log_once("warning", "smpp.national_number", inbound_country=context.national.country)
        return address

    def _stands(self) -> bool:
        return self.ended_well or self._waits()

    def _waits(self) -> bool:
        return not self._session.closing and self._session.state is not SessionState.CLOSED

    @property
    def _only_receipts_come(self) -> bool:
        """Whether no part awaits an answer, so that only deliver_sm arrive, possibly without end."""
        return self._session.in_flight == 0 or self._session.state is SessionState.UNBOUND

    def _acknowledge(self, request: DeliverSm | DataSm, kept: bool) -> None:
        """Answers a receipt. Does nothing if the connection is gone: the operator then sends the receipt again on
        another bind."""
        if not kept:
            self._counters.receipts_put_off += 1
        self._answer(request, kept)

    def _answer(self, request: DeliverSm | DataSm, kept: bool) -> bool:
        """Answers a request. Returns False if the connection is gone."""
        written = self._session.answer(request) if kept else self._put_off(request)
        if written:
            self._flush_soon()
        return written

    def _put_off(self, request: DeliverSm | DataSm) -> bool:
        """Asks the operator to send the request again. After the end of the lease the link is about to go down: the
        request stays without an answer, because some operators take any answer as the end. Returns whether there is an
        answer."""
        if self._context.clock.monotonic() >= self._context.lease_end.at:
            return False
        return self._session.answer(request, CommandStatus.ESME_RX_T_APPN)

    def _flush_soon(self) -> None:
        if not self.flush_due:
            self.flush_due = True
            self._loop.call_soon(self._flush)
