"""From receipts to reports."""

import pytest

from heliograph.adapters.smpp.receipts import NO_COUNTRY, Rewritten, number_of, report_of, unmarked_report_of
from heliograph.app.ports import Report
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.numbers.dialling import NationalNumbers
from heliograph.smpp import constants as c
from heliograph.smpp import pdu as p
from heliograph.smpp import tlv
from tests.support.cases import for_each
from tests.support.smsc import receipt

GERMANY = NationalNumbers("49")


@pytest.mark.parametrize(
    ("stat", "err", "state", "final", "code"),
    [
        ("DELIVRD", "000", Delivery.DELIVRD, True, "000"),
        ("UNDELIV", "27", Delivery.UNDELIV, True, "27"),
        ("FAILED", "0x22", Delivery.UNDELIV, True, "0x22"),
        ("UNDELIV", "ABSENT", Delivery.UNDELIV, True, "ABSENT"),
        ("REJECTD", "", Delivery.REJECTD, True, ""),
        ("ENROUTE", "000", Delivery.ENROUTE, False, "000"),
        ("ACCEPTD", "000", Delivery.ACCEPTD, False, "000"),
        ("NEVERHEARD", "000", Delivery.UNKNOWN, True, "000"),
    ],
)
def test_a_receipt_in_text(stat: str, err: str, state: Delivery, final: bool, code: str) -> None:
    assert report_of(receipt("abc", stat, err)) == Report(
        "abc", "447700900123", state, final, code, other_number="Helio"
    )


def test_parameters_count_before_text() -> None:
    pdu = receipt("abc", "UNDELIV", "001")
    pdu.tlvs = (tlv.make(tlv.RECEIPTED_MESSAGE_ID, "xyz"), tlv.make(tlv.MESSAGE_STATE, 2))
    report = report_of(pdu)
    assert report is not None
    assert (report.operator_id, report.state) == ("xyz", Delivery.DELIVRD)


@pytest.mark.parametrize(("stat", "final"), [("UNDELIV", False), ("ENROUTE", False), ("DELIVRD", True)])
def test_an_intermediate_notification_ends_nothing_but_delivery(stat: str, final: bool) -> None:
    pdu = receipt("abc", stat)
    pdu.esm_class = c.ESM_INTERMEDIATE
    report = report_of(pdu)
    assert report is not None
    assert report.final is final


def test_a_receipt_in_data_sm() -> None:
    pdu = p.DataSm(source_addr="447700900123", esm_class=c.ESM_RECEIPT)
    pdu.tlvs = (tlv.make(tlv.RECEIPTED_MESSAGE_ID, "xyz"), tlv.make(tlv.MESSAGE_STATE, 5))
    assert report_of(pdu) == Report("xyz", "447700900123", Delivery.UNDELIV, True, "")


@pytest.mark.parametrize("esm_class", [0x00, 0x03, 0x08, 0x10])
def test_what_is_not_marked_as_a_receipt_may_read_like_one(esm_class: int) -> None:
    pdu = receipt("abc", "UNDELIV", "042")
    pdu.esm_class = esm_class
    assert report_of(pdu) is None
    assert unmarked_report_of(pdu) == Report(
        "abc", "447700900123", Delivery.UNDELIV, True, "042", other_number="Helio", marked=False
    )


def test_parameters_make_it_read_like_one_too() -> None:
    pdu = p.DeliverSm(source_addr="447700900123")
    pdu.tlvs = (tlv.make(tlv.RECEIPTED_MESSAGE_ID, "xyz"), tlv.make(tlv.MESSAGE_STATE, 2))
    report = unmarked_report_of(pdu)
    assert report is not None
    assert (report.operator_id, report.state) == ("xyz", Delivery.DELIVRD)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "STOP",
        "id:77",
        "id:77 stat:DELIVRD",
        "id:77 stat:GREAT err:000",
        "stat:DELIVRD err:000",
        "I got this: id:77 sub:001 dlvrd:001 stat:DELIVRD err:000 text:hi",
        "My id: 77, status: fine, error: none",
    ],
)
def test_what_a_phone_sends_does_not_read_like_one(text: str) -> None:
    assert unmarked_report_of(p.DeliverSm(source_addr="447700900123", short_message=text.encode())) is None


def test_what_is_marked_or_has_a_header_does_not_read_like_one() -> None:
    for esm_class in (c.ESM_RECEIPT, c.ESM_INTERMEDIATE, c.ESM_UDHI):
        pdu = receipt("abc")
        pdu.esm_class = esm_class
        assert unmarked_report_of(pdu) is None


def test_both_ids_and_both_addresses_are_told() -> None:
    pdu = receipt("abc")
    pdu.tlvs = (tlv.make(tlv.RECEIPTED_MESSAGE_ID, "xyz"),)
    report = report_of(pdu)
    assert report is not None
    assert (report.operator_id, report.other_id) == ("xyz", "abc")
    assert (report.destination, report.other_number) == ("447700900123", "Helio")


def test_a_receipt_without_an_id_names_no_message() -> None:
    pdu = p.DeliverSm(esm_class=c.ESM_RECEIPT, short_message=b"thanks")
    report = report_of(pdu)
    assert report is not None
    assert report.operator_id == ""


