from typing import Any

import pytest

from heliograph.domain.message.tlv_rules import MAX_TLVS, MAX_VALUE_OCTETS, TlvForm, TlvRule, passing

RULES = (
    TlvRule(0x1400, 0x1400, "entity", TlvForm.TEXT),
    TlvRule(0x1500, 0x15FF),
    TlvRule(0x0204, 0x0204, "user_message_reference", TlvForm.INTEGER, 2),
)


@pytest.mark.parametrize(
    ("given", "tlvs"),
    [
        ({"entity": "110"}, ((0x1400, b"110\0"),)),
        ({"Entity": 110}, ((0x1400, b"110\0"),)),
        ({"5120": "x", "0x1501": "ü"}, ((0x1400, b"x\0"), (0x1501, "ü".encode()))),
        ({"0x15FF": {"hex": "00ff"}}, ((0x15FF, b"\0\xff"),)),
        ({"user_message_reference": 258}, ((0x0204, b"\1\2"),)),
        ({"user_message_reference": "258"}, ((0x0204, b"\1\2"),)),
        ({"user_message_reference": {"hex": "01"}}, ((0x0204, b"\1"),)),
        ({}, ()),
    ],
)
def test_what_passes(given: dict[str, Any], tlvs: tuple[tuple[int, bytes], ...]) -> None:
    assert passing(given, RULES) == tlvs


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"0x1401": "x"}, "does not pass"),
        ({"template": "x"}, "entity (0x1400), 0x1500 to 0x15ff, user_message_reference (0x0204)"),
        ({"entity": "1", "0x1400": "2"}, "given twice"),
        ({"entity": None}, "is a text"),
        ({"entity": True}, "is a text"),
        ({"entity": ["x"]}, "is a text"),
        ({"entity": {"hex": "0"}}, "two hexadecimal digits"),
        ({"entity": {"octets": "00"}}, 'nothing but "hex"'),
        ({"entity": "x" * MAX_VALUE_OCTETS}, "the limit is 254"),
        ({"user_message_reference": 65536}, "from 0 to 65535"),
        ({"user_message_reference": "soon"}, "from 0 to 65535"),
        ({f"0x15{number:02x}": "x" for number in range(MAX_TLVS + 1)}, "a message may have 16"),
    ],
)
def test_what_does_not(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match="TLV") as refused:
        passing(given, RULES)
    assert problem in str(refused.value)


def test_nothing_passes_where_there_are_no_rules() -> None:
    with pytest.raises(ValueError, match="Allowed parameters: none"):
        passing({"0x1400": "x"}, ())
