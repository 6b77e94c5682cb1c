"""Whatever we can say can be read back; whatever we read is a PDU, an event or an error of our own."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from heliograph.smpp import codec, wire
from heliograph.smpp import constants as c
from heliograph.smpp import pdu as p
from heliograph.smpp.constants import Role
from heliograph.smpp.error import PduError
from heliograph.smpp.event import Event
from heliograph.smpp.framer import Framer
from heliograph.smpp.receipt import parse_receipt
from heliograph.smpp.session import Session
from heliograph.smpp.submit import BodyTemplate

OCTET = st.integers(0, 255)
SEQUENCE = st.integers(0, 0xFFFFFFFF)


def text(octets: int) -> st.SearchStrategy[str]:
    return st.text(st.characters(min_codepoint=1, max_codepoint=255), max_size=octets - 1)


ADDRESS = st.builds(p.Address, OCTET, OCTET, text(c.ADDRESS_OCTETS))
LIST = st.builds(p.DistributionList, text(c.LIST_NAME_OCTETS))
FAILED = st.builds(p.FailedDestination, OCTET, OCTET, text(c.ADDRESS_OCTETS), SEQUENCE)
TLVS = st.lists(st.tuples(st.integers(0, 0xFFFF), st.binary(max_size=40)), max_size=4).map(tuple)


def values_of(field: wire.WireField) -> st.SearchStrategy[Any]:
    match field:
        case wire.Octet():
            return OCTET
        case wire.Text():
            return text(field.octets)
        case wire.Content():
            return st.binary(max_size=254)
        case wire.Destinations():
            return st.lists(ADDRESS | LIST, max_size=5).map(tuple)
        case wire.FailedDestinations():
            return st.lists(FAILED, max_size=5).map(tuple)
        case _:
            raise AssertionError(field)


def pdus_of(pdu_type: type[p.Pdu]) -> st.SearchStrategy[p.Pdu]:
    fields = {field.name: values_of(field) for field in codec.LAYOUTS[pdu_type]}
    return st.builds(pdu_type, sequence=SEQUENCE, tlvs=TLVS, **fields)


PDUS: st.SearchStrategy[p.Pdu] = st.sampled_from(sorted(p.PDU_TYPES)).flatmap(
    lambda command_id: pdus_of(p.PDU_TYPES[command_id])
)


def framed(command_id: int, sequence: int, body: bytes) -> bytes:
    return codec.HEADER.pack(16 + len(body), command_id, 0, sequence) + body


@given(PDUS)
def test_what_is_written_is_read(pdu: p.Pdu) -> None:
    assert codec.decode(codec.encode(pdu)) == pdu


@given(PDUS)
def test_the_hand_written_functions_write_what_the_layouts_say(pdu: p.Pdu) -> None:
    assert codec.encode_body(pdu).startswith(wire.write(codec.LAYOUTS[type(pdu)], pdu))


@given(st.sampled_from(sorted(p.PDU_TYPES)), st.binary(max_size=120))
def test_any_body_is_a_pdu_or_an_error_of_ours(command_id: int, body: bytes) -> None:
    frame = framed(command_id, 7, body)
    pdu_type = p.PDU_TYPES[command_id]
    try:
        pdu = codec.decode(frame)
    except PduError as error:
        assert not command_id & c.RESPONSE_BIT
        assert (error.command_id, error.sequence, error.recoverable) == (command_id, 7, True)  # noqa: PT017
        return
    # The hand-written decoders and the layouts agree about every field.
    values, _ = wire.read_leniently(codec.LAYOUTS[pdu_type], frame)
    assert pdu == pdu_type(7, 0, pdu.tlvs, **values)


@given(st.sampled_from([c.SUBMIT_SM, c.DELIVER_SM]), st.binary(max_size=60))
def test_short_messages_are_refused_as_the_layout_says(command_id: int, body: bytes) -> None:
    frame = framed(command_id, 7, body)
    by_layout: str | None = None
    try:
        wire.read(codec.LAYOUTS[p.PDU_TYPES[command_id]], frame)
    except PduError as error:
        by_layout = error.reason
    by_hand: str | None = None
    try:
        codec.decode(frame)
    except PduError as error:
        by_hand = error.reason if "TLV" not in error.reason else None

    assert by_hand == by_layout


@given(st.binary(max_size=300), st.lists(st.integers(0, 300)))
def test_a_stream_gives_the_same_frames_however_it_is_cut(tail: bytes, cuts: list[int]) -> None:
    stream = b"".join(framed(c.DELIVER_SM, number, bytes(number)) for number in range(4)) + tail
    whole, pieces = Framer(400), Framer(400)
    found: list[bytes] = []
    start = 0
    for cut in [*sorted(cuts), len(stream)]:
        found += pieces.feed(stream[start:cut])
        start = max(start, cut)
        assert len(pieces._partial) < 400

    assert found == whole.feed(stream)
    assert (pieces.error is None) == (whole.error is None)


@given(st.lists(st.binary(max_size=100) | PDUS.map(codec.encode), max_size=6), st.sampled_from(list(Role)))
def test_any_octets_give_events(pieces: list[bytes], role: Role) -> None:
    session = Session(role, 0.0)
    events: list[Event] = []
    for number, piece in enumerate(pieces):
        events += session.receive(piece, float(number))

    # Each whole PDU takes 16 octets or more and gives two events at most; so does what cannot be read.
    assert len(events) <= sum(map(len, pieces)) / 8 + 2
    answers = Framer(1 << 20).feed(session.data_to_send())
    assert all(codec.decode(answer).command_id & c.RESPONSE_BIT for answer in answers)


@given(st.binary(max_size=254), OCTET, OCTET, TLVS)
def test_any_octets_are_read_as_a_receipt_or_not_at_all(
    content: bytes, esm_class: int, data_coding: int, tlvs: tuple[tuple[int, bytes], ...]
) -> None:
    pdu = p.DeliverSm(1, 0, tlvs, esm_class=esm_class, data_coding=data_coding, short_message=content)

    receipt = parse_receipt(pdu)

    assert (receipt is None) is (esm_class & 0x24 == 0)


@given(text(c.ADDRESS_OCTETS), text(c.ADDRESS_OCTETS), OCTET, OCTET, st.binary(max_size=254), TLVS)
def test_templates_write_what_the_codec_writes(
    source: str, destination: str, ton: int, coding: int, content: bytes, tlvs: tuple[tuple[int, bytes], ...]
) -> None:
    template = BodyTemplate(source_addr=source, source_addr_ton=ton, data_coding=coding)

    pdu = p.SubmitSm(
        0,
        0,
        tlvs,
        source_addr=source,
        source_addr_ton=ton,
        dest_addr_ton=1,
        dest_addr_npi=1,
        destination_addr=destination,
        data_coding=coding,
        short_message=content,
    )
    assert template.body(destination, content, tlvs) == codec.encode_body(pdu)


@given(
    st.from_regex(r"[0-9A-Za-z_-]{1,20}", fullmatch=True),
    st.sampled_from(["DELIVRD", "UNDELIV", "EXPIRED", "Mislaid"]),
    st.text(st.characters(min_codepoint=1, max_codepoint=255), max_size=20),
)
def test_the_usual_form_of_a_receipt_is_read_like_any_other(message_id: str, state: str, text: str) -> None:
    dates = "submit date:2501021530 done date:2501021531"
    usual = f"id:{message_id} sub:001 dlvrd:001 {dates} stat:{state} err:000 text:{text}"
    other = usual.replace(" sub:", "  sub:", 1)

    read = [parse_receipt(p.DeliverSm(esm_class=4, short_message=form.encode("latin-1"))) for form in (usual, other)]

    assert read[0] == read[1]
    assert read[0] is not None
    assert (read[0].message_id, read[0].text) == (message_id, text)
