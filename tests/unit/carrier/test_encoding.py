"""submit_sm as operators want it, read back by a foreign decoder."""

import struct
from typing import Any

import pytest
from smpplib.client import SimpleSequenceGenerator
from smpplib.smpp import parse_pdu

from heliograph.adapters.smpp.encoding import Encoder, validity_period
from heliograph.adapters.smpp.options import Dialect, Timings, read_options
from heliograph.app.ports import Part
from heliograph.app.ports.carrier import UNSENDABLE
from heliograph.domain.message.extras import Extras
from heliograph.domain.message.state import Kind
from heliograph.domain.text import alphabet, inbound
from heliograph.domain.text.repertoire import Repertoire
from heliograph.smpp import codec, tlv
from heliograph.smpp import pdu as p
from heliograph.smpp.error import FieldError
from tests.support.carrier_rig import parts_of

NOW = 1_800_000_000_000
HOUR_MS = 3_600_000


def frame_of(body: bytes) -> bytes:
    return struct.pack(">IIII", len(body) + 16, 4, 0, 1) + body


def dialect(**options: Any) -> Dialect:
    read, _, problems = read_options(options, Timings())
    assert problems == []
    return read


def body(part: Part, **options: Any) -> bytes:
    return Encoder(dialect(**options)).body(part, NOW)


def foreign(part: Part, **options: Any) -> Any:
    """The submit_sm as smpplib reads it."""
    return parse_pdu(frame_of(body(part, **options)), client=SimpleSequenceGenerator(), allow_unknown_opt_params=True)


def own(part: Part, **options: Any) -> p.SubmitSm:
    read = codec.decode(frame_of(body(part, **options)))
    assert isinstance(read, p.SubmitSm)
    return read


def one(content: str = "Hello", **fields: Any) -> Part:
    (part,) = parts_of(content, expires=NOW + HOUR_MS, **fields)
    return part


def test_a_plain_message_byte_by_byte() -> None:
    fields = [
        b"\0",  # service_type
        b"\5\0Helio\0",
        b"\1\x01447700900123\0",
        b"\0\0\0",  # esm_class, protocol_id, priority_flag
        b"\0\0",  # schedule_delivery_time, validity_period
        b"\1\0\0\0",  # registered_delivery, replace_if_present_flag, data_coding, sm_default_msg_id
        b"\5Hello",
    ]
    assert body(one(wants_receipt=True), validity="none") == b"".join(fields)


def test_a_foreign_decoder_reads_every_field() -> None:
    read = foreign(
        one(wants_receipt=True), service_type="CMT", protocol_id=1, priority=2, esm_class=3, dest_ton=2, dest_npi=8
    )
    assert read.command == "submit_sm"
    assert (read.service_type, read.protocol_id, read.priority_flag, read.esm_class) == (b"CMT", 1, 2, 3)
    assert (read.source_addr_ton, read.source_addr_npi, read.source_addr) == (5, 0, b"Helio")
    assert (read.dest_addr_ton, read.dest_addr_npi, read.destination_addr) == (2, 8, b"447700900123")
    assert (read.registered_delivery, read.data_coding, read.short_message) == (1, 0, b"Hello")
    assert read.validity_period == b"000000010000000R"


@pytest.mark.parametrize(
    ("sender", "ton", "npi"),
    [
        ("Helio", 5, 0),
        ("4TheRoad", 5, 0),
        ("447700900999", 1, 1),
        ("123456789", 1, 1),
        ("12345678", 3, 0),
        ("777", 3, 0),
    ],
)
def test_the_senders_form_decides_its_type_of_number(sender: str, ton: int, npi: int) -> None:
    read = foreign(one(sender=sender))
    assert (read.source_addr_ton, read.source_addr_npi) == (ton, npi)


