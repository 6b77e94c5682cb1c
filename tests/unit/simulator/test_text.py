"""How messages are read. The alphabet is held to the gateway's, which was written down apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.text import alphabet
from heliograph.simulator.behaviour import Alphabet
from heliograph.simulator.text import PartIndex, decode, split_header
from heliograph.smpp import tlv
from tests.support.cases import for_each

SEPTETS = st.binary(max_size=160).map(lambda octets: bytes(octet & 0x7F for octet in octets))


@for_each("code", [code for code in range(128) if code != alphabet.ESCAPE])
def test_both_tables_agree(code: int) -> None:
    assert decode(bytes((code,)), 0, Alphabet.GSM) == alphabet.decode(bytes((code,)))
    extended = bytes((alphabet.ESCAPE, code))
    assert decode(extended, 0, Alphabet.GSM) == alphabet.decode(extended)


@given(st.text(alphabet="abc@£$€{}[]~^|\\ÄÖñ\n 123", max_size=100))
def test_texts_come_back(text: str) -> None:
    septets = alphabet.encode(text)
    assert septets is not None
    assert decode(septets, 0, Alphabet.GSM) == text


@given(st.binary(max_size=200), st.integers(0, 255), st.sampled_from(Alphabet))
def test_anything_is_read_somehow(octets: bytes, data_coding: int, default: Alphabet) -> None:
    assert isinstance(decode(octets, data_coding, default), str)


@pytest.mark.parametrize(
    ("data_coding", "octets", "text"),
    [
        (0x00, b"\x00", "@"),
        (0x01, b"@\xff", "@\ufffd"),
        (0x03, b"\xe9", "é"),
        (0x08, b"\x20\xac", "€"),
        (0x04, b"\x00\xff", "00ff"),
        (0x10, b"\x00", "@"),
        (0x14, b"\x01", "01"),
        (0x18, b"\x20\xac", "€"),
        (0xF0, b"\x00", "@"),
        (0xF5, b"\x01", "01"),
        (0xC0, b"\x01", "01"),
    ],
)
def test_data_codings(data_coding: int, octets: bytes, text: str) -> None:
    assert decode(octets, data_coding, Alphabet.GSM) == text


@pytest.mark.parametrize(
    ("header", "index"),
    [
        ("0500032a0201", PartIndex(0x2A, 2, 1)),
        ("060804beef0302", PartIndex(0xBEEF, 3, 2)),
        ("0a24010005040b8400fa00", None),
        ("0b05040b8423f00003070201", PartIndex(7, 2, 1)),
        ("0500032a0203", None),
        ("0500032a0000", None),
        ("04000303", None),
        ("00", None),
    ],
)
def test_headers(header: str, index: PartIndex | None) -> None:
    octets = bytes.fromhex(header)
    octets = bytes((len(octets) - 1,)) + octets[1:]
    assert split_header(octets + b"text", 0x40, ()) == (index, b"text")
    assert split_header(octets + b"text", 0x00, ()) == (None, octets + b"text")


def test_a_header_longer_than_the_message_is_none() -> None:
    assert split_header(b"\x09\x00\x03", 0x40, ()) == (None, b"\x09\x00\x03")
    assert split_header(b"", 0x40, ()) == (None, b"")


@pytest.mark.parametrize(("number", "index"), [(2, PartIndex(7, 3, 2)), (4, None), (0, None)])
def test_parts_by_parameters(number: int, index: PartIndex | None) -> None:
    tlvs = (
        tlv.make(tlv.SAR_MSG_REF_NUM, 7),
        tlv.make(tlv.SAR_TOTAL_SEGMENTS, 3),
        tlv.make(tlv.SAR_SEGMENT_SEQNUM, number),
    )
    assert split_header(b"text", 0, tlvs) == (index, b"text")
    assert split_header(b"text", 0, tlvs[:2]) == (None, b"text")


@given(st.binary(max_size=60))
def test_any_header_is_read_somehow(octets: bytes) -> None:
    index, text = split_header(octets, 0x40, ())
    assert octets.endswith(text)
    assert index is None or 1 <= index.number <= index.total
