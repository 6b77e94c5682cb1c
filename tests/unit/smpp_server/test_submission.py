"""submit_sm as clients write it, read into a request to send."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.adapters.smpp_server.addresses import destination_of, parse_spelling, sender_of, spelling_of
from heliograph.adapters.smpp_server.content import Refused
from heliograph.adapters.smpp_server.expected import FORMS, ReceiptWish, key_of, message_id, parse_expected
from heliograph.adapters.smpp_server.submission import SubmissionReader
from heliograph.adapters.smpp_server.times import absolute, read_time
from heliograph.app.configuration import SmppTerms
from heliograph.app.sending.fields import Fields
from heliograph.app.sending.optional_fields import read_optional_fields
from heliograph.domain.error import Fault
from heliograph.domain.message import ids
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import Kind
from heliograph.domain.numbers.dialling import NationalNumbers
from heliograph.domain.text import alphabet
from heliograph.domain.text.repertoire import Encoding
from heliograph.domain.text.segment import split
from heliograph.smpp import tlv
from heliograph.smpp.constants import CommandStatus
from heliograph.smpp.pdu import Address, DataSm, SubmitMulti, SubmitSm
from heliograph.smpp.tlv import make

NOW = 1_800_000_000_000
DAY_MS = 86_400_000


def read(terms: SmppTerms | None = None, **fields: Any) -> Fields:
    pdu = SubmitSm(**{"source_addr": "Helio", "source_addr_ton": 5, "short_message": b"Hello", **fields})
    address = Address(pdu.dest_addr_ton, pdu.dest_addr_npi, pdu.destination_addr or "491701234567")
    return SubmissionReader(terms or SmppTerms(), 2 * DAY_MS).read(pdu, [address], NOW)


def status(terms: SmppTerms | None = None, **fields: Any) -> CommandStatus:
    with pytest.raises(Refused) as refused:
        read(terms, **fields)
    assert refused.value.problem.endswith(".")
    return refused.value.status


def test_a_plain_message() -> None:
    fields = read()
    assert (fields.to, fields.sender, fields.content, fields.kind) == (["491701234567"], "Helio", "Hello", Kind.TEXT)
    assert (fields.time, fields.wants_receipt, fields.given, fields.reference, fields.esme) == (
        None, False, None, None, "",
    )  # fmt: skip


# --- numbers


@pytest.mark.parametrize(
    ("ton", "npi", "written", "country", "kept"),
    [
        (1, 1, "491701234567", "", "491701234567"),
        (0, 0, "+491701234567", "", "491701234567"),
        (1, 1, "00491701234567", "", "491701234567"),
        (2, 1, "01701234567", "49", "491701234567"),
        (2, 1, "1701234567", "49", "491701234567"),
        (2, 1, "01701234567", "", "01701234567"),
        (5, 0, "491701234567", "", "491701234567"),
    ],
)
def test_a_destination_is_kept_in_international_form_and_given_back_as_written(
    ton: int, npi: int, written: str, country: str, kept: str
) -> None:
    address = Address(ton, npi, written)
    assert destination_of(address, NationalNumbers(country)) == kept
    assert parse_spelling(spelling_of(address, kept).text()).written(kept) == address


def test_each_destination_of_a_submit_multi_is_given_back_as_written() -> None:
    written = [Address(1, 1, "491701234561"), Address(2, 1, "01701234562"), Address(1, 1, "491701234563"),
               Address(0, 0, "+491701234564")]  # fmt: skip
    pdu = SubmitMulti(source_addr="Helio", destinations=tuple(written), short_message=b"Hi", registered_delivery=1)
    fields = SubmissionReader(SmppTerms(country="49"), 2 * DAY_MS).read(pdu, written, NOW)
    expected = parse_expected(fields.esme)
    assert [expected.destination_as_written(number) for number in fields.to or ()] == written
    assert expected.others.keys() == {"491701234562", "491701234564"}
    assert expected.text() == fields.esme


@pytest.mark.parametrize(
    ("ton", "written", "kept"), [(1, "+4917", "4917"), (1, "004917", "4917"), (5, "00", "00"), (0, "ACME", "ACME")]
)
def test_a_sender_is_kept_without_the_sign_of_a_number(ton: int, written: str, kept: str) -> None:
    address = Address(ton, 0, written)
    assert sender_of(address) == kept
    assert spelling_of(address, kept).written(kept) == address


# --- contents


@pytest.mark.parametrize(
    ("coding", "octets", "kind", "content"),
    [
        (0, b"A\x00B\x1be", Kind.TEXT, "A@B€"),
        (1, b"A@B", Kind.TEXT, "A@B"),
        (3, b"\xe9t\xe9", Kind.TEXT, "été"),
        (8, "Ж".encode("utf-16-be"), Kind.UNICODE, "Ж"),
        (8, "🚀".encode("utf-16-be"), Kind.UNICODE, "🚀"),
        (0x10, b"Hi", Kind.FLASH, "Hi"),
        (0x11, b"Hi", Kind.TEXT, "Hi"),
        (0xF0, b"Hi", Kind.FLASH, "Hi"),
        (0x18, b"\0H", Kind.FLASH, "H"),
        (0x19, b"\0H", Kind.UNICODE, "H"),
    ],
)
def test_a_text_is_read_by_its_data_coding(coding: int, octets: bytes, kind: Kind, content: str) -> None:
    fields = read(data_coding=coding, short_message=octets)
    assert (fields.kind, fields.content, fields.given) == (kind, content, None)


@pytest.mark.parametrize("coding", [2, 4, 0x14, 0xF5, 0xFF])
def test_octets_keep_their_data_coding(coding: int) -> None:
    fields = read(data_coding=coding, short_message=b"\0\xff")
    assert (fields.kind, fields.content, fields.given) == (Kind.BINARY, "00ff", {"coding": coding})


@pytest.mark.parametrize(("name", "octets", "content"), [("latin1", b"\xe9@", "é@"), ("ascii", b"@", "@")])
def test_data_coding_0_means_the_alphabet_of_the_account(name: str, octets: bytes, content: str) -> None:
    assert read(SmppTerms(alphabet=name), short_message=octets).content == content


@pytest.mark.parametrize(
    ("coding", "octets"),
    [(0, b"\xe9"), (1, b"\xe9"), (8, b"\0"), (8, b"\xd8\x00"), (5, b"x"), (0x20, b"x")],
)
def test_a_content_that_cannot_be_read_is_refused(coding: int, octets: bytes) -> None:
    assert status(data_coding=coding, short_message=octets) == CommandStatus.ESME_RSUBMITFAIL


@given(st.text(alphabet=st.sampled_from(sorted(set(alphabet.DEFAULT) - {"\x1b"}) + list(alphabet.EXTENSION.values()))))
def test_every_letter_of_gsm_7_bit_survives(text: str) -> None:
    octets = alphabet.encode(text)
    assert octets is not None
    if octets:
        assert read(short_message=b"", tlvs=((tlv.MESSAGE_PAYLOAD, octets),)).content == text


def test_a_header_stays_with_its_part() -> None:
    fields = read(esm_class=0x40, short_message=b"\5\0\3\x2a\2\1Part")
    assert (fields.content, fields.given) == ("Part", {"udh": "0500032a0201"})


def test_sar_tlvs_become_a_header() -> None:
    tlvs = (make(tlv.SAR_MSG_REF_NUM, 0x12A), make(tlv.SAR_TOTAL_SEGMENTS, 2), make(tlv.SAR_SEGMENT_SEQNUM, 1))
    assert read(tlvs=tlvs).given == {"udh": "0500032a0201"}


@pytest.mark.parametrize(
    ("header", "total", "udh"),
    [
        (b"", 1, None),  # a header would leave less room
        (b"\5\0\3\x2b\2\1", 2, "0500032b0201"),
        (b"\3\x24\1\1", 2, "082401010003070201"),
    ],
)
def test_sar_tlvs_number_parts_that_nothing_else_numbers(header: bytes, total: int, udh: str | None) -> None:
    numbers = {tlv.SAR_MSG_REF_NUM: 7, tlv.SAR_TOTAL_SEGMENTS: total, tlv.SAR_SEGMENT_SEQNUM: 1}
    tlvs = tuple(make(tag, number) for tag, number in numbers.items())
    fields = read(tlvs=tlvs, esm_class=0x40 if header else 0, short_message=header + b"x")
    assert (fields.content, fields.given) == ("x", udh and {"udh": udh})


def test_a_header_beyond_an_octet_with_its_number_is_left_to_composing() -> None:
    tlvs = (make(tlv.SAR_MSG_REF_NUM, 7), make(tlv.SAR_TOTAL_SEGMENTS, 2), make(tlv.SAR_SEGMENT_SEQNUM, 1))
    fields = read(short_message=b"", esm_class=0x40, tlvs=((tlv.MESSAGE_PAYLOAD, b"\xff" * 256 + b"x"), *tlvs))
    with pytest.raises(Fault) as fault:
        read_optional_fields(fields.given or {}, fields.kind, wants_receipt=False)
    assert fault.value.field == "udh"


@pytest.mark.parametrize(
    ("elements", "octets", "content"),
    [
        (b"\x24\1\1", b"\x1bs\x40\x1be", "ş¡€"),
        (b"\x25\1\1", b"\x1d\x40\x04", "şİ€"),
        (b"\0\3\7\2\1\x25\1\3\x24\1\3", b"\x40\x1b\x12", "ÍΦ"),
    ],
)
def test_a_text_is_read_by_the_national_tables_of_its_header_and_goes_on_in_them(
    elements: bytes, octets: bytes, content: str
) -> None:
    fields = read(esm_class=0x40, short_message=bytes((len(elements),)) + elements + octets)
    assert fields.content == content
    cut = split(content, fields.kind, elements=elements)
    assert (cut.encoding, cut.parts, cut.elements) == (Encoding.GSM7, [octets], elements)


def test_half_of_a_surrogate_pair_goes_on_in_a_numbered_part() -> None:
    first = b"\5\0\3\7\2\1" + "🚀".encode("utf-16-be")[:2]
    fields = read(data_coding=8, esm_class=0x40, short_message=first)
    assert (fields.kind, fields.content) == (Kind.BINARY, "d83d")
    assert fields.given == {"udh": "050003070201", "coding": 8}


@pytest.mark.parametrize(
    ("elements", "octets", "sent"),
    [
        (b"\0\3\7\2\1", b"5\x1b", b"5\x1b"),  # smpplib cuts its parts so
        (b"\0\3\7\2\1", b"a" * 152 + b"\x1b", b"a" * 152 + b"\x1b"),
        (b"\0\3\7\2\1", b"5\x1b\x1b\x1b", b"5 \x1b"),
        (b"\0\3\7\2\1", b"5\x1b\x1b", b"5 "),
        (b"\0\3\7\2\1\x24\1\1", b"s\x1b", b"s\x1b"),
        (b"\x24\1\1", b"s\x1b", b"s "),  # no part
    ],
)
def test_half_of_an_escape_pair_goes_on_in_a_numbered_part(elements: bytes, octets: bytes, sent: bytes) -> None:
    fields = read(esm_class=0x40, short_message=bytes((len(elements),)) + elements + octets)
    cut = split(fields.content or "", fields.kind, elements=elements)
    assert (cut.encoding, cut.parts) == (Encoding.GSM7, [sent])


@pytest.mark.parametrize("octets", [b"", b"\5\0\3", b"\5"])
def test_a_header_that_is_not_there_is_refused(octets: bytes) -> None:
    assert status(esm_class=0x40, short_message=octets) == CommandStatus.ESME_RINVESMCLASS


# --- times


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("270115080000000+", NOW),
        ("270115090000004+", NOW),
        ("270115070000004-", NOW),
        ("000000000100000R", NOW + 60_000),
        ("000002000000000R", NOW + 2 * DAY_MS),
    ],
)
def test_a_time_is_absolute_or_relative(text: str, ms: int) -> None:
    assert read_time(text, NOW) == ms


@pytest.mark.parametrize("text", ["", "now", "271315080000000+", "270115080000049+", "270115080000000"])
def test_what_is_no_time_is_none(text: str) -> None:
    assert read_time(text, NOW) is None


@given(st.integers(946_684_800, 4_000_000_000))
def test_an_absolute_time_reads_back(second: int) -> None:
    assert read_time(absolute(second * 1_000), NOW) == second * 1_000


def test_a_schedule_and_a_validity() -> None:
    fields = read(schedule_delivery_time="270115090000000+", validity_period="270115100000000+")
    assert (fields.time, fields.given) == ("1800003600.000", {"validity": 3_600})


def test_a_long_validity_is_cut() -> None:
    assert read(validity_period="010000000000000R").given == {"validity": 2 * DAY_MS // 1_000}


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("schedule_delivery_time", "soon", CommandStatus.ESME_RINVSCHED),
        ("validity_period", "000000000001000R", CommandStatus.ESME_RINVEXPIRY),
        ("priority_flag", 4, CommandStatus.ESME_RINVPRTFLG),
        ("sm_default_msg_id", 1, CommandStatus.ESME_RINVDFTMSGID),
        ("registered_delivery", 3, CommandStatus.ESME_RINVREGDLVFLG),
    ],
)
def test_a_field_that_cannot_be_honoured_is_refused(field: str, value: Any, expected: CommandStatus) -> None:
    assert status(**{field: value}) == expected


# --- receipts, references, TLVs


@pytest.mark.parametrize(
    ("registered", "terms", "wish"),
    [
        (0, "asked", None),
        (0, "always", ReceiptWish.ALL),
        (1, "asked", ReceiptWish.ALL),
        (2, "always", ReceiptWish.FAILURE),
    ],
)
def test_receipts_are_asked_for(registered: int, terms: str, wish: ReceiptWish | None) -> None:
    fields = read(SmppTerms(receipts=terms, id_form="hex16"), registered_delivery=registered)
    assert fields.wants_receipt is (wish is not None)
    if wish is not None:
        expected = parse_expected(fields.esme)
        assert (expected.wish, expected.id_form) == (wish, "hex16")
        assert expected.wants(Delivery.DELIVRD) is (wish is ReceiptWish.ALL)
        assert expected.wants(Delivery.EXPIRED)


def test_the_intermediate_bit_asks_for_states_on_the_way() -> None:
    assert read(registered_delivery=0x11).given == {"progress": True}
    assert read(registered_delivery=0x10).given is None


@pytest.mark.parametrize(
    ("reference", "tlvs", "expected"),
    [
        ("", (make(tlv.USER_MESSAGE_REFERENCE, 7),), None),
        ("user_message_reference", (make(tlv.USER_MESSAGE_REFERENCE, 7),), "umr-7"),
        ("user_message_reference", (), None),
        ("0x1402", ((0x1402, b"order-7\0"),), "order-7"),
        ("0x1402", ((0x1402, b"\xff\x01"),), "ff01"),
    ],
)
def test_the_reference_of_the_client(reference: str, tlvs: tlv.Tlvs, expected: str | None) -> None:
    fields = read(SmppTerms(reference=reference), tlvs=tlvs)
    assert (fields.reference, fields.given) == (expected, None)


@pytest.mark.parametrize("octets", [0, 9, 2_000, 60_000])
def test_a_reference_that_is_no_number_of_some_octets_is_refused(octets: int) -> None:
    terms, tlvs = SmppTerms(reference="user_message_reference"), ((tlv.USER_MESSAGE_REFERENCE, b"\x01" * octets),)
    assert status(terms, tlvs=tlvs) is CommandStatus.ESME_RINVOPTPARAMVAL


def test_tlvs_of_operators_go_on() -> None:
    assert read(tlvs=((0x1400, b"1234"), make(tlv.SOURCE_PORT, 5))).given == {"tlvs": {"0x1400": {"hex": "31323334"}}}


def test_data_sm_has_its_content_in_the_payload() -> None:
    pdu = DataSm(source_addr="Helio", tlvs=((tlv.MESSAGE_PAYLOAD, b"Hello"),))
    fields = SubmissionReader(SmppTerms(), DAY_MS).read(pdu, [Address(1, 1, "491701234567")], NOW)
    assert (fields.content, fields.time, fields.given) == ("Hello", None, None)


# --- ids


@given(st.integers(0, 2**ids.KEY_BITS - 1), st.integers(0, 2**ids.TAIL_BITS - 1), st.sampled_from(FORMS))
def test_an_id_leads_to_its_message(key: int, tail: int, form: str) -> None:
    name = message_id(form, key, tail)
    assert key_of(form, name) == key
    assert len(name) <= {"uuid": 36, "decimal": 19, "hex16": 16}[form]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", ["", "no id", "1" * 65, "-1", "9" * 19, "f" * 16])
def test_what_is_no_id_leads_nowhere(form: str, text: str) -> None:
    assert key_of(form, text) is None