@pytest.mark.parametrize(
    ("sender", "options", "numbering"),
    [
        ("Helio", {"source_ton": 0, "source_npi": 8}, (0, 8)),
        ("Helio", {"alphanumeric_npi": 1}, (5, 1)),
        ("447700900999", {"msisdn_ton": 2}, (2, 1)),
        ("77777", {"short_code_ton": 6, "short_code_npi": 9}, (6, 9)),
        ("77777", {"short_code_digits": 4}, (1, 1)),
        ("447700900999", {"source_npi": 0}, (1, 0)),
    ],
)
def test_a_connector_may_number_senders_its_own_way(
    sender: str, options: dict[str, int], numbering: tuple[int, int]
) -> None:
    read = own(one(sender=sender), **options)
    assert (read.source_addr_ton, read.source_addr_npi) == numbering


@pytest.mark.parametrize(
    ("sender", "sent", "numbering"),
    [
        ("3388", b"3388", (3, 9)),
        ("33881", b"33881", (7, 7)),
        ("447700900123", b"07700900123", (2, 1)),
        ("497700900123", b"+497700900123", (1, 1)),
        ("BRANDY", b"BRANDY", (5, 1)),
        ("brandy", b"brandy", (7, 7)),
        ("Twelve", b"12", (3, 0)),
        ("Other", b"Helio", (5, 0)),
    ],
)
def test_the_first_rule_that_fits_numbers_a_sender(sender: str, sent: bytes, numbering: tuple[int, int]) -> None:
    rules = "3388: 3/9, 44* -> 0*: 2 / 1,49*->+49*, BRAND*: 5/1, Twelve -> 12, Other -> Helio: 5/0"
    general = {"source_ton": 7, "source_npi": 7} if numbering == (7, 7) else {}
    read = foreign(one(sender=sender), source_rules=rules, **general)
    assert (read.source_addr, (read.source_addr_ton, read.source_addr_npi)) == (sent, numbering)


@pytest.mark.parametrize("concatenation", ["udh8", "udh16", "sar", "payload"])
@pytest.mark.parametrize(
    ("destination", "sent", "numbering"),
    [
        ("447700900123", b"07700900123", (2, 1)),
        ("4915112345678", b"4915112345678", (2, 8)),
        ("491701234567", b"00491701234567", (1, 8)),
        ("15551234567", b"15551234567", (1, 8)),
    ],
)
def test_the_first_rule_that_fits_numbers_a_destination(
    destination: str, sent: bytes, numbering: tuple[int, int], concatenation: str
) -> None:
    encoder = Encoder(
        dialect(dest_rules="44* -> 0*: 2/1, 49151*: 2/8, 49* -> 0049*", dest_npi=8, concatenation=concatenation)
    )
    other = one(destination="447700900999")
    for part in (*parts_of("long " * 50, destination=destination, expires=NOW + HOUR_MS), one(destination=destination)):
        encoder.body(other, NOW)
        read = parse_pdu(
            frame_of(encoder.body(part, NOW)), client=SimpleSequenceGenerator(), allow_unknown_opt_params=True
        )
        assert (read.destination_addr, (read.dest_addr_ton, read.dest_addr_npi)) == (sent, numbering)


@pytest.mark.parametrize(
    ("sender", "destination", "sent"),
    [
        ("ACME", "491701234567", (b"Acme Shop", (5, 0), b"77#1701234567")),
        ("TEST", "4915112345678", (b"3388", (6, 6), b"77#015112345678")),
        ("Helio", "447700900123", (b"INFO", (5, 0), b"77#447700900123")),
        ("INFO", "43", (b"INFO", (5, 0), b"77#43")),
    ],
)
def test_addresses_are_mapped_stripped_and_prefixed(
    sender: str, destination: str, sent: tuple[bytes, tuple[int, int], bytes]
) -> None:
    options = {
        "sender_map": "ACME -> Acme Shop, TEST -> 3388", "sender_default": "INFO", "source_rules": "3388: 6/6",
        "dest_rules": "49151* -> 0151*", "dest_strip": "49, 4917015", "dest_prefix": "77#",
    }  # fmt: skip
    read = foreign(one(sender=sender, destination=destination), **options)
    assert (read.source_addr, (read.source_addr_ton, read.source_addr_npi), read.destination_addr) == sent


def test_what_a_rule_makes_too_long_is_not_sent() -> None:
    with pytest.raises(FieldError):
        body(one(sender="447700900123"), source_rules="44* -> +00000000044*")


