"""Receipts as real message centres write them."""

from dataclasses import asdict

import pytest

from heliograph.smpp import tlv
from heliograph.smpp.pdu import DataSm, DeliverSm
from heliograph.smpp.receipt import ReceiptContent, parse_receipt
from heliograph.smpp.tlv import Tlvs

APPENDIX_B = (
    "id:0123456789 sub:001 dlvrd:001 submit date:2501021530 done date:2501021531 stat:DELIVRD err:000 text:Hello, you"
)


def read(text: str | bytes, *, esm_class: int = 4, data_coding: int = 0, tlvs: Tlvs = ()) -> ReceiptContent:
    content = text if isinstance(text, bytes) else text.encode("latin-1")
    pdu = DeliverSm(1, 0, tlvs, source_addr="447700900123", destination_addr="Me", esm_class=esm_class)
    pdu.data_coding = data_coding
    pdu.short_message = content
    receipt = parse_receipt(pdu)
    assert receipt is not None
    return receipt


def test_the_form_of_the_specification() -> None:
    assert asdict(read(APPENDIX_B)) == {
        "message_id": "0123456789",
        "other_id": None,
        "state": "DELIVRD",
        "err": "000",
        "intermediate": False,
        "source_addr": "447700900123",
        "destination_addr": "Me",
        "submit_date": "2501021530",
        "done_date": "2501021531",
        "sub": "001",
        "dlvrd": "001",
        "text": "Hello, you",
    }


@pytest.mark.parametrize(
    ("text", "message_id", "state", "err"),
    [
        pytest.param("id:1 stat:DELIVRD", "1", "DELIVRD", None, id="only what is needed"),
        pytest.param("id:1 stat:FAILED err:", "1", "UNDELIV", None, id="FAILED, empty err"),
        pytest.param("ID:1 SUB:001 STAT:delivrd ERR:0 TEXT:", "1", "DELIVRD", "0", id="capitals"),
        pytest.param("stat:EXPIRED err:027 id:1", "1", "EXPIRED", "027", id="another order"),
        pytest.param("id:'0A1b' stat:DELIVRD", "0A1b", "DELIVRD", None, id="quoted id"),
        pytest.param('id:"12 34" stat:DELIVRD', "12 34", "DELIVRD", None, id="quoted id with a space"),
        pytest.param('id:"" stat:DELIVRD', "", "DELIVRD", None, id="empty quotes"),
        pytest.param("id: 1 stat: UNDELIV err: 1F", "1", "UNDELIV", "1F", id="spaces after colons, hexadecimal err"),
        pytest.param("id=1,stat=REJECTD,err=5", "1", "REJECTD", "5", id="equals signs and commas"),
        pytest.param("id:1\nstat:DELIVRD\nerr:000\n", "1", "DELIVRD", "000", id="lines"),
        pytest.param("id:1 stat:DELIVERED", "1", "DELIVRD", None, id="DELIVERED"),
        pytest.param("id:1 stat:UNDELIVERABLE", "1", "UNDELIV", None, id="UNDELIVERABLE"),
        pytest.param("id:1 stat:ACCEPTED", "1", "ACCEPTD", None, id="ACCEPTED"),
        pytest.param("id:1 stat:REJECTED", "1", "REJECTD", None, id="REJECTED"),
        pytest.param("id:1 status:ENROUTE error:3", "1", "ENROUTE", "3", id="whole words as keys"),
        pytest.param("id:1 stat:2", "1", "DELIVRD", None, id="a number for a state"),
        pytest.param("id:1 stat:77", "1", "77", None, id="a number of no state"),
        pytest.param("id:1 stat:\xb2", "1", "\xb2", None, id="a digit that is none"),
        pytest.param("id:1 stat:Mislaid", "1", "MISLAID", None, id="a state nobody knows"),
        pytest.param("id:1", "1", "", None, id="no state"),
        pytest.param("stat:DELIVRD", "", "DELIVRD", None, id="no id"),
        pytest.param("", "", "", None, id="nothing"),
        pytest.param("Your parcel is here", "", "", None, id="no fields"),
        pytest.param("id:", "", "", None, id="a key and no more"),
        pytest.param("id:1 imsi:26201 msc:4917 stat:DELIVRD err:0", "1", "DELIVRD", "0", id="fields of its own"),
        pytest.param("msgid:1 stat:DELIVRD", "1", "DELIVRD", None, id="msgid"),
        pytest.param("message_id:1 stat:DELIVRD", "1", "DELIVRD", None, id="message_id"),
        pytest.param("id:1 stat:DELIVRD err:000 text:id:2 stat:FAILED err:9", "1", "DELIVRD", "000", id="text lies"),
        pytest.param("id:0-9f/A_b.c stat:DELIVRD", "0-9f/A_b.c", "DELIVRD", None, id="an id of many characters"),
    ],
)
def test_dialects(text: str, message_id: str, state: str, err: str | None) -> None:
    receipt = read(text)

    assert (receipt.message_id, receipt.state, receipt.err) == (message_id, state, err)


@pytest.mark.parametrize(
    ("text", "submitted", "done"),
    [
        ("id:1 submit date:2501021530 done date:2501021531 stat:DELIVRD", "2501021530", "2501021531"),
        ("id:1 submit date:250102153001 done date:250102153102 stat:DELIVRD", "250102153001", "250102153102"),
        ("id:1 submit_date:20250102153001 done_date:20250102153102 s", "20250102153001", "20250102153102 s"),
        ("id:1 Submit Date:2501021530 Done Date:2501021531", "2501021530", "2501021531"),
        ("id:1 submitdate:2501021530 donedate:2501021531", "2501021530", "2501021531"),
        ("id:1 submit date:2025-01-02 15:30:01 done date: stat:DELIVRD", "2025-01-02 15:30:01", None),
        ("id:1 stat:DELIVRD", None, None),
    ],
)
def test_dates_of_any_form(text: str, submitted: str | None, done: str | None) -> None:
    receipt = read(text)

    assert (receipt.submit_date, receipt.done_date) == (submitted, done)


