"""What any octets may do to SMPP: give events or an error of ours, in bounded memory, and never anything else.

Each target takes octets and returns nothing; what it raises is a finding.
"""

from collections.abc import Callable
from typing import Final

from heliograph.adapters.smpp.receipts import report_of, unmarked_report_of
from heliograph.domain.message.operator_id import MAX_CHARS, variants
from heliograph.domain.message.receipt import MAX_CODE_CHARS
from heliograph.smpp import codec
from heliograph.smpp import constants as c
from heliograph.smpp import event as e
from heliograph.smpp import pdu as p
from heliograph.smpp.constants import Role
from heliograph.smpp.error import FieldError, PduError
from heliograph.smpp.framer import Framer
from heliograph.smpp.receipt import parse_receipt
from heliograph.smpp.session import Session, SessionOptions

LONGEST_PDU: Final = 70_000


def frames(octets: bytes) -> None:
    """A stream: what can be cut into PDUs is read, and what is read is written and read again alike."""
    framer = Framer(LONGEST_PDU)
    for frame in framer.feed(octets):
        try:
            pdu = codec.decode(frame)
        except PduError:
            continue
        try:
            written = codec.encode(pdu)
        except FieldError:
            continue  # read with more patience than is written
        if codec.encode(codec.decode(written)) != written:
            raise AssertionError(f"{written.hex()} is read as something else")
    assert len(framer._partial) <= LONGEST_PDU


def body(octets: bytes) -> None:
    """One PDU of any kind, whose header is right."""
    if len(octets) < 2:
        return
    kinds = sorted(p.PDU_TYPES)
    command_id = kinds[octets[0] % len(kinds)]
    rest = octets[2:]
    frames(codec.HEADER.pack(len(rest) + 16, command_id, octets[1], 7) + rest)


def session(octets: bytes) -> None:
    """Either end of a link, bound, with requests under way, whose peer says anything in pieces of any size."""
    if len(octets) < 3:
        return
    role = Role.ESME if octets[0] & 1 else Role.MC
    end = Session(role, 0.0, SessionOptions(window=4, enquire_interval=octets[0] >> 1))
    if role is Role.ESME:
        end.bind(p.BindTransceiver(system_id="a"), 0.0)
        bound = end.receive(codec.encode(p.BindTransceiverResp(1, 0, system_id="b")), 0.0)
        assert isinstance(bound[0], e.Bound)
        for token in range(3):
            end.request(p.SubmitSm(destination_addr="44"), token, 0.0)
    else:
        (asked,) = end.receive(codec.encode(p.BindTransceiver(1, 0, system_id="a")), 0.0)
        assert isinstance(asked, e.BindRequested)
        end.answer(asked.request)
        end.request(p.DeliverSm(source_addr="44"), 0, 0.0)
    end.data_to_send()
    over: list[object] = []
    step = octets[1] + 1
    now = 0.0
    heard = 0
    for start in range(2, len(octets), step):
        now += octets[2] / 16
        piece = octets[start : start + step]
        heard += len(piece)
        for event in end.receive(piece, now) + end.handle_timers(now):
            match event:
                case e.Answered():
                    over.append(event.token)
                    assert event.congestion is None or event.congestion >= 0
                case e.TimedOut():
                    over.append(event.token)
                case e.Lost():
                    over += event.tokens
                case e.Delivered() | e.RequestReceived() | e.BindRequested():
                    end.answer(event.request)
                case _:
                    repr(event)
        assert end.in_flight <= 4
    said = end.data_to_send()
    assert len(said) <= 200 * (heard + 1)
    for event in end.connection_lost():
        assert isinstance(event, e.Lost)
        over += event.tokens
    assert len(over) == len(set(over)) == (3 if role is Role.ESME else 1), "each request ends once"


def receipt(octets: bytes) -> None:
    """A deliver_sm whose content and parameters are anything."""
    if len(octets) < 4:
        return
    esm_class, data_coding, split, *_ = octets
    content, parameters = octets[3 : 3 + split], octets[3 + split :]
    head = codec.encode_body(p.DeliverSm(esm_class=esm_class, data_coding=data_coding, short_message=content[:254]))
    octets = codec.HEADER.pack(len(head) + len(parameters) + 16, c.DELIVER_SM, 0, 7) + head + parameters
    try:
        pdu = codec.decode(octets)
    except PduError:
        return
    assert isinstance(pdu, p.DeliverSm)
    found = parse_receipt(pdu)
    report = report_of(pdu)
    assert (found is None) == (report is None)
    unmarked = unmarked_report_of(pdu)
    assert report is None or unmarked is None
    report = report or unmarked
    if report is not None:
        assert len(report.err) <= MAX_CODE_CHARS
        assert report.err.isascii()
        assert len(report.other_id) <= MAX_CHARS
        assert len(variants(report.operator_id)) <= 32
        assert len(report.operator_id) <= MAX_CHARS
        assert "\0" not in report.operator_id + report.destination + report.err


TARGETS: Final[dict[str, Callable[[bytes], None]]] = {
    "frames": frames,
    "body": body,
    "session": session,
    "receipt": receipt,
}