@pytest.mark.parametrize(
    ("kind", "content", "options", "coding", "octets"),
    [
        (Kind.TEXT, "Hi", {}, 0x00, b"Hi"),
        (Kind.TEXT, "Hi {€}@", {}, 0x00, b"Hi \x1b(\x1be\x1b)\0"),
        (Kind.TEXT, "Ж", {}, 0x08, b"\x04\x16"),
        (Kind.UNICODE, "Hi", {}, 0x08, b"\0H\0i"),
        (Kind.FLASH, "Hi", {}, 0x10, b"Hi"),
        (Kind.FLASH, "Ж", {}, 0x18, b"\x04\x16"),
        (Kind.BINARY, "00ff", {}, 0x04, b"\0\xff"),
        (Kind.TEXT, "Hi", {"text_coding": 1}, 0x01, b"Hi"),
        (Kind.UNICODE, "Hi", {"unicode_coding": 0x19}, 0x19, b"\0H\0i"),
        (Kind.BINARY, "00ff", {"binary_coding": 2}, 0x02, b"\0\xff"),
        (Kind.TEXT, "@è", {"alphabet": "latin1"}, 0x00, b"@\xe8"),
        (Kind.TEXT, "@{}", {"alphabet": "ascii"}, 0x00, b"@{}"),
        (Kind.UNICODE, "è", {"alphabet": "ascii"}, 0x08, b"\0\xe8"),
    ],
)
def test_content_and_its_coding(kind: Kind, content: str, options: dict[str, Any], coding: int, octets: bytes) -> None:
    read = foreign(one(content, kind=kind), **options)
    assert (read.data_coding, read.short_message, read.esm_class) == (coding, octets, 0)


@pytest.mark.parametrize("operators", ["latin1", "ascii"])
@pytest.mark.parametrize("content", ["€", "€" + "x" * 160, "x" * 160 + "€"])
def test_what_the_operators_alphabet_lacks_is_never_marked(operators: str, content: str) -> None:
    """Such a text is cut as UCS-2; a part that was cut a moment ago for another alphabet does not go."""
    long = parts_of(content, expires=NOW + HOUR_MS)
    first = next(part for part in long if b"\x1be" in part.octets)
    with pytest.raises(FieldError, match="lacks letters"):
        body(first, alphabet=operators)


def test_a_message_that_takes_more_parts_than_were_charged_does_not_go() -> None:
    part = one("Hi")
    part.encoding = UNSENDABLE
    with pytest.raises(FieldError, match="more parts"):
        body(part)


SPANISH, TURKISH = Repertoire(tables=((0, 2),)), Repertoire(tables=((1, 1),))


@pytest.mark.parametrize(
    ("content", "repertoire", "concatenation", "coding", "header"),
    [
        ("ë" * 100, Repertoire(latin1=True), "udh8", 3, b""),
        ("ë" * 141, Repertoire(latin1=True), "udh8", 3, b"\5\0\3\7\2\1"),
        ("á" * 77, SPANISH, "udh8", 0, b"\3\x24\1\2"),
        ("á" * 140, SPANISH, "udh8", 0, b"\x08\0\3\7\2\1\x24\1\2"),
        ("á" * 140, SPANISH, "udh16", 0, b"\x09\x08\4\xb9\7\2\1\x24\1\2"),
        ("á" * 140, SPANISH, "sar", 0, b"\3\x24\1\2"),
        ("ğ" * 140, TURKISH, "udh8", 0, b"\6\x24\1\1\x25\1\1"),
    ],
)
def test_latin_1_and_national_tables(
    content: str, repertoire: Repertoire, concatenation: str, coding: int, header: bytes
) -> None:
    options = {"concatenation": concatenation, "latin1_coding": 3}
    octets = Encoder(dialect(**options)).header_octets
    long = parts_of(content, expires=NOW + HOUR_MS, reference=7, key=1, repertoire=repertoire, header_octets=octets)
    read = [foreign(part, **options) for part in long]
    assert {each.data_coding for each in read} == {coding}
    assert read[0].short_message[: len(header)] == header
    assert {bool(each.esm_class & 0x40) for each in read} == {bool(header)}
    has_header = bool(header)
    data = [inbound.read(each.short_message, coding, has_header=has_header, sar=None) for each in read]
    if concatenation == "sar":
        assert [each.sar_segment_seqnum for each in read] == list(range(1, len(read) + 1))
    assert "".join(inbound.text_of(each, "gsm") for each in data) == content