@pytest.mark.parametrize(
    ("written", "kept"),
    [("a\0b", "ab"), ('"a\0b"', "ab"), ("\0a", "a"), ("x" * 5_000, "x" * 255), ("é" * 255, "é" * 255)],
)
def test_an_id_that_no_database_takes_is_cut_to_one_that_every_one_does(written: str, kept: str) -> None:
    text = f"id:{written} stat:DELIVRD err:000".encode("latin-1")
    pdu = p.DeliverSm(esm_class=c.ESM_RECEIPT, source_addr="4" * 5_000, tlvs=((tlv.MESSAGE_PAYLOAD, text),))
    report = report_of(pdu)
    assert report is not None
    assert (report.operator_id, report.destination) == (kept, "4" * 64)


def test_a_receipt_that_names_its_message_by_nothing_but_nuls_names_none() -> None:
    pdu = p.DeliverSm(esm_class=c.ESM_RECEIPT, short_message=b"id:'\0\0' stat:DELIVRD")
    report = report_of(pdu)
    assert report is not None
    assert report.operator_id == ""


@pytest.mark.parametrize(
    ("address", "ton", "sender"),
    [
        ("4917012345678", c.Ton.INTERNATIONAL, "4917012345678"),
        ("+4917012345678", c.Ton.INTERNATIONAL, "4917012345678"),
        ("004917012345678", c.Ton.INTERNATIONAL, "4917012345678"),
        ("004917012345678", c.Ton.UNKNOWN, "4917012345678"),
        ("004917012345678", c.Ton.NATIONAL, "4917012345678"),
        ("017012345678", c.Ton.UNKNOWN, "017012345678"),
        ("17012345678", c.Ton.NATIONAL, "17012345678"),
        ("0017012345678", c.Ton.UNKNOWN, "17012345678"),
        ("00123", c.Ton.UNKNOWN, "00123"),
        ("ACME", c.Ton.ALPHANUMERIC, "ACME"),
    ],
)
def test_a_phone_is_known_however_its_international_number_is_written(address: str, ton: int, sender: str) -> None:
    assert (number_of(address, ton, NO_COUNTRY) or address).removeprefix("+") == sender


@for_each(
    ("address", "ton", "national", "number"),
    [
        ("017012345678", c.Ton.UNKNOWN, GERMANY, "4917012345678"),
        ("017012345678", c.Ton.INTERNATIONAL, GERMANY, "4917012345678"),
        ("017012345678", c.Ton.NATIONAL, GERMANY, "4917012345678"),
        ("17012345678", c.Ton.NATIONAL, GERMANY, "4917012345678"),
        ("17012345678", c.Ton.INTERNATIONAL, GERMANY, "17012345678"),
        ("17012345678", c.Ton.UNKNOWN, GERMANY, "17012345678"),
        ("+17012345678", c.Ton.NATIONAL, GERMANY, "17012345678"),
        ("004917012345678", c.Ton.NATIONAL, GERMANY, "4917012345678"),
        ("4917012345678", c.Ton.INTERNATIONAL, GERMANY, "4917012345678"),
        ("0170", c.Ton.UNKNOWN, GERMANY, "0170"),
        ("33880", c.Ton.NATIONAL, GERMANY, "33880"),
        ("000170123456", c.Ton.UNKNOWN, GERMANY, "000170123456"),
        ("017012345678", c.Ton.ALPHANUMERIC, GERMANY, "017012345678"),
        ("ACME", c.Ton.UNKNOWN, GERMANY, "ACME"),
        ("0170 12345", c.Ton.NATIONAL, GERMANY, "0170 12345"),
        ("0612345678", c.Ton.UNKNOWN, NationalNumbers("39", ""), "390612345678"),
        ("3471234567", c.Ton.NATIONAL, NationalNumbers("39", ""), "393471234567"),
        ("06301234567", c.Ton.UNKNOWN, NationalNumbers("36", "06"), "36301234567"),
        ("301234567", c.Ton.NATIONAL, NationalNumbers("36", "06"), "36301234567"),
        ("0301234567", c.Ton.UNKNOWN, NationalNumbers("36", "06"), None),
        ("89161234567", c.Ton.NATIONAL, NationalNumbers("7", "8"), "79161234567"),
        ("9161234567", c.Ton.NATIONAL, NationalNumbers("7", "8"), "79161234567"),
        ("85212345678", c.Ton.UNKNOWN, NationalNumbers("7", "8"), "85212345678"),
        ("017012345678", c.Ton.UNKNOWN, NO_COUNTRY, None),
        ("17012345678", c.Ton.NATIONAL, NO_COUNTRY, None),
        ("01234567890123456", c.Ton.UNKNOWN, GERMANY, None),
    ],
)
def test_a_national_number_is_read_with_the_country_that_is_set(
    address: str, ton: int, national: NationalNumbers, number: str | None
) -> None:
    assert number_of(address, ton, national) == number


@pytest.mark.parametrize(("address", "ton"), [("017012345678", 0), ("17012345678", 2), ("4917012345678", 1)])
def test_both_addresses_of_a_receipt_are_read_likewise(address: str, ton: int) -> None:
    pdu = p.DeliverSm(esm_class=c.ESM_RECEIPT, short_message=b"id:1 stat:DELIVRD")
    pdu.source_addr, pdu.source_addr_ton, pdu.destination_addr = address, ton, "030123456"
    report = report_of(pdu, Rewritten(GERMANY))
    assert report is not None
    assert (report.destination, report.other_number) == ("4917012345678", "4930123456")
    plain = report_of(pdu)
    assert plain is not None
    assert (plain.destination, plain.other_number) == (address, "030123456")