@pytest.mark.parametrize(
    ("content", "data_coding", "esm_class"),
    [
        pytest.param(APPENDIX_B.encode("utf-16-be"), 8, 4, id="UCS-2"),
        pytest.param(APPENDIX_B.encode("utf-16-be"), 0, 4, id="UCS-2 that does not say so"),
        pytest.param(APPENDIX_B.encode("utf-16-le"), 0, 4, id="UCS-2 the wrong way round"),
        pytest.param(APPENDIX_B.encode("utf-16-be") + b"\0", 8, 4, id="an octet too many"),
        pytest.param(APPENDIX_B.encode().hex().encode(), 0, 4, id="hexadecimal"),
        pytest.param(APPENDIX_B.encode() + b"\0", 0, 4, id="a closing zero"),
        pytest.param(b"\x05\0\x03\x01\x01\x01" + APPENDIX_B.encode(), 0, 0x44, id="a header before it"),
        pytest.param(APPENDIX_B.encode(), 0, 0x44, id="a header bit and no header"),
        pytest.param(APPENDIX_B.encode(), 0xF1, 4, id="a message class"),
    ],
)
def test_alphabets(content: bytes, data_coding: int, esm_class: int) -> None:
    receipt = read(content, data_coding=data_coding, esm_class=esm_class)

    assert (receipt.message_id, receipt.state, receipt.err) == ("0123456789", "DELIVRD", "000")
    assert (receipt.text or "").startswith("Hello, you")


def test_tlvs_count_first_and_the_text_fills_in() -> None:
    tlvs = (
        tlv.make(tlv.RECEIPTED_MESSAGE_ID, "75BCD15"),
        tlv.make(tlv.MESSAGE_STATE, 5),
        tlv.make(tlv.NETWORK_ERROR_CODE, b"\3\0\x1b"),
    )

    receipt = read(APPENDIX_B, tlvs=tlvs)

    assert (receipt.message_id, receipt.other_id) == ("75BCD15", "0123456789")
    assert (receipt.state, receipt.err) == ("UNDELIV", "027")
    assert receipt.done_date == "2501021531"


def test_tlvs_are_enough() -> None:
    """The first of two equal tags counts. Many peers leave out the closing zero of the id."""
    tlvs = ((tlv.RECEIPTED_MESSAGE_ID, b"1"), tlv.make(tlv.MESSAGE_STATE, 0), tlv.make(tlv.MESSAGE_STATE, 2))

    receipt = read("", tlvs=tlvs)

    assert (receipt.message_id, receipt.other_id, receipt.state, receipt.err) == ("1", None, "ENROUTE", None)


@pytest.mark.parametrize(
    ("value", "text", "err"),
    [
        (b"\3\0\0", "id:1 err:069", "069"),
        (b"\3\0\0", "id:1", "000"),
        (b"\3\x10\0", "id:1 err:1", "4096"),
        (b"\0", "id:1 err:1", "1"),
        (b"", "id:1", None),
    ],
)
def test_network_errors(value: bytes, text: str, err: str | None) -> None:
    assert read(text, tlvs=(tlv.make(tlv.NETWORK_ERROR_CODE, value),)).err == err


@pytest.mark.parametrize("value", [b"", b"\x09", b"\x63"])
def test_a_state_tlv_of_no_state_leaves_it_to_the_text(value: bytes) -> None:
    state = read(APPENDIX_B, tlvs=((tlv.MESSAGE_STATE, value),)).state

    assert state == ("UNKNOWN" if value == b"\x09" else "DELIVRD")


@pytest.mark.parametrize(
    ("esm_class", "intermediate"), [(0x04, False), (0x07, False), (0x84, False), (0x20, True), (0x24, True)]
)
def test_esm_class_says_what_a_receipt_is(esm_class: int, intermediate: bool) -> None:
    assert read(APPENDIX_B, esm_class=esm_class).intermediate is intermediate


@pytest.mark.parametrize("esm_class", [0x00, 0x03, 0x40, 0x80, 0x08, 0x10, 0x18])
def test_what_only_looks_like_a_receipt_is_none(esm_class: int) -> None:
    tlvs = (tlv.make(tlv.RECEIPTED_MESSAGE_ID, "1"), tlv.make(tlv.MESSAGE_STATE, 2))

    assert parse_receipt(DeliverSm(1, 0, tlvs, esm_class=esm_class, short_message=APPENDIX_B.encode())) is None


def test_receipts_in_data_sm_and_in_message_payload() -> None:
    payload = ((tlv.MESSAGE_PAYLOAD, APPENDIX_B.encode()),)
    by_data = parse_receipt(DataSm(1, 0, payload, source_addr="44", esm_class=4))
    by_payload = read("", tlvs=payload)

    assert by_data is not None
    assert by_data.message_id == by_payload.message_id == "0123456789"


@pytest.mark.parametrize("filling", [" ", ",", "\t;", "'", "id:", "id: "])
def test_a_long_text_without_words_takes_a_time_by_its_length(filling: str) -> None:
    """Longer than any PDU: a time that grows with the square of the length would be half an hour."""
    text = ("id:" + filling * 300_000)[:300_000] + " stat:DELIVRD"
    assert read(text).state == "DELIVRD"


def test_receipts_print_no_numbers() -> None:
    assert "4477" not in repr(read(APPENDIX_B))