def test_extras_of_a_message_win_over_the_options() -> None:
    extras = Extras(priority=2, coding=0xF5, elements=bytes.fromhex("05040b8423f0"))
    [part] = parts_of("0102", kind=Kind.BINARY, expires=NOW + HOUR_MS, extras=extras, tlvs=((0x1400, b"abc"),))
    read = foreign(part, priority=1, binary_coding=4)
    assert (read.priority_flag, read.data_coding, read.esm_class) == (2, 0xF5, 0x40)
    assert read.short_message == bytes.fromhex("0605040b8423f00102")
    assert own(part).tlvs == ((0x1400, b"abc"),)


def test_progress_asks_for_intermediate_notifications() -> None:
    [part] = parts_of("x", expires=NOW + HOUR_MS, wants_receipt=True, extras=Extras(progress=True))
    assert foreign(part).registered_delivery == 0x11


def parts(**fields: Any) -> list[Part]:
    return parts_of("x" * 152 + "€" + "y" * 200, expires=NOW + HOUR_MS, key=0x1234567, **fields)


def test_parts_are_numbered_by_an_8_bit_header() -> None:
    long = parts(reference=200)
    read = [foreign(part) for part in long]
    assert [each.esm_class for each in read] == [0x40] * 3
    assert [each.short_message[:6] for each in read] == [bytes((5, 0, 3, 200, 3, n)) for n in (1, 2, 3)]
    text = "".join(alphabet.decode(each.short_message[6:]) for each in read)
    assert text == "x" * 152 + "€" + "y" * 200


def test_parts_are_numbered_by_a_16_bit_header() -> None:
    encoder = Encoder(dialect(concatenation="udh16"))
    assert encoder.header_octets == 7
    read = [own(part, concatenation="udh16") for part in parts(reference=200, header_octets=7)]
    assert [each.esm_class for each in read] == [0x40] * 3
    headers = [each.short_message[:7] for each in read]
    assert [header[:3] for header in headers] == [b"\6\x08\4"] * 3
    assert {header[4] for header in headers} == {200}
    assert len({header[3:5] for header in headers}) == 1
    assert [header[5:] for header in headers] == [bytes((3, n)) for n in (1, 2, 3)]
    # With this header a short message has room for 152 septets.
    assert all(len(each.short_message) - 7 <= (140 - 7) * 8 // 7 for each in read)


def test_parts_that_leave_no_room_for_it_have_an_8_bit_header_after_all() -> None:
    read = [own(part, concatenation="udh16") for part in parts(reference=200)]
    assert [each.short_message[:6] for each in read] == [bytes((5, 0, 3, 200, 3, n)) for n in (1, 2, 3)]
    assert all(len(each.short_message) <= 6 + 153 for each in read)


def test_parts_are_numbered_by_sar_parameters() -> None:
    read = [own(part, concatenation="sar") for part in parts(reference=200)]
    assert [each.esm_class for each in read] == [0] * 3
    assert [tlv.find_integer(each.tlvs, tlv.SAR_SEGMENT_SEQNUM) for each in read] == [1, 2, 3]
    assert {tlv.find_integer(each.tlvs, tlv.SAR_TOTAL_SEGMENTS) for each in read} == {3}
    references = {tlv.find_integer(each.tlvs, tlv.SAR_MSG_REF_NUM) for each in read}
    assert len(references) == 1
    assert (references.pop() or 0) & 0xFF == 200
    assert read[0].short_message == b"x" * 152


def test_parts_travel_in_message_payload() -> None:
    read = [own(part, concatenation="payload") for part in parts(reference=200)]
    assert [each.esm_class for each in read] == [0x40] * 3
    assert [each.short_message for each in read] == [b""] * 3
    assert [each.content[:6] for each in read] == [bytes((5, 0, 3, 200, 3, n)) for n in (1, 2, 3)]


@pytest.mark.parametrize(
    ("content", "coding", "octets"),
    [("x" * 161, 0, b"x" * 161), ("Ж" * 71, 8, b"\x04\x16" * 71), ("€" * 4_000, 0, b"\x1be" * 4_000)],
)
def test_a_long_message_may_travel_whole(content: str, coding: int, octets: bytes) -> None:
    pieces = parts_of(content, expires=NOW + HOUR_MS)
    (first, *_) = pieces
    whole = Part(first.message, 0, 1, first.encoding, b"".join(piece.octets for piece in pieces), 0)
    read = own(whole, concatenation="whole")
    assert (read.esm_class, read.data_coding, read.short_message, read.content) == (0, coding, b"", octets)
    assert [number for number, _ in read.tlvs] == [tlv.MESSAGE_PAYLOAD]
    (short,) = parts_of("Hi", expires=NOW + HOUR_MS)
    assert own(short, concatenation="whole").short_message == b"Hi"


def test_what_is_too_long_for_short_message_travels_in_message_payload() -> None:
    part = one()
    part.octets = b"x" * 300
    read = own(part)
    assert (read.short_message, read.content) == (b"", b"x" * 300)


def test_long_messages_under_way_to_one_number_do_not_share_a_reference() -> None:
    read = [
        own(part, concatenation="udh16").short_message[3:5]
        for reference in range(1, 256)
        for part in parts_of("x" * 161, reference=reference, header_octets=7)[:1]
    ]
    assert len(set(read)) == 255


@pytest.mark.parametrize(
    ("wants", "options", "value"), [(True, {}, 1), (False, {}, 0), (True, {"registered_delivery": 17}, 17)]
)
def test_receipts_are_asked_for_when_wanted(wants: bool, options: dict[str, Any], value: int) -> None:
    assert foreign(one(wants_receipt=wants), **options).registered_delivery == value


@pytest.mark.parametrize(
    ("minutes", "absolute", "text"),
    [
        (0, False, ""),
        (0, True, ""),
        (1, False, "000000000100000R"),
        (2 * 1440, False, "000002000000000R"),
        (1 * 1440 + 23 * 60 + 59, False, "000001235900000R"),
        (400 * 1440, False, "000030000000000R"),
        (30_000_000, True, "270115080000000+"),
    ],
)
def test_validity_is_written_as_the_specification_has_it(minutes: int, absolute: bool, text: str) -> None:
    assert validity_period(minutes, absolute) == text
    assert len(text) in (0, 16)


@pytest.mark.parametrize(
    ("left_ms", "mode", "text"),
    [
        (HOUR_MS, "relative", "000000010000000R"),
        (HOUR_MS - 59_999, "relative", "000000010000000R"),
        (HOUR_MS - 60_000, "relative", "000000005900000R"),
        (1, "relative", "000000000100000R"),
        (-5, "relative", "000000000100000R"),
        (HOUR_MS, "absolute", "270115090000000+"),
        (HOUR_MS + 1, "absolute", "270115090100000+"),
        (HOUR_MS, "none", ""),
    ],
)
def test_the_operator_is_told_how_long_to_try_rounded_up_to_minutes(left_ms: int, mode: str, text: str) -> None:
    part = one()
    part.message.expires = NOW + left_ms
    assert own(part, validity=mode).validity_period == text


def test_templates_do_not_mix_messages_up_and_do_not_grow_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heliograph.adapters.smpp.encoding.MAX_TEMPLATES", 3)
    encoder = Encoder(dialect())
    wanted = [one(sender=f"Helio{n}", kind=kind) for n in range(5) for kind in (Kind.TEXT, Kind.UNICODE, Kind.FLASH)]
    for part in wanted * 2:
        read = codec.decode(frame_of(encoder.body(part, NOW)))
        assert isinstance(read, p.SubmitSm)
        assert read.source_addr == part.message.sender
        assert read.data_coding == {Kind.TEXT: 0, Kind.UNICODE: 8, Kind.FLASH: 0x10}[Kind(part.message.kind)]
